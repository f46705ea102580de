// Hosted pages in a real browser. Run by tests/bed/suite.sh; QUIPU_BIN names the gateway's binary.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { axeOf, launch, newPage, shots } from './browser.mjs';
import { Gateway, eventually } from './gateway.mjs';

const redirect = { currency: 'LKR', method: 'redirectpay' };
let gateway, browser;

before(async () => {
  mkdirSync(shots, { recursive: true });
  [gateway, browser] = await Promise.all([Gateway.start(), launch()]);
});
after(async () => { await browser?.close(); gateway?.stop(); });

/** Goes to an address, and waits for what a page asks its server for by itself, which may come before the page has loaded. */
const goAndHear = (page, url, part) =>
  Promise.all([page.waitForResponse((response) => response.url().includes(part)), page.goto(url)]);

/** A page of its own, and every violation of its policy and every error of its script. */
const blank = async (options = {}) => {
  const page = await newPage(browser, { viewport: { width: 1400, height: 900 }, ...options });
  page.wrong = [];
  page.on('console', (message) => { if (message.type() === 'error') page.wrong.push(message.text()); });
  page.on('pageerror', (error) => page.wrong.push(String(error)));
  page.loads = 0;
  page.on('load', () => { page.loads += 1; });
  return page;
};
const visit = async (url, options) => {
  const page = await blank(options);
  await page.goto(url);
  return page;
};
const headline = (page) => page.locator('#state strong').textContent();
const turnsTo = (page, words) => eventually(words, async () => (await headline(page)) === words);
const done = async (page) => { assert.deepEqual(page.wrong, []); await page.context().close(); };

test('the page turns to completed by itself, without a reload', async () => {
  const payment = await gateway.create(redirect);
  const page = await visit(payment.payment_page_url);
  assert.equal(await headline(page), 'Ready to pay');
  assert.equal(await page.locator('#todo .button').getAttribute('href'), payment.redirect_url);
  await gateway.decide(payment, 'approve');
  await turnsTo(page, 'Payment received');
  assert.equal(page.loads, 1);
  const again = await visit(payment.payment_page_url);
  for (const one of [page, again]) assert.ok(await one.getByText('No real money moves').isVisible());
  await done(again);
  assert.equal(await page.locator('#next a').getAttribute('href'), 'https://shop.example/done');
  assert.ok(await page.locator('#todo').isHidden());
  assert.match(await page.title(), /^Payment received/);
  await done(page);
});

test('a payer pays on the scheme’s page by keyboard and comes back to a page that knows', async () => {
  const payment = await gateway.create(redirect);
  const page = await visit(payment.payment_page_url);
  await page.locator('#todo .button').focus();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/simulated-scheme/**');
  assert.deepEqual(await axeOf(page), []);
  await page.getByRole('button', { name: 'Approve' }).focus();
  await page.keyboard.press('Enter');
  await turnsTo(page, 'Payment received');
  await done(page);
});

test('a declined payment says what to do next', async () => {
  const payment = await gateway.create(redirect);
  const page = await visit(payment.payment_page_url);
  await gateway.decide(payment, 'decline');
  await turnsTo(page, 'The payment failed');
  assert.equal(await page.locator('#next a').getAttribute('href'), 'https://shop.example/cart');
  await done(page);
});

test('a stream that is cut in the middle is taken up again', async () => {
  // Everything goes through a proxy that can be cut.
  const open = new Set();
  const proxy = net.createServer((client) => {
    const server = net.connect(new URL(gateway.base).port, '127.0.0.1');
    for (const [one, other] of [[client, server], [server, client]]) {
      open.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => { open.delete(one); other.destroy(); });
      one.pipe(other);
    }
  });
  await new Promise((ready) => proxy.listen(0, '127.0.0.1', ready));
  const payment = await gateway.create(redirect);
  const page = await blank();
  await goAndHear(page, `http://127.0.0.1:${proxy.address().port}${payment.path}`, '/events');
  for (const socket of open) socket.destroy();
  await gateway.decide(payment, 'approve');
  await turnsTo(page, 'Payment received');
  assert.equal(page.loads, 1);
  await page.context().close();
  for (const socket of open) socket.destroy();
  proxy.close();
});

test('where no stream comes through the page asks instead', async () => {
  const payment = await gateway.create(redirect);
  const page = await newPage(browser);
  await page.route('**/events*', (route) => route.abort());
  await page.goto(payment.payment_page_url);
  await gateway.decide(payment, 'approve');
  await turnsTo(page, 'Payment received');
  await page.context().close();
});

