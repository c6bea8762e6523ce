// A real OAuth/OpenID server for the tests: npm `oidc-provider`, as the issuer of people (role `issuer`: ID tokens for
// the browser login, RFC 9068 access tokens for MCP servers) or as a third-party service with a small API (role
// `provider`: opaque tokens, `/api/notes`). PKCE is required, refresh tokens rotate and a reused one ends its family.
//
//   node op.mjs --role issuer   --host 127.0.0.1 --port 7701 --clients @clients.json
//   node op.mjs --role provider --host 127.0.0.2 --port 0    --clients '[{"client_id":"vault",…}]'
//
// Prints one line, `ready <issuer-url>`, on standard output; everything else goes to standard error. Ends on SIGTERM or
// SIGINT, and when standard input is a pipe that closes, so that it never outlives the test that started it.
// Every option can also come from the environment: `--access-ttl 5` is `OP_ACCESS_TTL=5`.
import { generateKeyPairSync } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import { fileURLToPath } from 'node:url';

/** Every option with its default; a value of the command line is a string or JSON, `@path` reads a file. */
const DEFAULTS = {
  role: 'issuer', // issuer | provider
  host: '127.0.0.1', // 127.0.0.1 for the issuer, 127.0.0.2 for the provider: ports do not separate cookies
  port: 0, // 0 takes a free one
  clients: [], // see `completeClient` for what may be left out
  'access-ttl': 300, // seconds
  'refresh-ttl': 3600, // seconds
  refresh: '', // always | offline (only with the scope offline_access); '' is always for a provider, offline for an issuer
  accounts: {}, // login → claims, {"alice":{"name":"Alice Chen"}}; any other login works too, with made-up claims
  keys: {}, // API key → login, {"arc_0123":"alice"}: good at the API for everything
  resources: [], // audiences that may be asked for; empty allows any for an issuer, none for a provider
  'resource-scopes': 'mcp notes.read notes.write', // scopes those resources know
  'token-format': '', // jwt | opaque, for tokens with an audience; '' is jwt for an issuer, opaque for a provider
  'test-routes': true, // `/test/…`, see `testRoutes`
};

const SCOPES = ['openid', 'offline_access', 'profile', 'email', 'notes.read', 'notes.write'];

/** Starts one server and resolves to `{ issuer, provider, counts, close }`. */
export async function startProvider(given = {}) {
  const options = { ...DEFAULTS, ...given };
  const isIssuer = options.role === 'issuer';
  if (!isIssuer && options.role !== 'provider') throw new Error(`--role is issuer or provider, not ${options.role}`);
  // The library needs its own address at construction, and port 0 is only known after listening.
  const server = http.createServer();
  await new Promise((resolve, reject) => server.once('error', reject).listen(options.port, options.host, resolve));
  const issuer = `http://${options.host}:${server.address().port}`;
  const { Provider } = await import('oidc-provider');
  const provider = new Provider(issuer, configuration(options, isIssuer));
  const counts = countTraffic(provider);
  leaveSecrets(provider, isIssuer);
  if (options['test-routes']) provider.use(testRoutes(provider, counts, options));
  if (!isIssuer) provider.use(notesApi(provider, options));
  provider.on('server_error', (_ctx, error) => console.error('server_error', error));
  server.on('request', provider.callback());
  const close = () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); });
  return { issuer, provider, counts, close };
}

