// Attacks that need real browsers, by their numbers. Each one takes one JSON argument, plays its people in browser contexts
// of their own and prints one line of JSON, `{ "facts": {…}, "problems": […] }`; the test that called it judges the facts.
//
//   node attacks.mjs at-001 '{"bob": <a link of Bob's>, "alice": <Alice's link>, "provider": <origin>}'
//   node attacks.mjs at-002 '{"alice": …, "provider": …}'
//   node attacks.mjs at-004 '{"alice": …, "bob": …, "provider": …}'
//   node attacks.mjs at-008 '{"alice": <a link at a host below vault.localhost>}'
//
// Exits 0 when it could be played to its end, whatever came of it, 1 otherwise.
import http from 'node:http';
import { launch, newVisitor, walk } from './walk.mjs';

/** Bob is signed in and opens Alice's link. */
async function at001(browser, { bob: bobs, alice, provider }) {
  const bob = await newVisitor(browser);
  const own = await walk(bob, bobs, { who: 'bob', stopAt: 'consent' });
  const opened = await openAsAnother(bob, alice, provider);
  const rightful = await newVisitor(browser);
  const { end: alices } = await walk(rightful, alice, { who: 'alice' });
  return { facts: { own: own.end, ...opened, alices }, visitors: [bob, rightful] };
}

/** Bob, of whom the vault knows nothing, opens Alice's link and signs in as himself. */
async function at002(browser, { alice, provider }) {
  const bob = await newVisitor(browser);
  const opened = await openAsAnother(bob, alice, provider);
  const rightful = await newVisitor(browser);
  const { end: alices } = await walk(rightful, alice, { who: 'alice' });
  return { facts: { ...opened, alices }, visitors: [bob, rightful] };
}

async function openAsAnother(bob, link, provider) {
  let atProvider = 0;
  bob.page.on('request', (request) => { if (request.url().startsWith(provider)) atProvider += 1; });
  const { end } = await walk(bob, link, { who: 'bob' });
  const body = await bob.page.content();
  const form = await bob.page.locator('form[action$="/consent"]').count();
  return { bobs: end, status: bob.document.status, consentForms: form, atProvider, names: /alice/i.test(body) };
}

/** Alice consents and sends the provider's address to Bob, who approves while a flow of his own waits. */
async function at004(browser, { alice: alices, bob: bobs, provider }) {
  const alice = await newVisitor(browser);
  let forwarded;
  alice.page.on('request', (request) => {
    if (request.isNavigationRequest() && request.url().startsWith(`${provider}/auth?`)) forwarded ??= request.url();
  });
  await walk(alice, alices, { who: 'alice', stopAt: 'provider-login' });
  const bob = await newVisitor(browser);
  await walk(bob, bobs, { who: 'bob', stopAt: 'provider-login' });
  // The same browser, a second tab: Bob's cookies and session are there.
  const waiting = bob.page;
  const callbacks = [];
  bob.page = await bob.context.newPage();
  bob.page.setDefaultTimeout(15_000);
  bob.page.on('request', (request) => { if (new URL(request.url()).pathname.startsWith('/cb/')) callbacks.push(request.url()); });
  let answer;
  bob.page.on('response', (response) => { if (new URL(response.url()).pathname.startsWith('/cb/')) answer = response.status(); });
  await bob.page.goto(forwarded, { waitUntil: 'domcontentloaded' });
  await approve(bob.page, 'bob', () => callbacks.length > 0);
  await bob.page.waitForLoadState('networkidle');
  const seen = { callback: callbacks.length > 0, status: answer, heading: await bob.page.locator('h1').first().textContent() };
  bob.page = waiting;
  await waiting.bringToFront();
  const own = await walk(bob, undefined, { who: 'bob' });
  // Alice goes on in her own browser: her flow is dead.
  await approve(alice.page, 'alice', () => alice.callbacks.some((address) => new URL(address).pathname.startsWith('/cb/')));
  await alice.page.waitForLoadState('networkidle');
  const dead = await alice.page.locator('h1').first().textContent();
  return { facts: { forwarded: forwarded !== undefined, seen, own: own.end, dead }, visitors: [alice, bob] };
}

/** Signs in and says yes on the provider's development pages until the browser has been sent back. */
async function approve(page, login, back) {
  for (let round = 0; round < 8 && !back(); round += 1) {
    if (await page.locator('input[name=login]').count() > 0) {
      await page.fill('input[name=login]', login);
      await page.fill('input[name=password]', 'any');
    }
    const button = page.locator('button[type=submit]').first();
    if (await button.count() > 0) await button.click();
    await page.waitForLoadState('networkidle');
  }
}

const PLANTED = 'planted-by-the-sibling';

/** A sibling host plants cookies of our names before Alice opens her link. */
async function at008(browser, { alice: link }) {
  const sibling = http.createServer((_request, response) => {
    const names = ['__Host-sr_s', '__Host-sr_l', '__Host-sr_f_00000000', '__HOST-sr_s', '__host-sr_l'];
    const wide = names.map((name) => `${name}=${PLANTED}; Domain=vault.localhost; Path=/; Secure`);
    // A cookie without a name whose value looks like one of ours (browsers once wrote it into the header as it is).
    const nameless = [`=__Host-sr_s=${PLANTED}; Domain=vault.localhost; Path=/; Secure`, `sr_s=${PLANTED}; Domain=vault.localhost; Path=/`];
    response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': [...wide, ...nameless] }).end('<h1>sibling</h1>');
  });
  await new Promise((resolve) => sibling.listen(0, '127.0.0.1', resolve));
  try {
    const alice = await newVisitor(browser);
    await alice.page.goto(`http://evil.vault.localhost:${sibling.address().port}/`);
    const { origin } = new URL(link);
    const sent = async () => (await alice.context.cookies(origin)).map(({ name, value }) => ({ name, value }));
    const planted = await sent();
    await walk(alice, link, { who: 'alice', stopAt: 'signin' });
    const before = await sent();
    const { end } = await walk(alice, undefined, { who: 'alice' });
    const after = await sent();
    const ours = (cookies) => cookies.filter(({ name }) => /^__host-/i.test(name));
    const facts = {
      // The sibling's harmless cookie proves that planting works at all.
      harmless: planted.some(({ name }) => name === 'sr_s'),
      planted: ours(planted).length,
      sessionBeforeLogin: before.some(({ name }) => name === '__Host-sr_s'),
      sessionAfter: after.some(({ name }) => name === '__Host-sr_s'),
      foreignAfter: ours(after).filter(({ value }) => value.includes(PLANTED)).length,
      end,
    };
    return { facts, visitors: [alice] };
  } finally {
    sibling.close();
    sibling.closeAllConnections();
  }
}

const ATTACKS = { 'at-001': at001, 'at-002': at002, 'at-004': at004, 'at-008': at008 };

async function main() {
  const [name, argument] = process.argv.slice(2);
  if (!(name in ATTACKS) || !argument) throw new Error('usage: node attacks.mjs <attack> <json>; see the top of the file');
  const browser = await launch();
  try {
    const { facts, visitors } = await ATTACKS[name](browser, JSON.parse(argument));
    console.log(JSON.stringify({ facts, problems: visitors.flatMap(({ problems }) => problems) }));
  } finally {
    await browser.close();
  }
}

main().catch((error) => {
  console.error(`attacks.mjs: ${error.stack}`);
  process.exitCode = 1;
});
