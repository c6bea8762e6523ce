// Walks a person through a connect URL in Headless Chromium, page by page, as a library and as a command:
//
//   node walk.mjs <connect-url> [--as alice] [--at-provider alice] [--stop-at STEP] [--decline consent|confirm]
//                 [--deny-at provider] [--key KEY] [--expect done] [--state FILE] [--shots DIR] [--axe] [--scripts] [--language TAG]
//                 [--timeout SECONDS]
//
// The command prints one line of JSON (`end`, `pages`, `problems`, …) and exits 0 when the walk ended at `--expect`
// (default: done, or where it was told to stop or decline) without a problem, 1 otherwise, 2 when used wrongly.
//
// Steps in order: signin, issuer-login, issuer-consent, [login-callback], consent, leaving, provider-login,
// provider-consent, [callback], confirm, done; where a key is typed in, `key` stands between login and confirm; other ends: declined, mismatch, expired, error, foreign-error.
// A walk stops *at* a step before acting on it, so that a test can go on by hand or in another browser; stopping at a
// callback holds the request back and hands its address over. Pages that a session makes unnecessary do not appear.
//
// Our pages are known in English and in Simplified Chinese (`--language zh-CN` is a browser that asks for it). Both kinds of
// login page are known: oidc-provider's development pages and those of `strongroom dev`.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { inspect, isOurs, launch, newVisitor, saveState } from './browser.mjs';

export { checkAccess, launch, newVisitor, saveState } from './browser.mjs';

export const ENDS = ['done', 'declined', 'mismatch', 'expired', 'error', 'foreign-error'];
const HELD_BACK = { 'login-callback': '/login/callback/*', callback: '/cb/*' };

/**
 * Opens `url` (or goes on from the current page without one) and acts on each page until an end or `stopAt`.
 * Resolves to `{ end, address, callbackUrl, pages, problems }`; rejects when a page is not understood in time.
 * - `who`, `whoAtProvider`: logins typed at the issuer and at the provider (default alice, and the same).
 * - `key`: what is pasted where a key is asked for.
 * - `decline`: `consent` or `confirm`, the page of ours on which the person says no; `denyAt: 'provider'` says no there.
 * - `shots`: folder for screenshots of our pages; `axe`: check them for accessibility (a visitor with `javaScript`).
 */
