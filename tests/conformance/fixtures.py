"""What the MCP conformance suite looks for on a server under fixed names, mounted on ours."""

import base64
import json
from typing import Any

import questions
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    AudioContent,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    InputRequiredResult,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)

Ctx = Context[Any, Any]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC"  # one red pixel
WAV = "UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQQAAAAAAAAA"  # two silent samples


def mount(server: MCPServer[Any]) -> None:
    """Put all of it on the server."""
    for part in (_content, _calls, questions.mount, _schema, _resources, _prompts, _legacy):
        part(server)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _image() -> ImageContent:
    return ImageContent(type="image", data=PNG, mime_type="image/png")


def _embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text))


def _content(server: MCPServer[Any]) -> None:
    @server.tool(structured_output=False)
    def test_simple_text() -> str:
        """Text."""
        return "This is a simple text response for testing."

    @server.tool(structured_output=False)
    def test_image_content() -> ImageContent:
        """An image."""
        return _image()

    @server.tool(structured_output=False)
    def test_audio_content() -> AudioContent:
        """A sound."""
        return AudioContent(type="audio", data=WAV, mime_type="audio/wav")

    @server.tool(structured_output=False)
    def test_embedded_resource() -> EmbeddedResource:
        """A resource inside a result."""
        return _embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")

    @server.tool(structured_output=False)
    def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
        """Three kinds of content."""
        data = json.dumps({"test": "data", "value": 123})
        mixed = _embedded("test://mixed-content-resource", "application/json", data)
        return [_text("Multiple content types test:"), _image(), mixed]


def _calls(server: MCPServer[Any]) -> None:
    @server.tool(structured_output=False)
    def test_error_handling() -> str:
        """Fails."""
        raise ToolError("This tool intentionally returns an error for testing")

    @server.tool(structured_output=False)
    async def test_tool_with_progress(ctx: Ctx) -> str:
        """Reports progress."""
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100)
        return "done"

    async def test_tool_with_logging(ctx: Ctx) -> str:
        """Sends log messages."""
        for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await ctx.info(line)
        return "done"

    server.add_tool(test_tool_with_logging, structured_output=False)
    server.add_tool(test_tool_with_logging, name="test_logging_tool", structured_output=False)

    @server.tool(structured_output=False)
    async def test_trigger_tool_change(ctx: Ctx) -> str:
        """Changes the list of tools and says so."""
        server.add_tool(test_tool_with_progress, name="test_passing_tool")
        server.remove_tool("test_passing_tool")
        await ctx.notify_tools_changed()
        return "changed"

    @server.tool(structured_output=False)
    async def test_trigger_prompt_change(ctx: Ctx) -> str:
        """Changes the list of prompts and says so."""
        server.prompt("test_passing_prompt")(lambda: "passing")
        server.remove_prompt("test_passing_prompt")
        await ctx.notify_prompts_changed()
        return "changed"


def _schema(server: MCPServer[Any]) -> None:
    def accepts() -> str:
        """Its schema uses the wider vocabulary of JSON Schema 2020-12."""
        return "accepted"

    text = {"type": "string"}
    server.add_tool(accepts, name="json_schema_2020_12_tool", structured_output=False)
    registered = server._tool_manager.get_tool("json_schema_2020_12_tool")
    assert registered is not None
    registered.parameters = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": text, "city": text}}},
        "properties": {
            "name": text,
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": text,
            "email": text,
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
    }


def _resources(server: MCPServer[Any]) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        """Text."""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        """An image."""
        return base64.b64decode(PNG)

    @server.resource("test://watched-resource", mime_type="text/plain")
    def watched() -> str:
        """Text to subscribe to."""
        return "Watched resource content"

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        """Data by id."""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def _prompts(server: MCPServer[Any]) -> None:
    @server.prompt()
    def test_simple_prompt() -> str:
        """Without arguments."""
        return "This is a simple prompt for testing."

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """With two arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[EmbeddedResource | str]:  # noqa: N803
        """With a resource inside."""
        embedded = _embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
        return [embedded, "Please process the embedded resource above."]

    @server.prompt()
    def test_prompt_with_image() -> list[ImageContent | str]:
        """With an image inside."""
        return [_image(), "Please analyze the image above."]

    @server.prompt()
    def test_input_required_result_prompt(ctx: Ctx) -> str | InputRequiredResult:
        """Asks the user first."""
        context = questions.given(ctx, "user_context", "context")
        return context or InputRequiredResult(input_requests={"user_context": questions.form("context")})


def _legacy(server: MCPServer[Any]) -> None:
    """Methods that the protocol dropped in 2026-07-28 and the product never offered."""

    async def accept(_: Any, __: Any) -> EmptyResult:
        return EmptyResult()

    add = server._lowlevel_server.add_request_handler
    add("logging/setLevel", SetLevelRequestParams, accept)
    add("resources/subscribe", SubscribeRequestParams, accept)
    add("resources/unsubscribe", UnsubscribeRequestParams, accept)
