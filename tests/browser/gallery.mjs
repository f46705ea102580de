// Photographs and checks the pages that the gallery example wrote: `node gallery.mjs FOLDER OUT [WORD…]`.
// Each page at 320, 768 and 1400 pixels, light and dark; axe-core over every one; no violation of the policy, no
// sideways scrolling, none at twice the text size either.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { axeOf, launch, newPage, report } from './browser.mjs';
import { serve } from './gallery_pages.mjs';

const [folder, out, ...words] = process.argv.slice(2);
const gallery = await serve(folder);
await mkdir(out, { recursive: true });

const { base, names } = gallery;
const chosen = names.filter((name) => words.length === 0 || words.some((word) => name.includes(word)));
const browser = await launch();
let wrong = 0;
const looks = [[320, 'light'], [320, 'dark'], [768, 'light'], [1400, 'light'], [1400, 'dark']];
for (const [width, colorScheme] of looks) {
  const page = await newPage(browser, { viewport: { width, height: width === 320 ? 640 : 900 }, colorScheme, reducedMotion: 'reduce' });
  const violations = [];
  page.on('console', (message) => { if (/Content Security Policy/.test(message.text())) violations.push(message.text()); });
  for (const name of chosen) {
    await page.goto(`${base}/${name}`);
    const found = [...violations.splice(0), ...await axeOf(page)];
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) found.push(`${wide} px too wide`);
    await page.screenshot({ path: path.join(out, `${name.replace('.html', '')}.${width}.${colorScheme}.png`), fullPage: true });
    if (width === 768 || width === 320) {
      await page.evaluate(() => { document.documentElement.style.fontSize = '200%'; });
      const zoomed = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (zoomed > 0) found.push(`${zoomed} px too wide at twice the text size`);
    }
    wrong += report(`${name} ${width} ${colorScheme}`, found);
  }
  await page.context().close();
}
await browser.close();
gallery.close();
console.log(`${chosen.length} pages, ${looks.length} looks, ${wrong} problems`);
process.exit(wrong ? 1 : 0);
