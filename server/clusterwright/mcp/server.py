"""The server itself: the SDK's `MCPServer`, with errors that one line can mend, and our tools on it."""

import difflib
import inspect
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server import MCPServer
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, Tool
from pydantic import ValidationError

from clusterwright import __version__
from clusterwright.errors import UserError
from clusterwright.mcp import instructions, jobs, knowledge, measure, prompts, resources
from clusterwright.mcp.app import App
from clusterwright_tools.errors import CannotRun


class Server(MCPServer[None]):
    """An `MCPServer` that refuses unknown arguments by name and tells every mendable error in one line."""

    async def list_tools(self) -> list[Tool]:
        """The tools, each with a schema that says what `call_tool` does: other arguments are refused."""
        listed = await super().list_tools()
        for tool in listed:
            tool.input_schema["additionalProperties"] = False
            # A docstring's indentation would only cost the client tokens.
            tool.description = inspect.cleandoc(tool.description or "")
        return listed

    async def get_prompt(self, name: str, *rest: Any, **named: Any) -> Any:
        """A prompt by its name.

        Raises:
            MCPError: there is none of that name.
        """
        known = [prompt.name for prompt in await self.list_prompts()]
        if name not in known:
            raise MCPError(INVALID_PARAMS, f"unknown prompt '{name}'; there are: {', '.join(known)}")
        return await super().get_prompt(name, *rest, **named)

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None) -> Any:
        """Call a tool.

        Raises:
            ToolError: unknown tool or argument, a value that does not fit, or an error that the user can mend.
        """
        schemas = {tool.name: tool.input_schema for tool in await self.list_tools()}
        if name not in schemas:
            raise ToolError(f"unknown tool '{name}'{_near(name, schemas)}; there are: {', '.join(schemas)}")
        known = schemas[name].get("properties", {})
        for argument in arguments:
            if argument not in known:
                takes = ", ".join(known) or "nothing"
                raise ToolError(f"{name}: unknown argument '{argument}'{_near(argument, known)}; it takes: {takes}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if (mended := _one_line(name, error)) is None:
                raise
            raise mended from error


def _one_line(name: str, error: ToolError) -> ToolError | None:
    """What the caller can mend, in one line; None for a failure that is ours."""
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        first = cause.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return ToolError(f"{name}: {where}: {first['msg'].lower()}")
    if isinstance(cause, (UserError, CannotRun)):
        return ToolError(f"{name}: {cause}")
    return None


def _near(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def build(app: App, verifier: TokenVerifier | None = None, auth: AuthSettings | None = None) -> Server:
    """The server with the toolsets that `app` asks for; over HTTP with a token that every caller has to show."""

    @asynccontextmanager
    async def lifespan(_: MCPServer[None]) -> AsyncIterator[None]:
        # In a thread of its own: a client's handshake must not wait for an index or a model.
        if "knowledge" in app.toolsets:
            threading.Thread(target=lambda: app.searcher.start(), daemon=True).start()
        yield

    server = Server(
        "clusterwright",
        title="Clusterwright",
        version=__version__,
        website_url="https://github.com/clusterwright/clusterwright",
        instructions=instructions.text(app),
        log_level="WARNING",
        lifespan=lifespan,
        token_verifier=verifier,
        auth=auth,
    )
    if "knowledge" in app.toolsets:
        knowledge.register(server, app)
        resources.register_chapters(server, app)
    if "jobs" in app.toolsets:
        jobs.register(server, app)
        resources.register_reports(server)
    if "measure" in app.toolsets:
        measure.register(server, app)
    prompts.register(server, app)
    return server
