"""A real MCP server on the official Python SDK (`mcp` 2.x) whose one tool, `list_notes`, needs the user's account at a
third party and gets it from Strongroom with one call, `POST /v1/ensure`. It serves both protocol eras on one endpoint
and holds no OAuth code, no keys and no state of its own about connections: what the vault answers under `payloads` goes
to the client as it is.

    mcp_server.py --vault http://127.0.0.1:7602 --issuer http://127.0.0.1:7701 --api http://127.0.0.2:7702/api/notes
                  [--port 0] [--host 127.0.0.1] [--resource URL] [--provider practice] [--scope notes.read]
                  [--legacy raise|elicit]          (the server key comes from STRONGROOM_KEY, `srk_…`)

Prints `ready <url of the MCP endpoint>`; ends on SIGTERM and when standard input is a pipe that closes.

How the eras differ (nothing of this is the vault's business but the choice in `recommended`):
* 2026-07-28: the tool returns an `InputRequiredResult`. The SDK seals `request_state` once more under its own key and
  unseals it on the retry, so the handler sees the vault's `srs1.…` again, byte for byte; its own time to live must not
  be shorter than that of an elicitation. Raising -32042 or pushing a request is forbidden in this era.
* 2025-11-25: the tool raises `UrlElicitationRequiredError` (-32042, `--legacy raise`, the default), or pushes
  `elicitation/create` itself, asks the vault again and tells the client that it is complete (`--legacy elicit`).
* a client without URL mode gets the vault's `tool_result`: an ordinary error result with the link as text.
"""

import argparse
import base64
import hashlib
import json
import os
import socket
import stat
import sys
import threading
import urllib.request
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import jwt
import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.request_state import RequestStateSecurity
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import CallToolResult, ElicitRequestURLParams, InputRequiredResult, TextContent

ELICITATION_LIFE = 30 * 60  # seconds; the hard end of an elicitation, hence of its request state
CALL_TIMEOUT = 65  # seconds; looking at an elicitation may wait 55

Answer = CallToolResult | InputRequiredResult


class IssuerTokens(TokenVerifier):
    """Lets in who holds an RFC 9068 access token of our issuer for exactly this MCP server."""

    def __init__(self, issuer: str, resource: str) -> None:
        self._issuer, self._resource = issuer, resource
        self._keys = jwt.PyJWKClient(f"{issuer}/jwks", cache_keys=True)

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            claims = await anyio.to_thread.run_sync(self._verify, token)
        except jwt.PyJWTError:
            return None
        return AccessToken(
            token=token,
            client_id=claims["client_id"],
            scopes=str(claims.get("scope", "")).split(),
            expires_at=claims["exp"],
            resource=self._resource,
            subject=claims["sub"],
            claims=claims,
        )

    def _verify(self, token: str) -> dict[str, Any]:
        if jwt.get_unverified_header(token).get("typ") != "at+jwt":
            raise jwt.InvalidTokenError("not an access token (RFC 9068 section 4)")
        key = self._keys.get_signing_key_from_jwt(token)
        required = ["exp", "iss", "aud", "sub", "client_id"]
        return jwt.decode(
            token, key, algorithms=["ES256"], audience=self._resource, issuer=self._issuer, options={"require": required}
        )