test('an answer that arrives after a later one changes nothing', async () => {
  const payment = await gateway.create({
    type: 'withdrawal_pp', currency: 'MXN', method: 'spei', customer: { name: 'Ana', email: 'hold@simulator.test' },
    payout: { bank_account: '032180000118359719' },
  });
  const decide = (verb) => gateway.operator('POST', `/operator/v1/payments/${payment.transaction_id}/${verb}`, {});
  const page = await blank();
  await goAndHear(page, payment.payment_page_url, '/events');
  let release, held;
  const over = new Promise((ready) => { release = ready; });
  await page.route((url) => url.pathname === payment.path, async (route) => {
    if (held) { await route.continue(); return; }
    held = true;
    const response = await route.fetch();
    await over;
    await route.fulfill({ response });
  });
  await decide('submit');
  await eventually('a renewal', () => held);
  await decide('complete');
  await turnsTo(page, 'Your payout was sent');
  const late = page.waitForResponse((response) => new URL(response.url()).pathname === payment.path);
  release();
  await (await late).finished();
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  assert.equal(await headline(page), 'Your payout was sent');
  await done(page);
});

test('a page whose stream has fallen silent asks anew after a while, and when somebody comes back to it', async () => {
  const silent = async () => {
    const payment = await gateway.create(redirect);
    const page = await newPage(browser);
    await page.clock.install();
    // Nothing ever comes of it, and no error either.
    await page.route('**/events*', () => {});
    const listens = page.waitForRequest('**/events*');
    await page.goto(payment.payment_page_url);
    await listens;
    await gateway.decide(payment, 'approve');
    return page;
  };
  const left = await silent();
  await left.clock.fastForward(70_000);
  await turnsTo(left, 'Payment received');
  const found = await silent();
  await found.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await turnsTo(found, 'Payment received');
  await Promise.all([left, found].map((page) => page.context().close()));
});

test('a page that nobody looks at holds no stream, and knows when somebody comes back to it', async () => {
  const payment = await gateway.create(redirect);
  const page = await blank();
  const look = (hidden) => page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  await goAndHear(page, payment.payment_page_url, '/events');
  const closed = page.waitForEvent('requestfailed', (request) => request.url().includes('/events'));
  await look(true);
  await closed;
  await gateway.decide(payment, 'approve');
  assert.equal(await headline(page), 'Ready to pay');
  await look(false);
  await turnsTo(page, 'Payment received');
  assert.equal(page.loads, 1);
  await done(page);
});

test('without JavaScript the page says the same and asks the browser to load it again', async () => {
  const payment = await gateway.create({ currency: 'MXN', method: 'spei' });
  const page = await visit(payment.payment_page_url, { javaScriptEnabled: false });
  const text = await page.locator('main').innerText();
  for (const words of ['Waiting for your transfer', '$1,234.56', 'This page refreshes automatically']) {
    assert.ok(text.includes(words), words);
  }
  assert.equal(await page.locator('noscript meta[http-equiv=refresh], meta[http-equiv=refresh]').count(), 1);
  assert.equal(await page.locator('.copy:visible').count(), 0);
  await page.screenshot({ path: path.join(shots, 'without-javascript.png'), fullPage: true });
  await done(page);
});

test('the time left runs by the server’s clock, and a value is copied as banks want it', async () => {
  const payment = await gateway.create({ currency: 'MXN', method: 'spei' });
  // A device whose clock is a day ahead.
  const page = await newPage(browser, { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.addInitScript(() => { const now = Date.now; Date.now = () => now() + 86_400_000; });
  await page.goto(payment.payment_page_url);
  const left = () => page.locator('.left').textContent();
  const first = await left();
  assert.match(first, /^(1 d 00:00:00|23:59:\d\d)$/);
  await eventually('a second to pass', async () => (await left()) !== first);
  await page.getByRole('button', { name: 'Copy: CLABE' }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), payment.bank_details.account_number);
  assert.equal(await page.locator('#say').textContent(), 'Copied');
  // On a narrow screen a tick says it, in the place of the icon.
  await page.setViewportSize({ width: 320, height: 800 });
  const button = page.getByRole('button', { name: 'Copy: Amount' });
  const before = await button.boundingBox();
  await button.click();
  await button.locator('.tick').waitFor();
  assert.deepEqual(await button.boundingBox().then((box) => [box.width, box.height]), [before.width, before.height]);
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), '1234.56');
  await page.context().close();
});