function configuration(options, isIssuer) {
  const format = options['token-format'] || (isIssuer ? 'jwt' : 'opaque');
  const always = (options.refresh || (isIssuer ? 'offline' : 'always')) === 'always';
  const clients = options.clients.map(completeClient);
  // Tokens handed out by `/test/subject-token` name this client unless told otherwise.
  if (!clients.some((c) => c.client_id === 'mcp-client')) {
    clients.push(completeClient({ client_id: 'mcp-client', redirect_uris: ['http://127.0.0.1:1/callback'] }));
  }
  return {
    clients,
    jwks: { keys: [key('RS256', 'rsa', { modulusLength: 2048 }), key('ES256', 'ec', { namedCurve: 'P-256' })] },
    cookies: { keys: ['only-for-tests'] },
    responseTypes: ['code'],
    pkce: { required: () => true },
    scopes: SCOPES,
    claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false, // names in the ID token, so that a page can greet without a second call
    findAccount: (_ctx, login) => ({ accountId: login, claims: () => claimsOf(options, login) }),
    rotateRefreshToken: true,
    issueRefreshToken: (_ctx, client, code) =>
      client.grantTypeAllowed('refresh_token') && (always || code.scopes.has('offline_access')),
    ttl: { AccessToken: options['access-ttl'], RefreshToken: options['refresh-ttl'], ClientCredentials: options['access-ttl'],
      AuthorizationCode: 60, IdToken: 300, Grant: 7200, Session: 7200, Interaction: 600 },
    features: {
      devInteractions: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: isIssuer || options.resources.length > 0,
        defaultResource: () => undefined,
        useGrantedResource: () => false,
        getResourceServerInfo: async (_ctx, resource) => resourceServer(options, format, resource),
      },
    },
  };
}

/** Fills in what a client usually has, so that a test names only id, secret and redirect URIs. */
function completeClient(client) {
  return {
    response_types: ['code'],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: client.client_secret ? 'client_secret_basic' : 'none',
    ...client,
  };
}

function key(alg, type, parameters) {
  return { ...generateKeyPairSync(type, parameters).privateKey.export({ format: 'jwk' }), use: 'sig', alg, kid: alg };
}

function claimsOf(options, login) {
  return { sub: login, name: `${login} (test)`, preferred_username: login, email: `${login}@example.test`,
    email_verified: true, ...options.accounts[login] };
}

async function resourceServer(options, format, resource) {
  if (options.resources.length > 0 && !options.resources.includes(resource)) {
    const { errors } = await import('oidc-provider');
    throw new errors.InvalidTarget();
  }
  return { scope: options['resource-scopes'], audience: resource, accessTokenFormat: format,
    accessTokenTTL: options['access-ttl'], ...(format === 'jwt' && { jwt: { sign: { alg: 'ES256' } } }) };
}

/** Notes the secrets that pass for the search after all tests (`tests/remains`), if there will be one. */
function leaveSecrets(provider, isIssuer) {
  const folder = process.env.STRONGROOM_TEST_REMAINS;
  if (!folder) return;
  const side = isIssuer ? 'login' : 'provider';
  const kinds = { code: `${side} code`, code_verifier: `${side} PKCE verifier`, state: `${side} state`, nonce: `${side} nonce`,
    refresh_token: 'refresh token' };
  const leave = (ctx) => {
    for (const [name, what] of Object.entries(kinds)) {
      const text = ctx.oidc?.params?.[name];
      if (!text || text.length < 16) continue;
      fs.appendFileSync(`${folder}/canaries-op-${process.pid}.jsonl`, `${JSON.stringify({ what, text })}\n`);
    }
  };
  for (const event of ['grant.success', 'grant.error', 'authorization.accepted', 'authorization.success']) provider.on(event, leave);
}

/** Counts what matters in tests about refresh: `{"refresh_token ok": 1, "refresh_token invalid_grant": 1, "revoked": 2}`. */
function countTraffic(provider) {
  const counts = {};
  const add = (name) => { counts[name] = (counts[name] ?? 0) + 1; };
  provider.on('grant.success', (ctx) => add(`${ctx.oidc.params.grant_type} ok`));
  provider.on('grant.error', (ctx, error) => add(`${ctx.oidc?.params?.grant_type ?? 'unknown'} ${error.error}`));
  provider.on('grant.revoked', () => add('grant revoked'));
  provider.on('access_token.destroyed', () => add('access_token destroyed'));
  provider.on('refresh_token.destroyed', () => add('refresh_token destroyed'));
  return counts;
}

/**
 * Routes that only a test server has:
 * - `GET /test/subject-token?sub=alice&resource=URL[&client_id=][&scope=][&ttl=]` mints an access token through the
 *   library's own model, with the real key: what an MCP client would hold. Plain text.
 * - `GET /test/counts` and `GET /test/reset-counts`: see `countTraffic`.
 */