class Vault:
    """The whole client of Strongroom that an MCP server needs."""

    def __init__(self, base: str, key: str, provider: str, scopes: list[str]) -> None:
        self.provider, self._scopes = provider, scopes
        self._http = httpx2.AsyncClient(
            base_url=base, headers={"Authorization": f"Bearer {key}"}, timeout=CALL_TIMEOUT, trust_env=False
        )

    async def until_ended(self, elicitation: str) -> None:
        """Waits until the user has finished in the browser, for at most three long looks."""
        token = get_access_token()
        headers = {"Subject-Token": token.token if token else ""}
        for _look in range(3):
            answer = await self._http.get(f"/v1/elicitations/{elicitation}?wait=55", headers=headers)
            if answer.status_code != 200 or answer.json()["state"] not in ("issued", "signed_in", "consented"):
                return

    async def ensure(
        self, ctx: Context, digest: str, request_state: str | None, input_responses: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Asks for a credential of the calling user; the answer has `status` and, unless connected, `payloads`."""
        token = get_access_token()
        capabilities = ctx.client_capabilities
        request: dict[str, Any] = {
            "provider": self.provider,
            "scopes": self._scopes,
            "subject_token": token.token if token else "",
            "mcp": {
                "protocol_version": ctx.protocol_version,
                "client_capabilities": to_wire(capabilities) if capabilities else {},
                "method": "tools/call",
                "request_digest": digest,
            },
        }
        if request_state is not None:
            request["request_state"] = request_state
        if input_responses is not None:
            request["input_responses"] = input_responses
        reply = await self._http.post("/v1/ensure", json=request)
        if reply.status_code != 200:
            raise RuntimeError(f"the vault answered {reply.status_code}: {reply.text[:500]}")
        return reply.json()


def to_wire(model: Any) -> Any:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def request_digest(tool: str, arguments: dict[str, Any]) -> str:
    """Binds the vault's request state to this very call (base64url SHA-256 without padding)."""
    text = json.dumps({"name": tool, "arguments": arguments}, sort_keys=True, separators=(",", ":"))
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


async def fetch_notes(api: str, credential: dict[str, Any]) -> CallToolResult:
    """Uses the released credential, and only towards the hosts that it is meant for."""
    target = urlsplit(api)
    if credential["allowed_hosts"] and not {target.hostname, target.netloc} & set(credential["allowed_hosts"]):
        raise RuntimeError(f"the credential may not be sent to {target.netloc}")
    header = credential["header"]
    async with httpx2.AsyncClient(trust_env=False, follow_redirects=False) as http:
        reply = await http.get(api, headers={header["name"]: header["value"]})
    if reply.status_code != 200:
        raise RuntimeError(f"the provider answered {reply.status_code}")
    data = reply.json()
    return CallToolResult(content=[TextContent(type="text", text=json.dumps(data))], structured_content=data)


async def push_and_ask_again(ctx: Context, vault: Vault, digest: str, answer: dict[str, Any]) -> dict[str, Any]:
    """2025-11-25 with a session: sends `elicitation/create` ourselves, then waits at the vault for the browser."""
    asked = answer["payloads"]["elicitation_create"]
    said = await ctx.elicit_url(asked["message"], asked["url"], asked["elicitationId"])
    state, responses = answer["request_state"], {f"connect:{vault.provider}": {"action": said.action}}
    if said.action == "accept":  # which only says that the client opened the link
        await vault.until_ended(asked["elicitationId"])
    answer = await vault.ensure(ctx, digest, state, responses)
    if answer["status"] == "connected":
        await ctx.session.send_elicit_complete(asked["elicitationId"])
    return answer


async def list_notes(ctx: Context, vault: Vault, api: str, legacy: str) -> Answer:
    """One call to the vault; then either the notes, or what the vault prepared for this client."""
    digest = request_digest("list_notes", {})
    responses = {key: to_wire(value) for key, value in (ctx.input_responses or {}).items()} or None
    answer = await vault.ensure(ctx, digest, ctx.request_state, responses)
    if answer["status"] == "connected":
        return await fetch_notes(api, answer["credential"])
    recommended = answer.get("recommended", "tool_result")
    if recommended in ("url_elicitation_required", "elicitation_create") and legacy == "elicit":
        answer = await push_and_ask_again(ctx, vault, digest, answer)
        if answer["status"] == "connected":
            return await fetch_notes(api, answer["credential"])
        recommended = "tool_result"
    payload = answer["payloads"][recommended if recommended in answer["payloads"] else "tool_result"]
    if recommended == "input_required_result":
        return InputRequiredResult.model_validate(payload)
    if recommended == "url_elicitation_required":
        elicitations = [ElicitRequestURLParams.model_validate(e) for e in payload["data"]["elicitations"]]
        raise UrlElicitationRequiredError(elicitations, payload["message"])
    return CallToolResult.model_validate(payload)


def build(options: argparse.Namespace, resource: str) -> MCPServer:
    server = MCPServer(
        "practice-notes",
        token_verifier=IssuerTokens(options.issuer, resource),
        auth=AuthSettings(issuer_url=options.issuer, resource_server_url=resource, validate_token_resource=True),
        # One process needs no shared key; several replicas would pass keys=[…] instead.
        request_state_security=RequestStateSecurity.ephemeral(ttl=ELICITATION_LIFE),
        log_level="WARNING",
    )
    key = os.environ.get("STRONGROOM_KEY", "")
    vault = Vault(options.vault, key, options.provider, options.scope or ["notes.read"])

    @server.tool(name="list_notes", description="Lists the notes of the calling user.", structured_output=False)
    async def tool(ctx: Context) -> CallToolResult | InputRequiredResult:
        return await list_notes(ctx, vault, options.api, options.legacy)

    return server


def end_with_stdin(server: uvicorn.Server) -> None:
    """A test that dies closes its end of the pipe; a terminal or /dev/null says nothing."""
    mode = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return

    def watch() -> None:
        while os.read(0, 4096):
            pass
        server.should_exit = True

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    parser = argparse.ArgumentParser(description="MCP server for Strongroom's interop tests")
    for name in ("vault", "issuer", "api"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--resource", help="audience of this server; default is its own address")
    parser.add_argument("--provider", default="practice")
    parser.add_argument("--scope", action="append")
    parser.add_argument("--legacy", choices=["raise", "elicit"], default="raise")
    options = parser.parse_args()

    # Everything here is on loopback: PyJWT's key fetch must not go through a proxy of the environment.
    urllib.request.install_opener(urllib.request.build_opener(urllib.request.ProxyHandler({})))
    listener = socket.create_server((options.host, options.port))
    endpoint = f"http://{options.host}:{listener.getsockname()[1]}/mcp"
    app = build(options, options.resource or endpoint).streamable_http_app(host=options.host)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    end_with_stdin(server)
    print(f"ready {endpoint}", flush=True)
    server.run(sockets=[listener])


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
