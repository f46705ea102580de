// The browser of these tests: Debian's Chromium, driven by playwright-core, with axe-core for accessibility.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { chromium } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Where pictures of what was looked at are kept. */
export const shots = process.env.QUIPU_SCREENSHOTS ?? path.join(import.meta.dirname, 'screenshots');

/** How many milliseconds anything may take: long, because a build machine does much at a time. */
const timeout = 120_000;

/** A browser; as root it cannot have a sandbox of its own. */
export const launch = () => chromium.launch({
  executablePath: process.env.QUIPU_CHROMIUM ?? '/usr/bin/chromium',
  args: process.getuid() === 0 ? ['--no-sandbox'] : [],
  timeout,
});

/** A page in a context of its own with these options. */
export const newPage = async (browser, options) => {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(timeout);
  return context.newPage();
};

/** What axe-core finds wrong with a page, by these rules or all. Evaluated, since the page's policy lets no further script load. */
export const axeOf = async (page, rules) => {
  if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(axe);
  const { violations } = await page.evaluate((runOnly) => globalThis.axe.run(runOnly ? { runOnly } : {}), rules);
  return violations.map((one) => `${one.id}: ${one.help} (${one.nodes.map((node) => node.target.join(' ')).join(', ')})`);
};

/** Prints what was found; answers how much it is. */
export const report = (about, found) => {
  for (const one of found) console.log(`${about}: ${one}`);
  return found.length;
};