test('a recipient fills the form, corrects it, and sees the payout go', async () => {
  const payment = await gateway.create({ type: 'withdrawal_pp', currency: 'AUD', method: 'bank_transfer', customer: { name: 'Ana', email: 'ana@example.com' } });
  const page = await visit(payment.payment_page_url);
  await page.getByLabel('BSB').fill('12');
  await page.getByLabel('Account number').fill('123456789');
  await page.keyboard.press('Enter');
  await page.getByText('A BSB has 6 digits. Digits only, without spaces or hyphens.').waitFor();
  assert.equal(await page.getByLabel('BSB').inputValue(), '12');
  assert.equal(await page.getByLabel('BSB').getAttribute('aria-invalid'), 'true');
  assert.ok(await page.getByLabel('BSB').evaluate((field) => field === document.activeElement), 'the reader begins here');
  assert.match(await page.title(), /^Please correct/);
  assert.deepEqual(await axeOf(page), []);
  await page.screenshot({ path: path.join(shots, 'form-corrected.png'), fullPage: true });
  await page.getByLabel('BSB').fill('062000');
  await page.getByRole('button', { name: 'Confirm account' }).click();
  await turnsTo(page, 'Your payout was sent');
  assert.ok((await page.locator('main').innerText()).includes('6789'));
  page.wrong = page.wrong.filter((text) => !text.includes('400'));
  await done(page);
});

test('who enters an account too late reads so, until the page has more to tell', async () => {
  const payment = await gateway.create({ type: 'withdrawal_pp', currency: 'MXN', method: 'spei', customer: { name: 'Ana', email: 'hold@simulator.test' } });
  const [page, other] = [await visit(payment.payment_page_url), await blank()];
  const fill = async (page) => {
    await page.getByLabel('CLABE').fill('032180000118359719');
    await page.getByRole('button', { name: 'Confirm account' }).click();
    await page.getByText('Your account').waitFor({ state: 'detached' });
  };
  // The other page does not learn that an account was entered.
  await other.route(/details|events/, (route) => route.abort());
  await other.goto(payment.payment_page_url);
  await fill(page);
  await fill(other);
  await other.getByText('The account was already entered.').waitFor();
  await other.unroute(/details|events/);
  for (const verb of ['submit', 'complete']) await gateway.operator('POST', `/operator/v1/payments/${payment.transaction_id}/${verb}`, {});
  await turnsTo(other, 'Your payout was sent');
  assert.ok(await other.locator('#sorry').isHidden());
  await done(page);
  await other.context().close();
});

test('every language, light and dark, from 320 to 1400 pixels: nothing is cut off, and axe-core finds nothing', async () => {
  const payments = {
    spei: await gateway.create({ currency: 'MXN', method: 'spei' }),
    payid: await gateway.create({ currency: 'AUD', method: 'payid' }),
    redirectpay: await gateway.create(redirect),
    form: await gateway.create({ type: 'withdrawal_pp', currency: 'AUD', method: 'bank_transfer', customer: { name: 'Ana', email: 'hold@simulator.test' } }),
  };
  // What a page consists of is the same in every width and mode; only its colours are not.
  const colours = ['color-contrast'];
  const looks = [[320, 'light', undefined], [320, 'dark', colours], [768, 'light', colours], [1400, 'dark', colours]];
  const isCutOff = (page) => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  const magnify = (page, by) => page.evaluate((by) => { document.documentElement.style.fontSize = by; }, by);
  for (const language of ['en', 'es', 'tr', 'si', 'ka', 'pt']) {
    const page = await blank({ locale: language, reducedMotion: 'reduce' });
    for (const [name, payment] of Object.entries(payments)) {
      await page.goto(payment.payment_page_url);
      for (const [width, colorScheme, rules] of looks) {
        const about = `${name} ${language} ${width} ${colorScheme}`;
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme });
        assert.equal(await page.locator('html').getAttribute('lang'), language, about);
        assert.equal(await isCutOff(page), false, about);
        assert.deepEqual(await axeOf(page, rules), [], about);
        await page.screenshot({ path: path.join(shots, `${name}.${language}.${width}.${colorScheme}.png`), fullPage: true });
        await magnify(page, '200%');
        assert.equal(await isCutOff(page), false, `${about} at twice the text size`);
        await magnify(page, '');
      }
    }
    await done(page);
  }
});

test('the first load is below 40 KB', async () => {
  const payment = await gateway.create({ currency: 'MXN', method: 'spei' });
  const page = await newPage(browser);
  const bodies = [];
  page.on('response', (response) => { if (!response.url().includes('/events')) bodies.push(response.body().catch(() => '')); });
  await goAndHear(page, payment.payment_page_url, '/details');
  const bytes = (await Promise.all(bodies)).reduce((sum, body) => sum + body.length, 0);
  assert.ok(bytes > 5_000 && bytes < 40_960, `${bytes} bytes`);
  assert.ok(bodies.length >= 4);
  await page.context().close();
});
