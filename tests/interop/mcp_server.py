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
import json
from typing import Any

import jwt
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.request_state import RequestStateSecurity
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import CallToolResult, ElicitRequestURLParams, InputRequiredResult, TextContent
from vault import ELICITATION_LIFE, Vault, command_line, fetch_notes, request_digest, serve, to_wire, verified


class IssuerTokens(TokenVerifier):
    """Lets in who holds an access token of our issuer for exactly this MCP server."""

    def __init__(self, issuer: str, resource: str) -> None:
        self._issuer, self._resource = issuer, resource
        self._keys = jwt.PyJWKClient(f"{issuer}/jwks", cache_keys=True)

    async def verify_token(self, token: str) -> AccessToken | None:
        return await verified(token, self._keys, self._issuer, self._resource)


def caller() -> str:
    token = get_access_token()
    return token.token if token else ""


def mcp_facts(ctx: Context) -> dict[str, Any]:
    """What the client of this call said of itself, and which call it is."""
    capabilities = ctx.client_capabilities
    return {
        "protocol_version": ctx.protocol_version,
        "client_capabilities": to_wire(capabilities) if capabilities else {},
        "request_digest": request_digest("list_notes", {}),
    }


async def notes(api: str, credential: dict[str, Any]) -> CallToolResult:
    data = await fetch_notes(api, credential)
    return CallToolResult(content=[TextContent(type="text", text=json.dumps(data))], structured_content=data)


async def push_and_ask_again(ctx: Context, vault: Vault, answer: dict[str, Any]) -> dict[str, Any]:
    """2025-11-25 with a session: sends `elicitation/create` ourselves, then waits at the vault for the browser."""
    asked = answer["payloads"]["elicitation_create"]
    said = await ctx.elicit_url(asked["message"], asked["url"], asked["elicitationId"])
    state, responses = answer["request_state"], {f"connect:{vault.provider}": {"action": said.action}}
    if said.action == "accept":  # which only says that the client opened the link
        await vault.until_ended(asked["elicitationId"], caller())
    answer = await vault.ensure(caller(), mcp_facts(ctx), state, responses)
    if answer["status"] == "connected":
        await ctx.session.send_elicit_complete(asked["elicitationId"])
    return answer


async def list_notes(ctx: Context, vault: Vault, options: argparse.Namespace) -> CallToolResult | InputRequiredResult:
    """One call to the vault; then either the notes, or what the vault prepared for this client."""
    responses = {key: to_wire(value) for key, value in (ctx.input_responses or {}).items()} or None
    answer = await vault.ensure(caller(), mcp_facts(ctx), ctx.request_state, responses)
    recommended = answer.get("recommended", "tool_result")
    if recommended in ("url_elicitation_required", "elicitation_create") and options.legacy == "elicit":
        answer, recommended = await push_and_ask_again(ctx, vault, answer), "tool_result"
    if answer["status"] == "connected":
        return await notes(options.api, answer["credential"])
    payload = answer["payloads"][recommended if recommended in answer["payloads"] else "tool_result"]
    if recommended == "input_required_result":
        return InputRequiredResult.model_validate(payload)
    if recommended == "url_elicitation_required":
        elicitations = [ElicitRequestURLParams.model_validate(e) for e in payload["data"]["elicitations"]]
        raise UrlElicitationRequiredError(elicitations, payload["message"])
    return CallToolResult.model_validate(payload)


def main() -> None:
    options = command_line("MCP server on the official Python SDK for Strongroom's interop tests")

    def app(vault: Vault, resource: str) -> Any:
        server = MCPServer(
            "practice-notes",
            token_verifier=IssuerTokens(options.issuer, resource),
            auth=AuthSettings(issuer_url=options.issuer, resource_server_url=resource, validate_token_resource=True),
            # One process needs no shared key; several replicas would pass keys=[…] instead.
            request_state_security=RequestStateSecurity.ephemeral(ttl=ELICITATION_LIFE),
            log_level="WARNING",
        )

        @server.tool(name="list_notes", description="Lists the notes of the calling user.", structured_output=False)
        async def tool(ctx: Context) -> CallToolResult | InputRequiredResult:
            return await list_notes(ctx, vault, options)

        return server.streamable_http_app(host=options.host)

    serve(options, app)


if __name__ == "__main__":
    main()
