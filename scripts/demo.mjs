// The MCP server's and Alice's parts of `scripts/demo --auto`, told line by line:
//
//   node scripts/demo.mjs <file written by `strongroom dev --write`>
//
// Exits 0 when the credential that the vault released was good at the practice provider, 1 with a reason otherwise.
import fs from 'node:fs';
import { launch, newVisitor, walk } from '../tests/node/walk.mjs';

const at = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));

const say = (text) => console.log(`demo: ${text}`);

/** A call with a clear word about what went wrong. */
async function call(what, address, options) {
  const answer = await fetch(address, options).catch((error) => { throw new Error(`${what}: ${error.cause ?? error}`); });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${what}: answered ${answer.status}: ${text.slice(0, 500)}`);
  return text;
}

/** What an MCP server does: one POST with its key and the user's token. */
async function ensure(provider, scopes) {
  const token = (await call('a token for Alice', `${at.desk}/token/alice`)).trim();
  const body = { provider, scopes, subject_token: token };
  const headers = { authorization: `Bearer ${at.server_key}`, 'content-type': 'application/json' };
  return JSON.parse(await call('POST /v1/ensure', `${at.api}/v1/ensure`, { method: 'POST', headers, body: JSON.stringify(body) }));
}

async function connect(url, locale) {
  const browser = await launch();
  try {
    const alice = await newVisitor(browser, { locale });
    const plan = { who: 'alice', whoAtProvider: 'alice-at-practice', key: at.practice_key };
    const { end, pages, problems } = await walk(alice, url, plan);
    for (const page of pages) say(`  Alice sees "${page.title}"`);
    if (end !== 'done') throw new Error(`Alice's walk ended at "${end}"`);
    if (problems.length > 0) throw new Error(`the pages have faults: ${problems.join('; ')}`);
  } finally {
    await browser.close();
  }
}

/** The main job with one provider, up to the answer of its API. */
async function job(provider, scopes, locale) {
  const first = await ensure(provider, scopes);
  if (first.status !== 'elicit') throw new Error(`the first answer should be "elicit" and is "${first.status}"`);
  say('the MCP server asks for Alice\'s credential: she has to connect first, here is the link for her');
  await connect(first.elicitation.connect_url, locale);
  const second = await ensure(provider, scopes);
  if (second.status !== 'connected') throw new Error(`after connecting the answer should be "connected" and is "${second.status}"`);
  say('the MCP server asks again: connected');
  const { name, value } = second.credential.header;
  const notes = JSON.parse(await call('the practice API', `${at.provider}/api/notes`, { headers: { [name]: value } }));
  if (!Array.isArray(notes.notes) || notes.notes.length === 0) throw new Error('the practice API gave no notes');
  say(`with the released credential the practice provider answers, for ${notes.account}:`);
  for (const note of notes.notes) say(`  - ${note.text ?? note}`);
}

async function main() {
  say('first a provider that Alice lets the vault into, by OAuth');
  await job('practice', ['notes.read'], 'en-US');
  say('then one that gave Alice a key, which she types in, in a browser that asks for Chinese');
  await job('practice-key', [], 'zh-CN');
}

main().catch((error) => {
  console.error(`demo: ${error.message}`);
  process.exitCode = 1;
});
