from collections.abc import Callable

import pytest
from mcp import Client, MCPError
from mcp_types import PromptReference, ResourceTemplateReference


async def test_the_prompt_carries_the_symptom(client: Callable[..., Client]) -> None:
    async with client() as c:
        prompt = await c.get_prompt("troubleshoot", {"symptom": "8 nodes slower than 4", "hardware": "H200"})
    text = prompt.messages[0].content.text  # type: ignore[union-attr]
    assert "8 nodes slower than 4" in text and "H200" in text and "`search`" in text


async def test_an_unknown_prompt_is_a_protocol_error(client: Callable[..., Client]) -> None:
    async with client() as c:
        with pytest.raises(MCPError, match="unknown prompt 'trouble'; there are: troubleshoot") as caught:
            await c.get_prompt("trouble", {})
    assert caught.value.error.code == -32602


async def test_completions(client: Callable[..., Client]) -> None:
    prompt, chapter = (
        PromptReference(name="troubleshoot"),
        ResourceTemplateReference(uri="clusterwright://chapter/{part}/{chapter}"),
    )
    async with client() as c:
        hardware = await c.complete(prompt, {"name": "hardware", "value": "h200"})
        ids = await c.complete(chapter, {"name": "chapter", "value": "xid"})
        nothing = await c.complete(prompt, {"name": "symptom", "value": "x"})
    assert any("H200" in name for name in hardware.completion.values)
    assert ids.completion.values == ["debugging/xid"]
    assert nothing.completion.values == []
