// The browser side of the tests: starts Headless Chromium through playwright-core and gives each person ("visitor") a
// context of their own, in which everything that must never happen on a page of the vault is noted down as a problem:
// console errors (among them every violation of the Content-Security-Policy), scripts, inline handlers, loads from
// elsewhere. Only loopback names resolve, so no page can reach the network. `walk.mjs` builds on this.
import fs from 'node:fs';
import { chromium } from 'playwright-core';

const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-proxy-server',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.*'];

/** Starts Chromium: `executable`, else the variable CHROMIUM, else /usr/bin/chromium. */
export function launch({ executable } = {}) {
  return chromium.launch({ executablePath: executable ?? process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
}

/**
 * A person at a browser that shares nothing with other visitors.
 * `origin` is the vault's connect origin; `stateFile` is loaded if it exists (save it with `saveState`);
 * page scripts are off unless `javaScript` is set (axe needs it): every page of the vault has to work without.
 */
export async function newVisitor(browser, options = {}) {
  const { origin, stateFile, javaScript = false, locale = 'en-US', viewport = { width: 900, height: 1000 }, colorScheme } = options;
  const context = await browser.newContext({ javaScriptEnabled: javaScript, locale, colorScheme, viewport });
  if (stateFile && fs.existsSync(stateFile)) await restoreCookies(context, stateFile);
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const visitor = { context, page, javaScript, origin, stateFile, consented: false, document: null,
    problems: [], // what must not happen, one line each
    pages: [], // pages of the vault that were looked at, see `inspect`
    callbacks: [] }; // full addresses of every request to a callback of the vault, for tests that replay them
  watch(visitor);
  return visitor;
}

/** Keeps the visitor's cookies for a later `newVisitor` with the same `stateFile`. */
export async function saveState(visitor) {
  if (visitor.stateFile) fs.writeFileSync(visitor.stateFile, JSON.stringify(await visitor.context.cookies()));
}

/** `__Host-` cookies may not be set with a domain, so they are given back by address; the cookie's path is `/` anyway. */
async function restoreCookies(context, stateFile) {
  const cookies = JSON.parse(fs.readFileSync(stateFile, 'utf8'));
  await context.addCookies(cookies.map(({ domain, path, partitionKey: _, ...cookie }) =>
    cookie.name.startsWith('__Host-')
      ? { ...cookie, url: `https://${domain}/` }
      : { ...cookie, domain, path }));
}

/** Whether an address belongs to the vault's connect listener. */
export function isOurs(visitor, address) {
  return visitor.origin !== undefined && URL.canParse(address) && new URL(address).origin === visitor.origin;
}

function watch(visitor) {
  const { page, problems } = visitor;
  const navigated = new Set();
  page.on('console', (message) => {
    const place = message.location().url || page.url();
    // Chromium reports a page that is answered with 404 or 410 as a failed load; that is no fault of the page.
    if (navigated.has(place) && message.text().startsWith('Failed to load resource')) return;
    if (message.type() === 'error' && isOurs(visitor, place)) problems.push(`console error at ${mask(place)}: ${message.text()}`);
  });
  page.on('pageerror', (error) => {
    if (isOurs(visitor, page.url())) problems.push(`script error at ${mask(page.url())}: ${error.message}`);
  });
  page.on('request', (request) => {
    const address = request.url();
    if (request.isNavigationRequest()) navigated.add(address);
    if (isOurs(visitor, address) && /^\/(cb|login\/callback)\//.test(new URL(address).pathname)) visitor.callbacks.push(address);
    if (request.isNavigationRequest() || address.startsWith('data:')) return;
    if (isOurs(visitor, page.url()) && !isOurs(visitor, address)) problems.push(`${mask(page.url())} loads ${address}`);
  });
  page.on('response', (response) => {
    const request = response.request();
    if (!request.isNavigationRequest() || request.frame() !== page.mainFrame()) return;
    visitor.document = { address: response.url(), status: response.status(), headers: response.headers() };
  });
}

/** Keeps a page for the search for secrets after all tests (`tests/remains`); the addresses on it lead on with a state. */
async function leave(page) {
  const folder = process.env.STRONGROOM_TEST_REMAINS;
  if (!folder) return;
  const text = await page.content().catch(() => ''); // it may lead on in this moment
  const said = { place: 'a page in Chromium', allowed: ['login state', 'provider state'], text };
  const append = (name, line) => fs.appendFileSync(`${folder}/${name}-node-${process.pid}.jsonl`, `${JSON.stringify(line)}\n`);
  append('said', said);
  for (const { name, value } of await page.context().cookies(page.url())) {
    if (/strongroom|sr_/i.test(name) && value.length >= 16) append('canaries', { what: 'cookie', text: value });
  }
}

/** Notes a page of the vault that a person looks at, and what is wrong with it whatever its content. */
export async function inspect(visitor, step, { shots, axe } = {}) {
  const { page, problems, pages, document: answer } = visitor;
  await leave(page);
  const found = await page.evaluate(() => ({
    title: document.title,
    lang: document.documentElement.lang,
    headings: document.querySelectorAll('h1').length,
    scripts: document.querySelectorAll('script, link[rel*=preload], iframe, object, embed').length,
    handlers: [...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => /^on/i.test(a.name))).length,
    styles: document.querySelectorAll('[style], style').length,
  }));
  const at = `${step} page`;
  if (found.scripts > 0) problems.push(`${at}: has ${found.scripts} script, frame or preload element(s)`);
  if (found.handlers > 0) problems.push(`${at}: has ${found.handlers} inline handler(s)`);
  if (found.styles > 0) problems.push(`${at}: has ${found.styles} inline style(s)`);
  if (found.headings !== 1) problems.push(`${at}: has ${found.headings} h1 instead of one`);
  if (!found.lang) problems.push(`${at}: names no language`);
  const headers = answer?.headers ?? {};
  const policy = headers['content-security-policy'] ?? '';
  if (!/default-src 'none'/.test(policy)) problems.push(`${at}: no Content-Security-Policy with default-src 'none'`);
  if (!/no-store/.test(headers['cache-control'] ?? '')) problems.push(`${at}: may be cached`);
  if (axe && !visitor.javaScript) throw new Error('axe needs a visitor with javaScript: true');
  if (axe) problems.push(...(await checkAccess(page)).map((text) => `${at}: ${text}`));
  const entry = { step, address: mask(page.url()), status: answer?.status, title: found.title, lang: found.lang, headers };
  if (shots) {
    fs.mkdirSync(shots, { recursive: true });
    entry.screenshot = `${shots}/${String(pages.length + 1).padStart(2, '0')}-${step}.png`;
    await page.screenshot({ path: entry.screenshot, fullPage: true });
  }
  pages.push(entry);
}

/** WCAG 2.2 A and AA as far as axe can judge; one line for each finding. The debugger's way in is not stopped by a CSP. */
export async function checkAccess(page) {
  const source = fs.readFileSync(new URL('./node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
  await page.evaluate(source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  }));
  return violations.map((v) => `axe ${v.id}: ${v.help} (${v.nodes.map((n) => n.target.join(' ')).join(', ')})`);
}

/** An address without what must not land in a log: connect tickets, queries. */
export function mask(address) {
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  return url.origin + url.pathname.replace(/^\/c\/.+/, '/c/…') + (url.search ? '?…' : '');
}
