// What every MCP server needs to use Strongroom: one call to the vault, and a credential that goes nowhere but where it may.
// Nothing in here knows an SDK; the servers beside it show what each SDK wants to hear.
import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const CALL_TIMEOUT = 65_000; // milliseconds; looking at an elicitation may wait 55 s
const ENDED_LOOKS = 3;

/** What `POST /v1/ensure` answers, as far as these samples read it. */
export type Answer =
  | { status: 'connected'; credential: Credential }
  | { status: 'elicit' | 'waiting' | 'declined' | 'cancelled' | 'expired' | 'mismatch' | 'provider_down' | 'needs_operator';
      recommended?: string; request_state?: string; payloads: Record<string, any> };

export type Credential = { header: { name: string; value: string }; allowed_hosts: string[] };

/** What the MCP client of this call said about itself and sent back. */
export type McpCall = {
  token: string;
  protocolVersion: string;
  capabilities: object;
  digest: string;
  requestState?: string;
  inputResponses?: Record<string, unknown>;
};

export type Options = {
  vault: string; issuer: string; api: string; host: string; port: number; resource?: string;
  provider: string; scopes: string[]; legacy: 'raise' | 'elicit';
};

/** The command line of both servers; the server key comes from STRONGROOM_KEY. */
export function options(): Options {
  const { values } = parseArgs({
    options: {
      vault: { type: 'string' }, issuer: { type: 'string' }, api: { type: 'string' },
      host: { type: 'string', default: '127.0.0.1' }, port: { type: 'string', default: '0' }, resource: { type: 'string' },
      provider: { type: 'string', default: 'practice' }, scope: { type: 'string', multiple: true },
      legacy: { type: 'string', default: 'raise' },
    },
  });
  const { vault, issuer, api, legacy } = values;
  if (!vault || !issuer || !api || (legacy !== 'raise' && legacy !== 'elicit')) {
    throw new Error('usage: --vault URL --issuer URL --api URL [--host] [--port] [--resource] [--provider] [--scope]… [--legacy raise|elicit]');
  }
  return { vault, issuer, api, legacy, host: values.host, port: Number(values.port), resource: values.resource,
    provider: values.provider, scopes: values.scope ?? ['notes.read'] };
}

export class Vault {
  readonly #options: Options;
  readonly #headers: Record<string, string>;

  constructor(options: Options, key: string) {
    this.#options = options;
    this.#headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  }

  /** The key under which the vault asks in `inputRequests`, and under which a client's answer comes back. */
  get question(): string {
    return `connect:${this.#options.provider}`;
  }

  /** Asks for a credential of the person whose access token the MCP client sent. */
  async ensure(call: McpCall): Promise<Answer> {
    const reply = await fetch(new URL('/v1/ensure', this.#options.vault), {
      method: 'POST',
      headers: this.#headers,
      signal: AbortSignal.timeout(CALL_TIMEOUT),
      body: JSON.stringify({
        provider: this.#options.provider,
        scopes: this.#options.scopes,
        subject_token: call.token,
        request_state: call.requestState, // absent members are left out
        input_responses: call.inputResponses,
        mcp: {
          protocol_version: call.protocolVersion,
          client_capabilities: call.capabilities,
          method: 'tools/call',
          request_digest: call.digest,
        },
      }),
    });
    if (reply.status !== 200) throw new Error(`the vault answered ${reply.status}: ${(await reply.text()).slice(0, 500)}`);
    return (await reply.json()) as Answer;
  }

  /** Waits until the person has finished in the browser, for at most three long looks. */
  async untilEnded(elicitation: string, token: string): Promise<void> {
    for (let look = 0; look < ENDED_LOOKS; look += 1) {
      const address = new URL(`/v1/elicitations/${encodeURIComponent(elicitation)}?wait=55`, this.#options.vault);
      const headers = { ...this.#headers, 'subject-token': token };
      const reply = await fetch(address, { headers, signal: AbortSignal.timeout(CALL_TIMEOUT) });
      if (reply.status !== 200) return;
      const { state } = (await reply.json()) as { state: string };
      if (!['issued', 'signed_in', 'consented'].includes(state)) return;
    }
  }
}

/** Binds the vault's request state to this very call (base64url SHA-256 without padding). */
export function requestDigest(tool: string, args: Record<string, unknown>): string {
  return createHash('sha256').update(JSON.stringify([tool, sorted(args)])).digest('base64url');
}

/** The same value with the members of every object in one order, so that a retry that orders them otherwise is the same call. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => [name, sorted(member)]);
}

/** Uses the released credential, and only towards the hosts that it is meant for. */
export async function fetchNotes(api: string, credential: Credential): Promise<Record<string, unknown>> {
  const { host, hostname } = new URL(api);
  const allowed = credential.allowed_hosts;
  if (allowed.length > 0 && !allowed.includes(host) && !allowed.includes(hostname)) {
    throw new Error(`the credential may not be sent to ${host}`);
  }
  const headers = { [credential.header.name]: credential.header.value };
  const reply = await fetch(api, { headers, redirect: 'error', signal: AbortSignal.timeout(10_000) });
  if (reply.status !== 200) throw new Error(`the provider answered ${reply.status}`);
  return (await reply.json()) as Record<string, unknown>;
}

/** Lets in who holds an RFC 9068 access token of our issuer for exactly this MCP server. */
export function tokenVerifier(issuer: string, resource: string) {
  const keys = createRemoteJWKSet(new URL('/jwks', issuer));
  return async (token: string) => {
    const rules = { issuer, audience: resource, typ: 'at+jwt', algorithms: ['ES256'], requiredClaims: ['exp', 'sub', 'client_id'] };
    const { payload } = await jwtVerify(token, keys, rules);
    return {
      token,
      clientId: String(payload.client_id),
      scopes: String(payload.scope ?? '').split(' ').filter(Boolean),
      expiresAt: payload.exp,
      resource: new URL(resource),
      extra: { subject: String(payload.sub) },
    };
  };
}

/** Says where the server serves and ends with whoever started it: a test that dies closes its end of the pipe. */
export function announce(endpoint: string): void {
  console.log(`ready ${endpoint}`);
  process.on('SIGTERM', () => process.exit(0));
  process.stdin.on('end', () => process.exit(0)).on('error', () => process.exit(0)).resume();
}
