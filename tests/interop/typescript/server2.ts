// A real MCP server on the official TypeScript SDK 2.x (`@modelcontextprotocol/server`) whose one tool, `list_notes`, needs
// the person's account at a third party and gets it from Strongroom with one call. Both protocol eras on one endpoint.
//
//   node server2.ts --vault http://127.0.0.1:7602 --issuer http://127.0.0.1:7701 --api http://127.0.0.2:7702/api/notes
//                   [--legacy raise|elicit] …        (options() in vault.ts; the server key comes from STRONGROOM_KEY)
//
// What this SDK wants to hear:
// * 2026-07-28: the handler returns the vault's `input_required_result`. The vault seals its own request state, so no
//   `requestState.verify` is configured and `ctx.mcpReq.requestState()` is the vault's word again, byte for byte.
// * 2025-11-25: served with sessions, beside a strict modern handler: the SDK's own stateless fallback answers each request
//   with a fresh server that never saw `initialize`, so nobody would know what the client can do. The handler throws
//   `UrlElicitationRequiredError`, or pushes `elicitation/create` itself: the shim that would do it for a returned
//   `inputRequired` makes up an elicitation id that nobody can report as complete.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  CLIENT_CAPABILITIES_META_KEY, McpServer, OAuthError, OAuthErrorCode, PROTOCOL_VERSION_META_KEY, UrlElicitationRequiredError,
  WebStandardStreamableHTTPServerTransport, createMcpHandler, hostHeaderValidationResponse, isLegacyRequest, requireBearerAuth,
} from '@modelcontextprotocol/server';
import type { AuthInfo, CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server';
import { Vault, announce, fetchNotes, options, requestDigest, tokenVerifier } from './vault.ts';
import type { Answer, McpCall } from './vault.ts';

const MOST_SESSIONS = 100;
const LEGACY_VERSION = '2025-11-25';

const chosen = options();
const vault = new Vault(chosen, process.env.STRONGROOM_KEY ?? '');

/** One call to the vault; then either the notes, or what the vault prepared for this client. */
async function listNotes(server: McpServer, ctx: ServerContext): Promise<CallToolResult | InputRequiredResult> {
  const envelope = ctx.mcpReq.envelope as Record<string, any> | undefined; // its type names no members
  const call: McpCall = {
    token: ctx.http?.authInfo?.token ?? '',
    protocolVersion: envelope?.[PROTOCOL_VERSION_META_KEY] ?? server.server.getNegotiatedProtocolVersion() ?? LEGACY_VERSION,
    capabilities: envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities() ?? {},
    digest: requestDigest('list_notes', {}),
    requestState: ctx.mcpReq.requestState<string>(),
    inputResponses: ctx.mcpReq.inputResponses,
  };
  const answer = await vault.ensure(call);
  if (answer.status === 'connected') return notes(answer);
  switch (answer.recommended) {
    case 'input_required_result':
      return answer.payloads.input_required_result;
    case 'url_elicitation_required':
    case 'elicitation_create':
      if (chosen.legacy === 'elicit') return pushAndAskAgain(server, ctx, call, answer);
      throw new UrlElicitationRequiredError(
        answer.payloads.url_elicitation_required.data.elicitations, answer.payloads.url_elicitation_required.message);
    default:
      return answer.payloads.tool_result;
  }
}

async function notes(answer: Extract<Answer, { status: 'connected' }>): Promise<CallToolResult> {
  const data = await fetchNotes(chosen.api, answer.credential);
  return { content: [{ type: 'text', text: JSON.stringify(data) }], structuredContent: data };
}

/** 2025-11-25 with a session: sends `elicitation/create` ourselves, then waits at the vault for the browser. */
async function pushAndAskAgain(
  server: McpServer, ctx: ServerContext, call: McpCall, answer: Exclude<Answer, { status: 'connected' }>,
): Promise<CallToolResult> {
  const asked = answer.payloads.elicitation_create;
  const said = await ctx.mcpReq.elicitInput(asked, { timeout: 120_000 });
  if (said.action === 'accept') await vault.untilEnded(asked.elicitationId, call.token); // it only says that the link was opened
  const again = await vault.ensure({
    ...call, requestState: answer.request_state, inputResponses: { [vault.question]: { action: said.action } } });
  if (again.status !== 'connected') return again.payloads.tool_result;
  await server.server.createElicitationCompletionNotifier(asked.elicitationId, { relatedRequestId: ctx.mcpReq.id })();
  return notes(again);
}

function build(): McpServer {
  const server = new McpServer({ name: 'practice-notes', version: '1.0.0' });
  server.registerTool('list_notes', { description: 'Lists the notes of the calling user.' }, ctx => listNotes(server, ctx));
  return server;
}

/** 2025-11-25 with sessions. A session belongs to whoever began it: another person's token does not get into it. */
class LegacySessions {
  readonly #open = new Map<string, { subject: unknown; transport: WebStandardStreamableHTTPServerTransport }>();

  async fetch(request: Request, authInfo: AuthInfo): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    const session = id === null ? undefined : this.#open.get(id);
    if (session) {
      if (session.subject !== authInfo.extra?.subject) return new Response('No such session', { status: 404 });
      return session.transport.handleRequest(request, { authInfo });
    }
    if (id !== null) return new Response('No such session', { status: 404 });
    if (this.#open.size >= MOST_SESSIONS) return new Response('Too many sessions', { status: 503 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: id => { this.#open.set(id, { subject: authInfo.extra?.subject, transport }); },
    });
    transport.onclose = () => { if (transport.sessionId) this.#open.delete(transport.sessionId); };
    await build().connect(transport);
    return transport.handleRequest(request, { authInfo });
  }
}

const listener = createServer();
listener.listen(chosen.port, chosen.host, () => {
  const endpoint = `http://${chosen.host}:${(listener.address() as AddressInfo).port}/mcp`;
  const verify = tokenVerifier(chosen.issuer, chosen.resource ?? endpoint);
  const verifyAccessToken = (token: string) =>
    verify(token).catch(() => { throw new OAuthError(OAuthErrorCode.InvalidToken, 'not a token for this server'); });
  const gate = requireBearerAuth({ verifier: { verifyAccessToken } });
  const [modern, legacy] = [createMcpHandler(build, { legacy: 'reject' }), new LegacySessions()];

  const serve = async (request: Request): Promise<Response> => {
    const wrong = hostHeaderValidationResponse(request, [chosen.host]);
    if (wrong) return wrong;
    if (new URL(request.url).pathname !== '/mcp') return new Response(null, { status: 404 });
    const caller = await gate(request);
    if (caller instanceof Response) return caller;
    return await isLegacyRequest(request) ? legacy.fetch(request, caller) : modern.fetch(request, { authInfo: caller });
  };
  listener.on('request', toNodeHandler({ fetch: serve }));
  announce(endpoint);
});
