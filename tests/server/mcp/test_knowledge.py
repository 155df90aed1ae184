from collections.abc import Callable
from typing import Any

from mcp import Client


async def ask(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    assert answer.content[0].text  # type: ignore[union-attr]
    return answer.structured_content


async def test_search_has_everything_in_the_structure(client: Callable[..., Client]) -> None:
    async with client() as c:
        found = await ask(c, "search", query="GPU has fallen off the bus", limit=1)
    (result,) = found["results"]
    assert result["id"] == "debugging/xid#what-does-xid-79-mean"
    assert "fallen off the bus" in result["text"]
    assert result["sources"][0]["url"] == "https://example.com/manual"
    assert {"chapter", "heading", "score", "reviewed", "measurements"} <= set(result)


async def test_a_lexical_answer_says_so(client: Callable[..., Client]) -> None:
    async with client() as c:
        found = await ask(c, "search", query="bus bandwidth of an all-reduce")
        wished = await ask(c, "search", query="bus bandwidth of an all-reduce", mode="lexical")
    assert found["mode"] == "lexical" and "lexical results only" in found["note"]
    assert wished["mode"] == "lexical" and wished["note"] == ""


async def test_measurements_can_be_called_as_they_are(client: Callable[..., Client]) -> None:
    async with client() as c:
        found = await ask(c, "search", query="What bus bandwidth should an all-reduce reach?", limit=1)
        (measurement,) = found["results"][0]["measurements"]
        plan = await ask(c, "measure_start", name=measurement["tool"], parameters=measurement["parameters"])
    assert measurement["command"] == "clusterwright run collective-bandwidth --ops all_reduce"
    assert plan["plan"]["arguments"] == {"ops": ["all_reduce"]}


async def test_limits_clamp_and_say_so(client: Callable[..., Client]) -> None:
    async with client() as c:
        found = await ask(c, "search", query="Xid 79", limit=1000)
    assert "limit was set to 50" in found["note"]


async def test_a_chapter_is_read_page_by_page(client: Callable[..., Client]) -> None:
    async with client() as c:
        whole = await ask(c, "read", id="debugging/xid")
        first = await ask(c, "read", id="debugging/xid", max_tokens=1)
    assert whole["sections"] == ["debugging/xid#what-does-xid-79-mean", "debugging/xid#what-does-xid-63-mean"]
    assert not whole["truncated"] and whole["next_offset"] is None
    assert first["text"] == whole["text"][:800]


async def test_an_unknown_id_names_the_nearest(client: Callable[..., Client]) -> None:
    async with client() as c:
        answer = await c.call_tool("read", {"id": "debugging/xids"})
    assert answer.is_error
    assert "unknown chapter 'debugging/xids'; the nearest: debugging/xid" in answer.content[0].text  # type: ignore[union-attr]


async def test_lookup(client: Callable[..., Client]) -> None:
    async with client() as c:
        found = await ask(c, "lookup", name="boost-clock-fraction")
        nothing = await ask(c, "lookup", name="no such thing at all")
    assert found["rows"][0]["cells"]["value"] == "0.98" and found["rows"][0]["source"]
    assert nothing == {"rows": [], "note": "no row for 'no such thing at all'; try search"}
