// The interactive reference in a real browser: calls that it makes against the running gateway, those of version 2
// signed by its own script. Run by tests/bed/suite.sh; QUIPU_BIN names the gateway's binary.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { launch, newPage, shots } from './browser.mjs';
import { Gateway } from './gateway.mjs';

let gateway, browser;

before(async () => {
  mkdirSync(shots, { recursive: true });
  [gateway, browser] = await Promise.all([Gateway.start(), launch()]);
});
after(async () => { await browser?.close(); gateway?.stop(); });

/** Enters credentials, each under the name of its security scheme. */
const authorize = async (page, credentials) => {
  await page.locator('.auth-wrapper > .authorize').click();
  const dialog = page.locator('.dialog-ux .modal-ux');
  for (const [name, value] of Object.entries(credentials)) {
    const form = dialog.locator('form').filter({ has: page.locator('h4 > code', { hasText: new RegExp(`^${name}$`) }) }).first();
    await form.locator('input').fill(value);
    await form.getByRole('button', { name: 'Apply credentials' }).first().click();
  }
  await dialog.locator('.close-modal').click();
};

/** Runs an operation as a reader of the page does: what was asked, and what the page shows of the answer. */
const tryIt = async (page, operation, parameters = {}) => {
  const block = page.locator(`.opblock[id$="-${operation}"]`);
  await block.locator('.opblock-summary-control').click();
  for (const [name, value] of Object.entries(parameters)) {
    const row = block.locator(`tr[data-param-name="${name}"]`);
    await row.locator('select').selectOption(value);
  }
  const sent = page.waitForRequest((request) => !/openapi\.json|\/docs/.test(request.url()));
  await block.locator('.execute').click();
  const request = await sent;
  const live = block.locator('.live-responses-table .response');
  return {
    path: request.url().slice(gateway.base.length),
    headers: await request.allHeaders(),
    status: await live.locator('.response-col_status').innerText(),
    body: JSON.parse(await live.locator('.highlight-code pre').first().innerText()),
  };
};

test('a reader of the reference makes calls with an API key, and signed ones, without any other host', async () => {
  const page = await newPage(browser, { viewport: { width: 1400, height: 1000 } });
  const wrong = [];
  const hosts = new Set();
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) wrong.push(`${message.text()} ${message.location().url}`); });
  page.on('pageerror', (error) => wrong.push(String(error)));
  // Inline pictures have no host.
  page.on('request', (request) => { if (!request.url().startsWith('data:')) hosts.add(new URL(request.url()).origin); });
  const policy = (await page.goto(`${gateway.base}/api/v1/docs`)).headers()['content-security-policy'];
  assert.match(policy, /^default-src 'none'; script-src 'self';/);

  const { v1, v2 } = gateway.credentials;
  await authorize(page, { ApiKey: v1.api_key });
  const created = await tryIt(page, 'createPayment');
  assert.equal(created.status, '200');
  assert.equal(created.body.type, 'deposit');
  assert.equal(created.headers['x-api-key'], v1.api_key);
  const record = await gateway.merchant('GET', `/api/v1/payments/${created.body.transaction_id}`);
  assert.equal(record.data.merchant_reference, created.body.merchant_reference);

  await authorize(page, { MerchantId: String(v2.merchant_id), Signature: v2.hmac_secret });
  const balance = await tryIt(page, 'getBalanceSigned', { currency: 'AUD' });
  assert.equal(balance.status, '200');
  assert.match(balance.path, /^\/api\/v2\/balance\?.*currency=AUD/);
  assert.equal(balance.body.merchant_id, v2.merchant_id);
  assert.match(balance.headers['x-signature'], /^hmac_sha256=[0-9a-f]{64}$/);
  // The body is part of what is signed.
  const signed = await tryIt(page, 'createPaymentSigned');
  assert.equal(signed.status, '200');
  assert.equal(signed.body.type, 'deposit');
  for (const call of [balance, signed]) assert.ok(!JSON.stringify(call).includes(v2.hmac_secret), 'the secret stays on the page');

  await page.locator('.opblock[id$="-getBalanceSigned"]').evaluate((block) => block.scrollIntoView());
  await page.screenshot({ path: path.join(shots, 'reference.png') });
  assert.deepEqual([...hosts], [gateway.base]);
  assert.deepEqual(wrong, []);
  await page.context().close();
});
