// Every page in every state, as the gallery example writes it: each method, each status, the colours of merchants.
// Run by tests/bed/suite.sh; the example stands beside the binary that QUIPU_BIN names.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { axeOf, launch, newPage, shots } from './browser.mjs';
import { serve } from './gallery_pages.mjs';

const example = process.env.QUIPU_GALLERY ?? path.join(path.dirname(process.env.QUIPU_BIN), 'examples', 'gallery');
let folder, gallery, browser;

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'quipu-gallery-'));
  execFileSync(example, [folder]);
  [gallery, browser] = await Promise.all([serve(folder), launch()]);
});
after(async () => {
  await browser?.close();
  gallery?.close();
  rmSync(folder, { recursive: true });
});

const tooWide = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

test('each method and state: nothing is cut off, and axe-core finds nothing, in light and dark mode', async () => {
  const page = await newPage(browser, { reducedMotion: 'reduce' });
  const found = [];
  let seen = '';
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) found.push(`${seen}: ${message.text()}`);
  });
  const names = gallery.names.filter((name) => name.endsWith('.en.html'));
  for (const name of names) {
    for (const [width, colorScheme, rules] of [[320, 'light', undefined], [1400, 'dark', ['color-contrast']]]) {
      seen = `${name} ${width} ${colorScheme}`;
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      if (width === 320) await page.goto(`${gallery.base}/${name}`);
      for (const one of await axeOf(page, rules)) found.push(`${seen}: ${one}`);
      const wide = await tooWide(page);
      if (wide > 0) found.push(`${seen}: ${wide} px too wide`);
    }
    // Pages that wait for a payer are photographed at the gateway itself.
    if (!name.startsWith('pay-')) await page.screenshot({ path: path.join(shots, name.replace('.html', '.png')), fullPage: true });
  }
  assert.deepEqual(found, []);
  for (const state of ['deposit-completed', 'deposit-late', 'deposit-expired', 'withdrawal-refunded', 'pay-crypto', 'pay-cash-without-bars', 'accent-yellow', 'form', 'form-too-late']) {
    assert.ok(names.includes(`${state}.en.html`), state);
  }
  await page.context().close();
});

test('in every other language nothing is cut off on a narrow screen', async () => {
  const page = await newPage(browser, { reducedMotion: 'reduce', viewport: { width: 320, height: 800 } });
  const found = [];
  const names = gallery.names.filter((name) => name.endsWith('.html') && !name.endsWith('.en.html'));
  for (const name of names) {
    await page.goto(`${gallery.base}/${name}`);
    const wide = await tooWide(page);
    if (wide > 0) found.push(`${name}: ${wide} px too wide`);
  }
  assert.deepEqual(found, []);
  assert.deepEqual([...new Set(names.map((name) => name.split('.').at(-2)))].sort(), ['es', 'ka', 'pt', 'si', 'tr']);
  await page.context().close();
});

test('a code to be scanned stays black on white in forced colours, and a printed page keeps its deadline', async () => {
  const page = await newPage(browser, { forcedColors: 'active', colorScheme: 'dark' });
  for (const name of ['pay-cash', 'pay-crypto']) {
    await page.goto(`${gallery.base}/${name}.en.html`);
    const ground = await page.locator('.code').evaluate((code) => getComputedStyle(code).backgroundColor);
    assert.equal(ground, 'rgb(255, 255, 255)', name);
  }
  await page.emulateMedia({ media: 'print' });
  assert.ok(await page.locator('.clock .until').isVisible());
  assert.ok(await page.locator('.clock .left').isHidden());
  await page.context().close();
});
