from collections.abc import Callable

import pytest
from mcp import Client, MCPError


async def test_chapters(client: Callable[..., Client]) -> None:
    async with client() as c:
        listed = (await c.read_resource("clusterwright://chapters")).contents[0].text  # type: ignore[union-attr]
        chapter = (await c.read_resource("clusterwright://chapter/debugging/xid")).contents[0].text  # type: ignore[union-attr]
    assert "- debugging/xid: Xid errors." in listed
    assert chapter.startswith("# Xid errors")


@pytest.mark.parametrize("uri", ["clusterwright://chapter/debugging/none", "clusterwright://report/none-abcdefghij"])
async def test_what_does_not_exist_is_a_protocol_error(client: Callable[..., Client], uri: str) -> None:
    async with client() as c:
        with pytest.raises(MCPError, match="unknown") as caught:
            await c.read_resource(uri)
    assert caught.value.error.code == -32602


async def test_paths_do_not_get_out(client: Callable[..., Client]) -> None:
    async with client() as c:
        with pytest.raises(MCPError):
            await c.read_resource("clusterwright://chapter/..%2F..%2Fetc/passwd")
