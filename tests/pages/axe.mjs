// Opens every page that `render_all` wrote, in a real Chromium under the real headers, and refuses any fault against
// WCAG 2.2 AA (axe), any sideways scroll at 320 px, any policy violation and any load from elsewhere. Screenshots go to `out`.
//
//   cargo run -p strongroom-pages --example render_all -- /tmp/pages && node tests/pages/axe.mjs /tmp/pages /tmp/pages/out
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';

const require = createRequire(new URL('../node/package.json', import.meta.url));
const { chromium } = require('playwright-core');
const axeSource = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const [folder, out = path.join(folder ?? '.', 'out'), only = ''] = process.argv.slice(2);
if (!folder) {
  console.error('usage: axe.mjs <folder written by render_all> [folder for screenshots [only pages beginning with this]]');
  process.exit(2);
}

// The headers of the browser origin (docs of the connect listener); HSTS is left out on plain loopback.
const HEADERS = {
  'Content-Security-Policy': "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};
const TYPES = { '.html': 'text/html; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml' };
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Serves the folder on loopback. */
function serve() {
  const server = http.createServer((request, response) => {
    const file = path.join(folder, path.normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname)));
    const found = file.startsWith(path.join(folder, path.sep)) && fs.existsSync(file) && fs.statSync(file).isFile();
    const type = TYPES[path.extname(file)] ?? 'text/plain';
    response.writeHead(found ? 200 : 404, { ...HEADERS, 'Content-Type': type });
    response.end(found ? fs.readFileSync(file) : 'not here');
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/** What is wrong with the layout of the page at hand. */
function layoutFaults({ width }) {
  const faults = [];
  for (const fold of document.querySelectorAll('details')) fold.open = true;
  const scroll = document.documentElement.scrollWidth;
  if (scroll > width) faults.push(`scrolls sideways: ${scroll} > ${width}`);
  for (const element of document.querySelectorAll('body *')) {
    const box = element.getBoundingClientRect();
    if (box.width && (box.right > width + 0.5 || box.left < -0.5) && !element.closest('.icon')) {
      faults.push(`${element.tagName}.${element.className} leaves the screen (${box.left} to ${box.right})`);
      break;
    }
  }
  for (const target of document.querySelectorAll('button, .btn, .tick, summary')) {
    const box = target.getBoundingClientRect();
    if (box.height < 43.5) faults.push(`target "${target.textContent.trim()}" is ${box.height} px high`);
  }
  const [yes, no] = ['.actions-two > .btn-yes', '.actions-two > .btn:not(.btn-yes)'].map((q) => document.querySelector(q)?.getBoundingClientRect());
  if (yes && no && (Math.abs(yes.width - no.width) > 0.5)) faults.push(`yes and no differ in width: ${yes.width}, ${no.width}`);
  for (const bold of document.querySelectorAll('.origin b')) {
    if (bold.scrollWidth > bold.clientWidth + 1 && bold.clientWidth) faults.push(`origin ${bold.textContent} is cut`);
  }
  for (const fold of document.querySelectorAll('details')) fold.open = false;
  return faults;
}

/** Opens one page one way and returns its faults. */
async function check(context, origin, { cast, name, scheme, width }) {
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => message.type() === 'error' && faults.push(`console: ${message.text()}`));
  page.on('request', (request) => new URL(request.url()).origin === origin || faults.push(`loads ${request.url()}`));
  page.on('response', (response) => response.status() === 200 || faults.push(`${response.status()} for ${response.url()}`));
  page.on('dialog', (dialog) => { faults.push('a dialog opened'); dialog.dismiss(); });
  await page.goto(`${origin}/pages/${cast}/${name}.html`, { waitUntil: 'load' });
  faults.push(...await page.evaluate(layoutFaults, { width }));
  await page.screenshot({ path: path.join(out, cast, `${name}.${scheme}.${width}.png`), fullPage: true });
  faults.push(...width === 360 ? await firstScreen(page, name) : await axeFaults(page));
  await page.close();
  return faults.map((fault) => `${cast}/${name} (${scheme}, ${width} px): ${fault}`);
}

/** What axe finds, with everything that folds unfolded. */
async function axeFaults(page) {
  await page.evaluate(axeSource);
  const { violations, passes } = await page.evaluate((tags) => {
    for (const fold of document.querySelectorAll('details')) fold.open = true;
    return window.axe.run(document, { runOnly: tags });
  }, TAGS);
  const faults = violations.map(({ id, help, nodes }) => `axe ${id}: ${help}: ${nodes.map((n) => n.html).join(' | ')}`);
  for (const rule of ['color-contrast', 'document-title', 'html-has-lang']) {
    if (!passes.some(({ id }) => id === rule)) faults.push(`axe did not get to look at ${rule}`);
  }
  return faults;
}

/** How the words of what takes the focus on the consent page begin, by language. */
const FOCUS = {
  en: ['Not you?', 'Exact pe', 'agree', 'Yes, go ', 'No, do n', 'Get help'],
  'zh-Hans': ['不是您？退出登录', '完整的权限和地址', 'agree', '同意，前往 Gi', '拒绝，不连接', '联系 North'],
};

/** The chain is on the first screen of a phone, and focus goes the way people read. */
async function firstScreen(page, name) {
  const faults = [];
  const end = await page.evaluate(() => document.querySelector('.chain')?.getBoundingClientRect().bottom ?? 0);
  if (['consent', 'confirm', 'done'].includes(name) && end > 640) faults.push(`the chain ends at ${end} px of 640`);
  if (name === 'consent') {
    const order = [];
    for (let i = 0; i < 6; i += 1) {
      await page.keyboard.press('Tab');
      order.push(await page.evaluate(() => document.activeElement.textContent.trim().slice(0, 8) || document.activeElement.name));
    }
    const wanted = FOCUS[await page.evaluate(() => document.documentElement.lang)];
    if (order.join() !== wanted?.join()) faults.push(`focus goes ${order.join(' → ')}`);
  }
  return faults;
}

const server = await serve();
const origin = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
});
// Scheme and width, by cast and language: everything for those who stay as they are, the narrowest for the rest.
const WAYS = {
  ordinary: [['light', 900], ['dark', 900], ['light', 320], ['dark', 320], ['light', 360]],
  'ordinary.zh': [['light', 900], ['dark', 900], ['light', 320], ['dark', 320], ['light', 360]],
  other: [['light', 320]],
};
const faults = [];
const jobs = [];
const contexts = [];
for (const cast of fs.readdirSync(path.join(folder, 'pages'))) {
  const names = fs.readdirSync(path.join(folder, 'pages', cast)).map((file) => path.basename(file, '.html'))
    .filter((name) => name.startsWith(only));
  for (const [scheme, width] of WAYS[cast] ?? WAYS.other) {
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: width > 400 ? 1000 : 640 } });
    contexts.push(context);
    jobs.push(...names.map((name) => () => check(context, origin, { cast, name, scheme, width })));
  }
}
const runs = jobs.length;
// As many pages at once as there are processors; each is measured by itself.
const work = async () => {
  for (let job = jobs.shift(); job; job = jobs.shift()) faults.push(...await job());
};
await Promise.all(Array.from({ length: os.availableParallelism() }, work));
for (const context of contexts) await context.close();
await browser.close();
server.close();
for (const fault of faults.sort()) console.error(fault);
console.log(`${runs} pages opened, ${faults.length} faults`);
if (runs === 0 || faults.length > 0) process.exitCode = 1;
