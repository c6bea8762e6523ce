// Drives an MCP server with the TypeScript SDK's own client, in either protocol era, as mcp_client.py does with Python's: the
// elicitation handler runs tests/node/walk.mjs on the URL and answers `accept` once the browser stands on the page "done".
//
//   MCP_TOKEN=<access token for this MCP server> node client.ts <endpoint> --era modern|legacy
//       [--as alice] [--at-provider alice] [--answer walk|accept|decline|cancel|none] [--walk ARG]…
//
// Prints one line of JSON, `{"era", "protocol_version", "prompts", "completed", "data" | "error"}`, and exits 0 when the tool
// gave data, 3 when it answered with an error result (`error` is its text), 1 when anything else went wrong.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client, ProtocolError, StreamableHTTPClientTransport, UrlElicitationRequiredError } from '@modelcontextprotocol/client';
import type { CallToolResult, ElicitRequestParams } from '@modelcontextprotocol/client';

const WALK = fileURLToPath(new URL('../../node/walk.mjs', import.meta.url));
const CALL_TIMEOUT = 120_000; // milliseconds; a walk takes a few seconds, a waiting vault up to 55

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    era: { type: 'string' }, as: { type: 'string', default: 'alice' }, 'at-provider': { type: 'string' },
    answer: { type: 'string', default: 'walk' }, walk: { type: 'string', multiple: true, default: [] },
  },
});
const endpoint = positionals[0];
if (!endpoint || (values.era !== 'modern' && values.era !== 'legacy')) {
  console.error('usage: client.ts <endpoint> --era modern|legacy [--as LOGIN] [--at-provider LOGIN] [--answer …] [--walk ARG]…');
  process.exit(2);
}

type Action = 'accept' | 'decline' | 'cancel';
const prompts: string[] = [];
const completed: string[] = [];

/** The person in front of the client: opens what is asked for, or not. */
async function asked(params: ElicitRequestParams): Promise<{ action: Action }> {
  if (params.mode !== 'url') return { action: 'decline' };
  prompts.push(params.message);
  if (values.answer !== 'walk') return { action: values.answer as Action };
  return { action: await walk(params.url) ? 'accept' : 'cancel' };
}

/** Whether the browser got to the end. */
function walk(url: string): Promise<boolean> {
  const more = values['at-provider'] ? ['--at-provider', values['at-provider']] : [];
  const command = [WALK, url, '--as', values.as, ...values.walk, ...more];
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'ignore', 'inherit'] });
  return new Promise(done => child.on('exit', code => done(code === 0)).on('error', () => done(false)));
}

/** Calls the tool; -32042 (legacy) is handled as the specification wants: elicit each one, then call again. */
async function call(client: Client): Promise<CallToolResult> {
  for (let round = 0; round < 3; round += 1) {
    try {
      return await client.callTool({ name: 'list_notes' }, { timeout: CALL_TIMEOUT });
    } catch (error) {
      if (!(error instanceof UrlElicitationRequiredError)) throw error;
      for (const params of error.elicitations) if ((await asked(params)).action !== 'accept') throw error;
    }
  }
  throw new Error('the server kept asking for the same thing');
}

const capabilities = values.answer === 'none' ? {} : { elicitation: { url: {} } };
const mode = values.era === 'modern' ? { pin: '2026-07-28' } : 'legacy' as const;
const client = new Client({ name: 'strongroom-interop', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } });
if (values.answer !== 'none') client.setRequestHandler('elicitation/create', request => asked(request.params));
client.setNotificationHandler('notifications/elicitation/complete', told => { completed.push(told.params.elicitationId); });

const headers = { authorization: `Bearer ${process.env.MCP_TOKEN ?? ''}` };
await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit: { headers } }));
const report: Record<string, unknown> = { era: values.era, protocol_version: client.getNegotiatedProtocolVersion() };
let code = 0;
try {
  const result = await call(client);
  const text = result.content.map(part => part.type === 'text' ? part.text : '').join('');
  if (result.isError) [code, report.error] = [3, text];
  else report.data = result.structuredContent ?? JSON.parse(text);
} catch (error) {
  code = 1;
  if (error instanceof ProtocolError) report.code = error.code;
  report.error = error instanceof Error ? error.message : String(error);
}
await client.close();
console.log(JSON.stringify({ ...report, prompts, completed }));
process.exit(code);
