from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client
from mcp_types import ElicitResult

from clusterwright import jobs
from clusterwright.mcp.measure import HEADLINE
from clusterwright.mcp.server import Server
from clusterwright_tools import params, registry

from .test_knowledge import ask


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, object, int | None]]:
    """What would have been started; nothing is."""
    calls: list[tuple[str, object, int | None]] = []

    class Job:
        id = "matmul-flops-abcdefghij"

    def start(tool: registry.Tool, parameters: object, *, ranks: int | None, config: object) -> Job:
        calls.append((tool.name, parameters, ranks))
        return Job()

    monkeypatch.setattr(jobs, "start", start, raising=False)
    return calls


async def test_without_consent_there_is_a_plan(client: Callable[..., Client], started: list[Any]) -> None:
    async with client() as c:
        plan = await ask(c, "measure_matmul_flops", seconds=5)
    assert not plan["started"] and "confirm=true" in plan["reason"]
    assert plan["plan"]["impact"] == "loads device" and plan["plan"]["arguments"] == {"seconds": 5}
    assert started == []


@pytest.mark.parametrize("tool", ["measure_matmul_flops", "measure_start"])
async def test_with_consent_it_starts(client: Callable[..., Client], started: list[Any], tool: str) -> None:
    arguments: dict[str, Any] = {"seconds": 5, "shapes": ["64x64x64"]}
    if tool == "measure_start":
        arguments = {"name": "matmul-flops", "parameters": arguments}
    async with client() as c:
        answer = await ask(c, tool, confirm=True, ranks=2, **arguments)
    assert answer["job_id"] == "matmul-flops-abcdefghij" and answer["next"] == "job_wait"
    expected = params.parse(registry.find("matmul-flops").params, {"seconds": 5, "shapes": ["64x64x64"]})
    assert started == [("matmul-flops", expected, 2)]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("action", "run", "starts"), [("accept", True, True), ("accept", False, False), ("decline", None, False)]
)
async def test_a_client_that_can_ask_its_user_does(
    make: Callable[..., Server], started: list[Any], mode: str, action: str, run: bool | None, starts: bool
) -> None:
    asked = []

    async def user(context: object, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action=action, content=None if run is None else {"run": run})  # type: ignore[arg-type]

    async with Client(make(), mode=mode, elicitation_callback=user) as c:
        # A model that sets `confirm` by itself does not get around its user.
        answer = await ask(c, "measure_preflight", confirm=True)
    assert len(asked) == 1 and "Run preflight on this machine?" in asked[0]
    assert answer["started"] is starts and bool(started) is starts


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("measure_start", {"name": "matmul"}, "unknown tool 'matmul'; there are: "),
        ("measure_start", {"name": "preflight", "parameters": {"deadlin": 3}}, "did you mean 'deadline'?"),
        ("measure_matmul_flops", {"seconds": 1}, "seconds: 1 is out of range; give 2 to 3600 s"),
        ("measure_matmul_flops", {"secs": 1}, "unknown argument 'secs'"),
        ("measure_describe", {"name": "matmul"}, "unknown tool 'matmul'; there are: "),
    ],
)
async def test_bad_input_is_refused_before_anything_starts(
    client: Callable[..., Client], started: list[Any], tool: str, arguments: dict[str, Any], message: str
) -> None:
    async with client() as c:
        answer = await c.call_tool(tool, {**arguments, **({} if tool == "measure_describe" else {"confirm": True})})
    assert answer.is_error and message in answer.content[0].text  # type: ignore[union-attr]
    assert started == []


async def test_describe(client: Callable[..., Client]) -> None:
    async with client() as c:
        every = await ask(c, "measure_describe")
        one = await ask(c, "measure_describe", name="matmul-flops")
    assert [tool["name"] for tool in every["tools"]] == list(registry.tools())
    assert one["parameters"] == params.json_schema(registry.find("matmul-flops").params)


async def test_typed_tools_have_the_schema_of_their_parameters(client: Callable[..., Client]) -> None:
    async with client() as c:
        schemas = {tool.name: tool.input_schema for tool in (await c.list_tools()).tools}
    for name in HEADLINE:
        schema = schemas["measure_" + name.replace("-", "_")]
        assert set(schema["properties"]) == {
            *params.json_schema(registry.find(name).params)["properties"],
            "ranks",
            "confirm",
        }
        assert "required" not in schema


async def test_a_typed_tools_parameter_is_described_as_declared(client: Callable[..., Client]) -> None:
    declared = params.json_schema(registry.find("collective-bandwidth").params)["properties"]
    async with client() as c:
        tools = {tool.name: tool.input_schema for tool in (await c.list_tools()).tools}
    shown = tools["measure_collective_bandwidth"]["properties"]
    for name, schema in declared.items():
        assert {key: shown[name].get(key) for key in schema} == schema
