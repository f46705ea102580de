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
  for (const state of ['deposit-completed', 'deposit-late', 'deposit-expired', 'withdrawal-refunded', 'pay-crypto', 'pay-cash-without-bars', 'accent-yellow', 'form', 'form-too-late', 'deposit-over', 'form-unavailable', 'pay-longest-cash']) {
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

test('amounts end a line behind thousands only, on a small screen and at twice the text size', async () => {
  const page = await newPage(browser, { reducedMotion: 'reduce' });
  const found = [];
  const names = gallery.names.filter((name) => name.endsWith('.en.html') && /^(pay|deposit|scheme)/.test(name));
  // The lines of a number, by where its digits stand.
  const lines = () => [...document.querySelectorAll('.number')].map((number) => {
    const texts = document.createTreeWalker(number, NodeFilter.SHOW_TEXT), found = [''];
    let last;
    while (texts.nextNode()) {
      const text = texts.currentNode;
      for (let at = 0; at < text.length; at += 1) {
        const range = document.createRange();
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        const { bottom } = range.getBoundingClientRect();
        if (last !== undefined && bottom - last > 8) found.push('');
        found[found.length - 1] += text.data[at];
        last = bottom;
      }
    }
    return found;
  });
  for (const [width, size] of [[320, ''], [390, ''], [1400, ''], [320, '200%']]) {
    await page.setViewportSize({ width, height: 800 });
    for (const name of names) {
      await page.goto(`${gallery.base}/${name}`);
      await page.evaluate((by) => { document.documentElement.style.fontSize = by; }, size);
      for (const number of await page.evaluate(lines)) {
        // A cut line ends with a separator, and no short number is cut.
        const cuts = number.slice(0, -1);
        if (!cuts.every((line) => /[.,\u00a0]$/.test(line))) found.push(`${name} ${width} ${size}: ${number.join(' | ')}`);
        if (!size && cuts.length && number.join('').length < 12) found.push(`${name} ${width}: ${number.join(' | ')}`);
      }
    }
  }
  assert.deepEqual(found, []);
  await page.context().close();
});

test('when the time is over the page shows no more how to pay, with a script or without', async () => {
  const shows = async (page) => {
    assert.ok(await page.locator('.up strong').isVisible());
    for (const gone of ['#state', '#todo', '.running']) assert.ok(await page.locator(gone).isHidden(), gone);
    assert.equal(await tooWide(page), 0);
  };
  const plain = await newPage(browser, { javaScriptEnabled: false });
  await plain.goto(`${gallery.base}/deposit-over.en.html`);
  await plain.getByText('We are checking whether your payment arrived.', { exact: true }).last().waitFor();
  await shows(plain);
  await plain.context().close();
  const page = await newPage(browser, { viewport: { width: 1400, height: 900 } });
  await page.clock.install();
  for (const name of ['pay-cash', 'form']) {
    await page.goto(`${gallery.base}/${name}.en.html`);
    assert.ok(await page.locator('#todo').isVisible() && await page.locator('.up').isHidden());
    await page.clock.fastForward(72 * 3_600_000);
    await page.clock.runFor(1_000);
    await shows(page);
    // Nothing is promised while nothing can be heard.
    const says = page.locator('.up p');
    const lost = (is) => page.evaluate((is) => { document.getElementById('lost').hidden = !is; }, is);
    await lost(true);
    assert.equal(await says.isVisible(), name === 'form');
    await lost(false);
    assert.ok(await says.isVisible());
  }
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