export async function walk(visitor, url, options = {}) {
  const { timeout = 45 } = options;
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the walk did not end within ${timeout} s`)), (timeout + 5) * 1000);
  });
  try {
    return await Promise.race([steps(visitor, url, { ...options, timeout }), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function steps(visitor, url, options) {
  const { who = 'alice', stopAt, timeout, shots, axe } = options;
  const plan = { ...options, who, whoAtProvider: options.whoAtProvider ?? who };
  if (url && !visitor.origin) visitor.origin = new URL(url).origin;
  if (url) visitor.consented = false;
  const held = stopAt in HELD_BACK ? await holdBack(visitor, HELD_BACK[stopAt]) : { url: undefined };
  if (url) await visitor.page.goto(url, { waitUntil: 'domcontentloaded' }).catch(ignoreInterrupted);
  const deadline = Date.now() + timeout * 1000;
  for (;;) {
    const step = await nextStep(visitor, held, deadline) ?? stopAt;
    if (!held.url && isOurs(visitor, visitor.page.url()) && await wentAway(inspect(visitor, step, { shots, axe }))) continue;
    if (step === stopAt || ENDS.includes(step)) {
      await held.release?.();
      const { pages, problems, page } = visitor;
      return { end: step, address: page.url(), callbackUrl: held.url, pages, problems };
    }
    await wentAway(act(visitor, step, plan));
  }
}

/** Whether the page led on by itself while it was being looked at; then the next one is what counts. */
async function wentAway(looking) {
  try {
    await looking;
    return false;
  } catch (error) {
    if (/Execution context was destroyed/.test(error.message)) return true;
    throw error;
  }
}

/** A navigation of ours that is overtaken by the page's own `Refresh` is no failure. */
function ignoreInterrupted(error) {
  if (!/interrupted|ERR_ABORTED/.test(error.message)) throw error;
}

/** Stops the first request to such an address before it leaves the browser (redirects too, which page routes miss). */
async function holdBack(visitor, path) {
  const session = await visitor.context.newCDPSession(visitor.page);
  const held = { url: undefined, release: () => session.detach() };
  session.on('Fetch.requestPaused', ({ requestId, request }) => {
    held.url ??= request.url;
    session.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' }).catch(() => {});
  });
  await session.send('Fetch.enable', { patterns: [{ urlPattern: `${visitor.origin}${path}`, requestStage: 'Request' }] });
  return held;
}

/** Waits until a page that asks for an action, or an end, is there; pages that only lead on are passed over. */
async function nextStep(visitor, held, deadline) {
  let last = 'nothing';
  while (Date.now() < deadline) {
    if (held.url) return undefined; // held back: the walk is where it was to stop
    const seen = await look(visitor);
    if (seen && seen.step) return seen.step;
    if (seen) last = `${visitor.page.url()} "${seen.heading}" ${seen.text}`;
    await visitor.page.waitForTimeout(40);
  }
  throw new Error(`the walk came to a page it does not know, or to none: ${last}`);
}

/** What the current document is, `{ step }` without a step when it only leads on, or nothing while it is changing. */
export async function look(visitor) {
  const seen = await visitor.page.evaluate(() => {
    const has = (selector) => document.querySelector(selector) !== null;
    return {
      ready: document.readyState !== 'loading' && !document.documentElement.hasAttribute('data-walked'),
      heading: document.querySelector('h1')?.textContent.trim() ?? '',
      text: (document.body?.innerText ?? '').slice(0, 300),
      login: has('input[name=login]') || has('button[name=account]'),
      approve: has('input[name=prompt][value=consent]') || has('button[name=consent]'),
      key: has('input[name=key]'),
      agree: has('input[type=checkbox][name=agree]'),
      mine: has('input[type=checkbox][name=mine]'),
      start: has('form[action$="/login/start"]'),
    };
  }).catch(() => null); // the document went away while it was looked at
  if (!seen?.ready) return null;
  const ours = isOurs(visitor, visitor.page.url());
  return { ...seen, step: ours ? ownStep(seen, visitor) : foreignStep(seen, visitor) };
}

function ownStep(seen, visitor) {
  if (seen.key) return 'key';
  if (seen.agree) return 'consent';
  if (seen.mine) return 'confirm';
  if (seen.start) return 'signin';
  if (/^(You are leaving|您即将前往)/.test(seen.heading)) {
    // Which of the two kinds it is its head tells; while that of the next page is here already, nobody has to act.
    const head = visitor.document?.address === visitor.page.url() ? visitor.document.headers : undefined;
    return !head || head.refresh ? undefined : 'leaving';
  }
  return HEADINGS[seen.heading];
}

const HEADINGS = { 'First, sign in': 'signin', Connected: 'done', 'Not connected': 'declined', 'This link was made for another account': 'mismatch',
    'This link is no longer valid': 'expired', 'This did not work': 'error',
  请先登录: 'signin', 已连接: 'done', 未连接: 'declined', 此链接是为另一个账号创建的: 'mismatch', 此链接已失效: 'expired', 操作未成功: 'error' };

function foreignStep(seen, visitor) {
  const side = visitor.consented ? 'provider' : 'issuer';
  if (seen.login) return `${side}-login`;
  if (seen.approve) return `${side}-consent`;
  return /something went wrong/.test(seen.text) ? 'foreign-error' : undefined;
}

/** Does what the person wants to do on this page. */
async function act(visitor, step, plan) {
  const { page } = visitor;
  switch (step) {
    case 'signin':
      return press(page.getByRole('button', { name: /^(Go on to sign in|前往登录)$/ }));
    case 'issuer-login':
      return logIn(page, plan.who);
    case 'provider-login': {
      // Where the login page offers no way out, the person says no on the page after it.
      const wayOut = page.locator(DENY).first();
      const leave = plan.denyAt === 'provider' && await wayOut.count() > 0;
      return leave ? press(wayOut) : logIn(page, plan.whoAtProvider);
    }
    case 'issuer-consent':
      return press(page.locator(APPROVE));
    case 'provider-consent':
      return press(page.locator(plan.denyAt === 'provider' ? DENY : APPROVE).first());
    case 'consent':
      if (plan.decline === 'consent') return sayNo(page);
      visitor.consented = true;
      return sayYes(page, 'agree');
    case 'key':
      if (plan.decline === 'consent') return sayNo(page);
      await page.fill('input[name=key]', plan.key ?? '');
      return sayYes(page, 'agree');
    case 'leaving':
      return press(page.getByRole('link', { name: /^(Go to|前往)/ }));
    case 'confirm':
      return plan.decline === 'confirm' ? sayNo(page) : sayYes(page, 'mine');
    default:
      throw new Error(`nothing is known to do on the page "${step}"`);
  }
}

const APPROVE = 'button[name=consent][value=yes], form:has(input[name=prompt][value=consent]) button[type=submit]';
const DENY = 'button[name=consent][value=no], a[href$="/abort"]';

async function logIn(page, login) {
  const choice = page.locator(`button[name=account][value=${JSON.stringify(login)}]`);
  if (await choice.count() > 0) return press(choice);
  await page.fill('input[name=login]', login);
  await page.fill('input[name=password]', 'any');
  return press(page.locator('button[type=submit]'));
}

/** Ticks the box and presses the yes button; both are found as a person finds them. */
export async function sayYes(page, tick) {
  await page.check(`input[name=${tick}]`);
  return press(page.getByRole('button', { name: /^(Yes|同意，|是，)/ }));
}

/** Presses the no button: no tick is needed. */
export async function sayNo(page) {
  return press(page.getByRole('button', { name: /^(No,|拒绝，)/ }));
}

/**
 * Marks this document as dealt with, then presses. Where that leads is for `nextStep` to find out: several redirects
 * and refreshes follow each other.
 */
async function press(button) {
  await button.page().evaluate(() => document.documentElement.setAttribute('data-walked', ''));
  await button.click({ noWaitAfter: true });
}

const USAGE = 'usage: node walk.mjs <connect-url> [options]; the options are at the top of the file';

async function main() {
  const { values, positionals: [url] } = parseArgs({ allowPositionals: true, options: {
    as: { type: 'string', default: 'alice' }, 'at-provider': { type: 'string' }, 'stop-at': { type: 'string' },
    decline: { type: 'string' }, 'deny-at': { type: 'string' }, key: { type: 'string' }, expect: { type: 'string' }, state: { type: 'string' },
    shots: { type: 'string' }, axe: { type: 'boolean' }, scripts: { type: 'boolean' }, language: { type: 'string' },
    timeout: { type: 'string', default: '45' },
  } });
  if (!url || !URL.canParse(url)) throw Object.assign(new Error(USAGE), { usage: true });
  const browser = await launch();
  try {
    const visitor = await newVisitor(browser, {
      origin: new URL(url).origin, stateFile: values.state, javaScript: values.scripts || values.axe, locale: values.language,
    });
    const result = await walk(visitor, url, {
      who: values.as, whoAtProvider: values['at-provider'], stopAt: values['stop-at'], decline: values.decline,
      denyAt: values['deny-at'], key: values.key, shots: values.shots, axe: values.axe, timeout: Number(values.timeout),
    });
    await saveState(visitor);
    const expected = values.expect ?? values['stop-at'] ?? (values.decline || values['deny-at'] ? 'declined' : 'done');
    console.log(JSON.stringify({ ...result, pages: result.pages.map(({ headers: _, ...page }) => page) }));
    if (result.end !== expected) console.error(`walk.mjs: ended at ${result.end}, expected ${expected}`);
    for (const problem of result.problems) console.error(`walk.mjs: ${problem}`);
    return result.end === expected && result.problems.length === 0 ? 0 : 1;
  } finally {
    await browser.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().then((code) => { process.exitCode = code; }, (error) => {
    console.error(`walk.mjs: ${error.message}`);
    process.exitCode = error.usage || error.code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1;
  });
}
