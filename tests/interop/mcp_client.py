"""Drives the MCP server of `mcp_server.py` with the SDK's own client, in either protocol era, and lets a person in
Headless Chromium do what the server asks for: the elicitation handler runs `tests/node/walk.mjs` on the URL and answers
`accept` only once the browser stands on the page "done".

    MCP_TOKEN=<access token for this MCP server> mcp_client.py <endpoint> --era modern|legacy
        [--as alice] [--at-provider alice] [--answer walk|accept|decline|cancel|none] [--walk ARG]…

Prints one line of JSON, `{"era", "protocol_version", "prompts", "completed", "data" | "error"}`, and exits 0 when the
tool gave data, 3 when it answered with an error result (`error` is its text), 1 when anything else went wrong.

`--answer` says what the handler does: walk the browser first (default), accept without opening anything, decline, or
cancel; `none` declares no elicitation at all, as many clients do. `--walk` passes an argument on to walk.mjs.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import (
    URL_ELICITATION_REQUIRED,
    CallToolResult,
    ElicitCompleteNotification,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
)

NODE_PARTS = Path(__file__).resolve().parent.parent / "node"
MODES = {"modern": "2026-07-28", "legacy": "legacy"}
READ_TIMEOUT = 120  # seconds without a byte; a walk takes a few, a waiting vault up to 55


class Person:
    """The user in front of the client: opens what is asked for, or not."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self.prompts: list[str] = []
        self.completed: list[str] = []

    async def asked(self, _context: Any, params: ElicitRequestParams) -> ElicitResult:
        """The SDK's elicitation callback, for both eras."""
        if not isinstance(params, ElicitRequestURLParams):
            return ElicitResult(action="decline")
        self.prompts.append(params.message)
        answer = self._options.answer
        if answer != "walk":
            return ElicitResult(action=answer)
        return ElicitResult(action="accept" if await self._walk(params.url) else "cancel")

    async def _walk(self, url: str) -> bool:
        node = NODE_PARTS / "node_modules" / ".bin" / "node"
        command = [str(node) if node.exists() else "node", str(NODE_PARTS / "walk.mjs"), url]
        command += ["--as", self._options.as_, *self._options.walk]
        if self._options.at_provider:
            command += ["--at-provider", self._options.at_provider]
        done = await anyio.run_process(command, check=False)
        sys.stderr.write(done.stderr.decode(errors="replace"))
        return done.returncode == 0

    async def told(self, message: Any) -> None:
        """Notes the legacy completion notification."""
        if isinstance(message, ElicitCompleteNotification):
            self.completed.append(message.params.elicitation_id)


async def call(client: Client, person: Person) -> CallToolResult:
    """Calls the tool; -32042 (legacy) is handled as the specification wants: elicit each one, then call again."""
    for _round in range(3):
        try:
            return await client.call_tool("list_notes")
        except MCPError as error:
            if error.code != URL_ELICITATION_REQUIRED:
                raise
            required = UrlElicitationRequiredError.from_error(error.error)
            answers = [await person.asked(None, params) for params in required.elicitations]
            if any(answer.action != "accept" for answer in answers):
                raise
    raise RuntimeError("the server kept asking for the same thing")


async def run(options: argparse.Namespace) -> int:
    person = Person(options)
    headers = {"Authorization": f"Bearer {os.environ.get('MCP_TOKEN', '')}"}
    timeout = httpx2.Timeout(30, read=READ_TIMEOUT)
    async with httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=False) as http:
        transport = streamable_http_client(options.endpoint, http_client=http)
        callback = None if options.answer == "none" else person.asked
        mode = MODES[options.era]
        async with Client(transport, mode=mode, elicitation_callback=callback, message_handler=person.told) as client:
            report: dict[str, Any] = {"era": options.era, "protocol_version": client.protocol_version}
            try:
                result = await call(client, person)
            except MCPError as error:
                report |= {"code": error.code, "error": error.message}
                code = 1
            except RuntimeError as error:  # among others: the SDK's limit of ten `input_required` rounds
                report |= {"error": str(error)}
                code = 1
            else:
                code = 3 if result.is_error else 0
                text = "".join(getattr(part, "text", "") for part in result.content)
                report |= {"error": text} if result.is_error else {"data": result.structured_content or json.loads(text)}
            report |= {"prompts": person.prompts, "completed": person.completed}
    print(json.dumps(report))
    return code


def main() -> int:
    parser = argparse.ArgumentParser(description="MCP client for Strongroom's interop tests")
    parser.add_argument("endpoint")
    parser.add_argument("--era", choices=sorted(MODES), required=True)
    parser.add_argument("--as", dest="as_", default="alice", metavar="LOGIN")
    parser.add_argument("--at-provider")
    parser.add_argument("--answer", choices=["walk", "accept", "decline", "cancel", "none"], default="walk")
    parser.add_argument("--walk", action="append", default=[], metavar="ARG")
    return anyio.run(run, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
