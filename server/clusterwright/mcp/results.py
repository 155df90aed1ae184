"""Tool results: everything in the structured content, because several clients drop the text beside it."""

from collections.abc import Mapping
from typing import Any

from mcp_types import CallToolResult, TextContent, ToolAnnotations

READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False, idempotent_hint=True)
STARTS_WORK = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)


def both(text: str, data: Mapping[str, Any]) -> CallToolResult:
    """The same content for clients that show text and for those that show the structure."""
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=dict(data))