function testRoutes(provider, counts, options) {
  return async (ctx, next) => {
    if (ctx.path === '/test/counts') ctx.body = { ...counts };
    else if (ctx.path === '/test/reset-counts') { for (const name of Object.keys(counts)) delete counts[name]; ctx.body = {}; }
    else if (ctx.path === '/test/subject-token') await subjectToken(provider, options, ctx);
    else await next();
  };
}

async function subjectToken(provider, options, ctx) {
  const { sub, resource, client_id: clientId = 'mcp-client', scope = 'mcp', ttl } = ctx.query;
  const client = await provider.Client.find(clientId);
  if (!sub || !resource || !client) {
    ctx.status = 400;
    ctx.body = { error: 'give sub, resource and, if at all, a client_id that is declared here' };
    return;
  }
  const format = options['token-format'] || (options.role === 'issuer' ? 'jwt' : 'opaque');
  const info = await resourceServer(options, format, resource);
  const grant = new provider.Grant({ accountId: sub, clientId });
  grant.addResourceScope(resource, scope);
  const token = new provider.AccessToken({
    accountId: sub, client, scope, grantId: await grant.save(), gty: 'authorization_code',
    expiresIn: Number(ttl ?? options['access-ttl']), resourceServer: new provider.ResourceServer(resource, info),
  });
  ctx.type = 'text/plain';
  ctx.body = await token.save();
}

/** The third party's API: who am I (any live token or key) and the notes of that person (a key, or scope `notes.read`). */
function notesApi(provider, options) {
  return async (ctx, next) => {
    if (!ctx.path.startsWith('/api/')) return next();
    const bearer = /^Bearer ([\x21-\x7e]+)$/i.exec(ctx.get('authorization'))?.[1];
    const keyholder = Object.hasOwn(options.keys, bearer ?? '') ? options.keys[bearer] : undefined;
    const token = bearer && !keyholder && await provider.AccessToken.find(bearer);
    if (!keyholder && (!token || token.isExpired)) return refuse(ctx, 401, 'invalid_token');
    const login = keyholder ?? token.accountId;
    if (ctx.path === '/api/me') ctx.body = { id: `u-${login}`, login, name: claimsOf(options, login).name };
    else if (ctx.path !== '/api/notes') ctx.status = 404;
    else if (!keyholder && !token.scopes.has('notes.read')) return refuse(ctx, 403, 'insufficient_scope');
    else ctx.body = { owner: login, notes: [{ id: 1, text: `A note of ${login}` }, { id: 2, text: 'Buy milk' }] };
  };
}

function refuse(ctx, status, error) {
  ctx.status = status;
  ctx.set('WWW-Authenticate', `Bearer error="${error}"`);
  ctx.body = { error };
}

/** `--name value` and `OP_NAME`, the command line first; types follow the defaults. */
function readOptions(argv, env) {
  const options = {};
  for (const name of Object.keys(DEFAULTS)) {
    const value = env[`OP_${name.toUpperCase().replaceAll('-', '_')}`];
    if (value !== undefined) options[name] = parse(name, value);
  }
  for (let i = 0; i < argv.length; i += 2) {
    const name = argv[i].replace(/^--/, '');
    if (!(name in DEFAULTS) || argv[i + 1] === undefined) {
      throw new Error(`unknown or unfinished option ${argv[i]}; known: ${Object.keys(DEFAULTS).map((n) => `--${n}`).join(' ')}`);
    }
    options[name] = parse(name, argv[i + 1]);
  }
  return options;
}

function parse(name, text) {
  const raw = text.startsWith('@') ? fs.readFileSync(text.slice(1), 'utf8') : text;
  return typeof DEFAULTS[name] === 'string' ? raw : JSON.parse(raw);
}

async function main() {
  console.info = console.error; // the library's notices, among them one about its development pages
  console.warn = console.error;
  const { issuer, close } = await startProvider(readOptions(process.argv.slice(2), process.env));
  console.log(`ready ${issuer}`);
  const end = () => close().then(() => process.exit(0));
  process.on('SIGTERM', end).on('SIGINT', end);
  const stdin = fs.fstatSync(0);
  if (stdin.isFIFO() || stdin.isSocket()) process.stdin.on('end', end).resume();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().catch((error) => { console.error(`op.mjs: ${error.message}`); process.exit(2); });
}
