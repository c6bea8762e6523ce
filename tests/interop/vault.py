"""What every MCP server in Python needs to use Strongroom: one call to the vault, and a credential that goes nowhere but where
it may. Nothing in here knows how an SDK wants to hear the vault's answer; the servers beside it show that.
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
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import jwt
import uvicorn
from mcp.server.auth.provider import AccessToken

ELICITATION_LIFE = 30 * 60  # seconds; the hard end of an elicitation, hence of its request state
CALL_TIMEOUT = 65  # seconds; looking at an elicitation may wait 55


async def verified(token: str, keys: jwt.PyJWKClient, issuer: str, resource: str) -> AccessToken | None:
    """The holder of an RFC 9068 access token of our issuer for exactly this MCP server; nobody otherwise."""
    try:
        claims = await anyio.to_thread.run_sync(_verify, token, keys, issuer, resource)
    except jwt.PyJWTError:
        return None
    return AccessToken(
        token=token,
        client_id=claims["client_id"],
        scopes=str(claims.get("scope", "")).split(),
        expires_at=claims["exp"],
        resource=resource,
        subject=claims["sub"],
        claims=claims,
    )


def _verify(token: str, keys: jwt.PyJWKClient, issuer: str, resource: str) -> dict[str, Any]:
    if jwt.get_unverified_header(token).get("typ") != "at+jwt":
        raise jwt.InvalidTokenError("not an access token (RFC 9068 section 4)")
    key = keys.get_signing_key_from_jwt(token)
    required = ["exp", "iss", "aud", "sub", "client_id"]
    return jwt.decode(token, key, algorithms=["ES256"], audience=resource, issuer=issuer, options={"require": required})


class Vault:
    """The whole client of Strongroom that an MCP server needs."""

    def __init__(self, base: str, key: str, provider: str, scopes: list[str]) -> None:
        self.provider, self._scopes = provider, scopes
        self._http = httpx2.AsyncClient(
            base_url=base, headers={"Authorization": f"Bearer {key}"}, timeout=CALL_TIMEOUT, trust_env=False
        )

    async def until_ended(self, elicitation: str, token: str) -> None:
        """Waits until the user has finished in the browser, for at most three long looks."""
        for _look in range(3):
            answer = await self._http.get(f"/v1/elicitations/{elicitation}?wait=55", headers={"Subject-Token": token})
            if answer.status_code != 200 or answer.json()["state"] not in ("issued", "signed_in", "consented"):
                return

    async def ensure(
        self,
        token: str,
        mcp: dict[str, Any],
        request_state: str | None = None,
        input_responses: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Asks for a credential of whose token this is; the answer has `status` and, unless connected, `payloads`."""
        request: dict[str, Any] = {
            "provider": self.provider,
            "scopes": self._scopes,
            "subject_token": token,
            "mcp": {"method": "tools/call"} | mcp,
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


async def fetch_notes(api: str, credential: dict[str, Any]) -> dict[str, Any]:
    """Uses the released credential, and only towards the hosts that it is meant for."""
    target = urlsplit(api)
    if credential["allowed_hosts"] and not {target.hostname, target.netloc} & set(credential["allowed_hosts"]):
        raise RuntimeError(f"the credential may not be sent to {target.netloc}")
    header = credential["header"]
    async with httpx2.AsyncClient(trust_env=False, follow_redirects=False) as http:
        reply = await http.get(api, headers={header["name"]: header["value"]})
    if reply.status_code != 200:
        raise RuntimeError(f"the provider answered {reply.status_code}")
    return reply.json()


def _end_with_stdin(server: uvicorn.Server) -> None:
    """A test that dies closes its end of the pipe; a terminal or /dev/null says nothing."""
    mode = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return

    def watch() -> None:
        while os.read(0, 4096):
            pass
        server.should_exit = True

    threading.Thread(target=watch, daemon=True).start()


def command_line(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    for name in ("vault", "issuer", "api"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--resource", help="audience of this server; default is its own address")
    parser.add_argument("--provider", default="practice")
    parser.add_argument("--scope", action="append")
    parser.add_argument("--legacy", choices=["raise", "elicit"], default="raise")
    return parser.parse_args()


def serve(options: argparse.Namespace, app_for: Callable[[Vault, str], Any]) -> None:
    """Serves the app that `app_for` makes for a vault and a resource; prints `ready <url of the MCP endpoint>`."""
    # Everything here is on loopback: PyJWT's key fetch must not go through a proxy of the environment.
    urllib.request.install_opener(urllib.request.build_opener(urllib.request.ProxyHandler({})))
    listener = socket.create_server((options.host, options.port))
    endpoint = f"http://{options.host}:{listener.getsockname()[1]}/mcp"
    key = os.environ.get("STRONGROOM_KEY", "")
    vault = Vault(options.vault, key, options.provider, options.scope or ["notes.read"])
    app = app_for(vault, options.resource or endpoint)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    _end_with_stdin(server)
    print(f"ready {endpoint}", flush=True)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        sys.exit(0)
