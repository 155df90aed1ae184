import hashlib
import json
from collections.abc import Callable

import pytest
from mcp import Client

from clusterwright.errors import UserError
from clusterwright.mcp.server import Server
from clusterwright_tools.errors import CannotRun

TOOLS = [
    "search",
    "read",
    "lookup",
    "job_list",
    "job_status",
    "job_wait",
    "job_log",
    "job_report",
    "job_cancel",
    "measure_describe",
    "measure_start",
    "measure_matmul_flops",
    "measure_collective_bandwidth",
    "measure_preflight",
]
# Retrieved text is data; what a model reads as our own words is static. Change it deliberately.
DESCRIPTIONS = "f0dc40977238"


async def listed(client: Client) -> list[dict[str, object]]:
    return [tool.model_dump(by_alias=True, exclude_none=True) for tool in (await client.list_tools()).tools]


async def refusal(client: Client, tool: str, **arguments: object) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    text: str = answer.content[0].text  # type: ignore[union-attr]
    assert "\n" not in text
    return text


async def test_the_tools_in_both_eras(client: Callable[..., Client]) -> None:
    async with client() as c:
        assert [tool["name"] for tool in await listed(c)] == TOOLS
        assert "Collectives" in (c.instructions or "")


async def test_definitions_are_small_and_refuse_unknown_arguments(client: Callable[..., Client]) -> None:
    async with client() as c:
        tools = await listed(c)
    assert len(json.dumps(tools)) / 4 < 6000
    for tool in tools:
        assert tool["annotations"]["readOnlyHint"] is (tool["name"] not in STARTING), tool["name"]  # type: ignore[index]
        assert tool["inputSchema"]["additionalProperties"] is False  # type: ignore[index]
        assert len(str(tool["description"])) < 2048


STARTING = {"job_cancel", "measure_start", "measure_matmul_flops", "measure_collective_bandwidth", "measure_preflight"}


async def test_read_only_offers_nothing_that_starts_work(client: Callable[..., Client]) -> None:
    async with client(read_only=True) as c:
        names = {tool["name"] for tool in await listed(c)}
    assert names == set(TOOLS) - STARTING


async def test_toolsets(client: Callable[..., Client]) -> None:
    async with client(toolsets=("knowledge",)) as c:
        assert [tool["name"] for tool in await listed(c)] == ["search", "read", "lookup"]


async def test_unknown_tool(client: Callable[..., Client]) -> None:
    async with client() as c:
        text = await refusal(c, "serch")
    assert text.startswith("unknown tool 'serch' (did you mean 'search'?); there are: search, read")


async def test_misspelt_argument(client: Callable[..., Client]) -> None:
    async with client() as c:
        text = await refusal(c, "search", query="x", max_token=5)
    assert text == (
        "search: unknown argument 'max_token' (did you mean 'max_tokens'?); it takes: query, limit, max_tokens, mode"
    )


async def test_a_value_of_the_wrong_kind(client: Callable[..., Client]) -> None:
    async with client() as c:
        assert (await refusal(c, "search", query="x", limit="many")).startswith("search: limit: input should be")
        assert (await refusal(c, "search")).startswith("search: query: field required")


@pytest.mark.parametrize("error", [UserError("mend it"), CannotRun("mend it")])
async def test_errors_that_the_user_can_mend(make: Callable[..., Server], error: Exception) -> None:
    server = make()

    def broken() -> str:
        raise error

    server.add_tool(broken, name="broken")
    async with Client(server) as c:
        assert await refusal(c, "broken") == "broken: mend it"


async def test_a_bug_stays_on_the_server(make: Callable[..., Server], caplog: pytest.LogCaptureFixture) -> None:
    server = make()

    def broken() -> str:
        raise ZeroDivisionError("secret")

    server.add_tool(broken, name="broken")
    async with Client(server) as c:
        assert await refusal(c, "broken") == "Error executing tool broken"
    assert "secret" in caplog.text


async def test_descriptions_change_only_on_purpose(client: Callable[..., Client]) -> None:
    async with client() as c:
        told = json.dumps([[tool["name"], tool["description"]] for tool in await listed(c)])
    assert hashlib.sha256(told.encode()).hexdigest()[:12] == DESCRIPTIONS
