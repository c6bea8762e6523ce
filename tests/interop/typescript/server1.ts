// The same MCP server on the official TypeScript SDK 1.x (`@modelcontextprotocol/sdk`), which speaks 2025-11-25 and older.
//
//   node server1.ts --vault http://127.0.0.1:7602 --issuer http://127.0.0.1:7701 --api http://127.0.0.2:7702/api/notes
//                   [--legacy raise|elicit] …        (options() in vault.ts; the server key comes from STRONGROOM_KEY)
//
// What this SDK wants to hear: the handler throws `UrlElicitationRequiredError` (-32042), or pushes `elicitation/create`,
// asks the vault again and tells the client that it is complete. A client without URL mode gets the link as text.
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';
import type { CallToolResult, ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js';
import { Vault, announce, fetchNotes, options, requestDigest, tokenVerifier } from './vault.ts';
import type { Answer, McpCall } from './vault.ts';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;
type Unconnected = Exclude<Answer, { status: 'connected' }>;

const MOST_SESSIONS = 100;

const chosen = options();
const vault = new Vault(chosen, process.env.STRONGROOM_KEY ?? '');

/** One call to the vault; then either the notes, or what the vault prepared for this client. */
async function listNotes(server: McpServer, extra: Extra): Promise<CallToolResult> {
  const call: McpCall = {
    token: extra.authInfo?.token ?? '',
    protocolVersion: String(extra.requestInfo?.headers['mcp-protocol-version'] ?? '2025-03-26'), // as the transport reads it
    capabilities: server.server.getClientCapabilities() ?? {},
    digest: requestDigest('list_notes', {}),
  };
  const answer = await vault.ensure(call);
  if (answer.status === 'connected') return notes(answer);
  if (answer.recommended !== 'url_elicitation_required' && answer.recommended !== 'elicitation_create') {
    return answer.payloads.tool_result;
  }
  if (chosen.legacy === 'elicit') return pushAndAskAgain(server, extra, call, answer);
  const { data, message } = answer.payloads.url_elicitation_required;
  throw new UrlElicitationRequiredError(data.elicitations, message);
}

async function notes(answer: Extract<Answer, { status: 'connected' }>): Promise<CallToolResult> {
  const data = await fetchNotes(chosen.api, answer.credential);
  return { content: [{ type: 'text', text: JSON.stringify(data) }], structuredContent: data };
}

/** Sends `elicitation/create` ourselves, then waits at the vault for the browser. */
async function pushAndAskAgain(server: McpServer, extra: Extra, call: McpCall, answer: Unconnected): Promise<CallToolResult> {
  const asked = answer.payloads.elicitation_create;
  const said = await server.server.elicitInput(asked, { timeout: 120_000, relatedRequestId: extra.requestId });
  if (said.action === 'accept') await vault.untilEnded(asked.elicitationId, call.token); // it only says that the link was opened
  const again = await vault.ensure({
    ...call, requestState: answer.request_state, inputResponses: { [vault.question]: { action: said.action } } });
  if (again.status !== 'connected') return again.payloads.tool_result;
  await server.server.createElicitationCompletionNotifier(asked.elicitationId, { relatedRequestId: extra.requestId })();
  return notes(again);
}

function build(): McpServer {
  const server = new McpServer({ name: 'practice-notes', version: '1.0.0' });
  server.registerTool('list_notes', { description: 'Lists the notes of the calling user.' }, extra => listNotes(server, extra));
  return server;
}

const app = createMcpExpressApp({ host: chosen.host });
const listener = app.listen(chosen.port, chosen.host, () => {
  const endpoint = `http://${chosen.host}:${(listener.address() as AddressInfo).port}/mcp`;
  const verify = tokenVerifier(chosen.issuer, chosen.resource ?? endpoint);
  const verifyAccessToken = (token: string) =>
    verify(token).catch(() => { throw new InvalidTokenError('not a token for this server'); });
  const sessions = new Map<string, { subject: unknown; transport: StreamableHTTPServerTransport }>();

  app.all('/mcp', requireBearerAuth({ verifier: { verifyAccessToken } }), async (request, response) => {
    const id = request.header('mcp-session-id');
    const subject = request.auth?.extra?.subject;
    const session = id === undefined ? undefined : sessions.get(id);
    if (session && session.subject === subject) return session.transport.handleRequest(request, response, request.body);
    // Of nobody, or of another person: no difference is told.
    if (id !== undefined) return void response.status(404).end();
    if (sessions.size >= MOST_SESSIONS) return void response.status(503).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: id => { sessions.set(id, { subject, transport }); },
    });
    transport.onclose = () => { if (transport.sessionId) sessions.delete(transport.sessionId); };
    await build().connect(transport);
    return transport.handleRequest(request, response, request.body);
  });
  announce(endpoint);
});
