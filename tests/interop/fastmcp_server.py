"""The MCP server of `mcp_server.py` on fastmcp 4.x: the same tool, the same vault, both protocol eras on one endpoint.

    fastmcp_server.py --vault http://127.0.0.1:7602 --issuer http://127.0.0.1:7701 --api http://127.0.0.2:7702/api/notes
                      [--legacy raise|elicit] …        (the server key comes from STRONGROOM_KEY, `srk_…`)

Where fastmcp differs from the SDK that it stands on:
* It turns an exception out of a tool into an ordinary error result, `UrlElicitationRequiredError` too, so -32042 would never
  reach a client. `LetUrlErrorsThrough` takes it out again and raises it where the protocol layer sees it.
* Its `Context` has no `elicit_url`; the session below has.
* The tool says with its return type that it may ask: `ToolResult | InputRequiredResult`.
"""

from typing import Any

import jwt
from fastmcp import Context, FastMCP
from fastmcp.server.auth import AccessToken, TokenVerifier
from fastmcp.server.dependencies import get_access_token
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from mcp.server.request_state import RequestStateSecurity
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import CallToolResult, ElicitRequestURLParams, InputRequiredResult
from vault import ELICITATION_LIFE, Vault, command_line, fetch_notes, request_digest, serve, to_wire, verified


class IssuerTokens(TokenVerifier):
    """Lets in who holds an access token of our issuer for exactly this MCP server."""

    def __init__(self, issuer: str, resource: str) -> None:
        super().__init__(resource_base_url=resource)
        self._issuer, self._resource = issuer, resource
        self._keys = jwt.PyJWKClient(f"{issuer}/jwks", cache_keys=True)

    async def verify_token(self, token: str) -> AccessToken | None:
        found = await verified(token, self._keys, self._issuer, self._resource)
        return AccessToken.model_validate(found.model_dump()) if found else None


class LetUrlErrorsThrough(Middleware):
    """Raises -32042 anew, which fastmcp has wrapped as the cause of an error of the tool."""

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        try:
            return await call_next(context)
        except Exception as error:
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, UrlElicitationRequiredError):
                cause = cause.__cause__
            if cause is None:
                raise
            raise cause from None


def caller() -> str:
    token = get_access_token()
    return token.token if token else ""


def mcp_facts(ctx: Context) -> dict[str, Any]:
    """What the client of this call said of itself, and which call it is."""
    session = ctx.session
    capabilities = session.client_capabilities
    return {
        "protocol_version": ctx.request_context.protocol_version,
        "client_capabilities": to_wire(capabilities) if capabilities else {},
        "request_digest": request_digest("list_notes", {}),
    }


async def push_and_ask_again(ctx: Context, vault: Vault, answer: dict[str, Any]) -> dict[str, Any]:
    """2025-11-25 with a session: sends `elicitation/create` ourselves, then waits at the vault for the browser."""
    asked = answer["payloads"]["elicitation_create"]
    said = await ctx.session.elicit_url(asked["message"], asked["url"], asked["elicitationId"], ctx.request_id)
    state, responses = answer["request_state"], {f"connect:{vault.provider}": {"action": said.action}}
    if said.action == "accept":  # which only says that the client opened the link
        await vault.until_ended(asked["elicitationId"], caller())
    answer = await vault.ensure(caller(), mcp_facts(ctx), state, responses)
    if answer["status"] == "connected":
        await ctx.session.send_elicit_complete(asked["elicitationId"])
    return answer


def main() -> None:
    options = command_line("MCP server on fastmcp for Strongroom's interop tests")

    def app(vault: Vault, resource: str) -> Any:
        server = FastMCP(
            "practice-notes",
            auth=IssuerTokens(options.issuer, resource),
            middleware=[LetUrlErrorsThrough()],
            # One process needs no shared key; several replicas would pass keys=[…] instead.
            request_state_security=RequestStateSecurity.ephemeral(ttl=ELICITATION_LIFE),
        )

        @server.tool(description="Lists the notes of the calling user.", output_schema=None)
        async def list_notes(ctx: Context) -> ToolResult | InputRequiredResult:
            """One call to the vault; then either the notes, or what the vault prepared for this client."""
            responses = {key: to_wire(value) for key, value in (ctx.input_responses or {}).items()} or None
            answer = await vault.ensure(caller(), mcp_facts(ctx), ctx.request_state, responses)
            recommended = answer.get("recommended", "tool_result")
            if recommended in ("url_elicitation_required", "elicitation_create") and options.legacy == "elicit":
                answer, recommended = await push_and_ask_again(ctx, vault, answer), "tool_result"
            if answer["status"] == "connected":
                return ToolResult(structured_content=await fetch_notes(options.api, answer["credential"]))
            payload = answer["payloads"][recommended if recommended in answer["payloads"] else "tool_result"]
            if recommended == "input_required_result":
                return InputRequiredResult.model_validate(payload)
            if recommended == "url_elicitation_required":
                elicitations = [ElicitRequestURLParams.model_validate(e) for e in payload["data"]["elicitations"]]
                raise UrlElicitationRequiredError(elicitations, payload["message"])
            return ToolResult.from_mcp_result(CallToolResult.model_validate(payload))

        return server.http_app(path="/mcp")

    serve(options, app)


if __name__ == "__main__":
    main()
