"""The measurement tools: the headline ones with their own parameters, and describe and start for all."""

import inspect
from collections.abc import Mapping
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import CallToolResult
from pydantic import Field, WithJsonSchema

from clusterwright import jobs
from clusterwright.mcp.app import App
from clusterwright.mcp.consent import Consent, can_ask, consent
from clusterwright.mcp.results import READ_ONLY, STARTS_WORK, both
from clusterwright_tools import params, registry

HEADLINE = ("matmul-flops", "collective-bandwidth", "preflight")
_CONFIRM = "true once the user agreed; asked of the user instead where the client can"
_RANKS = "processes to start; 0: one per device, or two on the CPU"
_AFTERWARDS = "Returns a job id at once: call job_wait until it is finished."


def register(server: MCPServer[Any], app: App) -> None:
    """Put the measurement tools on the server."""
    _register_describe(server)
    if app.read_only:
        return
    _register_start(server, app)
    for name in HEADLINE:
        _register_typed(server, app, registry.find(name))


def _register_describe(server: MCPServer[Any]) -> None:
    @server.tool(title="Describe a measurement", annotations=READ_ONLY)
    def measure_describe(
        name: Annotated[str, Field(description="A measurement's name; empty lists them all")] = "",
    ) -> CallToolResult:
        """What a measurement does, its parameters, duration and impact."""
        if not name:
            listed = [_brief(tool) for tool in registry.tools().values()]
            return both("\n".join(f"{one['name']}: {one['summary']}" for one in listed), {"tools": listed})
        tool = registry.find(name)
        data = _brief(tool) | {"parameters": params.json_schema(tool.params), "chapters": list(tool.chapters)}
        lines = [f"{field.name}: {field.text}" for field in params.fields(tool.params)]
        return both(f"{tool.name}: {tool.summary}\n" + "\n".join(lines), data)


def _register_start(server: MCPServer[Any], app: App) -> None:
    def ask(name: str, confirm: bool, ctx: Context[Any, Any]) -> Consent | Elicit[Consent]:
        return consent(registry.find(name), confirm, ctx)

    @server.tool(
        title="Start a measurement",
        annotations=STARTS_WORK,
        description=f"Start any measurement by name, as search results name them. {_AFTERWARDS}",
    )
    def measure_start(
        name: Annotated[str, Field(description="The measurement's name")],
        ctx: Context[Any, Any],
        agreed: Annotated[ElicitationResult[Consent], Resolve(ask)],
        parameters: Annotated[dict[str, Any] | None, Field(description="As measure_describe lists them")] = None,
        ranks: Annotated[int, Field(ge=0, le=1024, description=_RANKS)] = 0,
        confirm: Annotated[bool, Field(description=_CONFIRM)] = False,
    ) -> CallToolResult:
        return _start(app, registry.find(name), parameters or {}, ranks, agreed, ctx)


def _register_typed(server: MCPServer[Any], app: App, tool: registry.Tool) -> None:
    """One tool whose arguments are the measurement's own parameters, taken from its dataclass."""
    name = "measure_" + tool.name.replace("-", "_")

    def ask(confirm: bool, ctx: Context[Any, Any]) -> Consent | Elicit[Consent]:
        return consent(tool, confirm, ctx)

    def call(**given: Any) -> CallToolResult:
        ctx, agreed, ranks = given.pop("ctx"), given.pop("agreed"), given.pop("ranks")
        del given["confirm"]
        values = {key: value for key, value in given.items() if value != own[key][1]}
        return _start(app, tool, values, ranks, agreed, ctx)

    fixed = {
        "ranks": (Annotated[int, Field(ge=0, le=1024, description=_RANKS)], 0),
        "confirm": (Annotated[bool, Field(description=_CONFIRM)], False),
    }
    hidden = {"ctx": Context[Any, Any], "agreed": Annotated[ElicitationResult[Consent], Resolve(ask)]}
    # `params.parse` validates, so that every road into a measurement gives the same messages.
    schemas = params.json_schema(tool.params)["properties"]
    own = {
        field.name: (Annotated[Any, WithJsonSchema(schemas[field.name])], field.default)
        for field in params.fields(tool.params)
    }
    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = [inspect.Parameter(key, keyword, annotation=kind) for key, kind in hidden.items()]
    signature += [
        inspect.Parameter(key, keyword, annotation=kind, default=value) for key, (kind, value) in (own | fixed).items()
    ]
    call.__signature__ = inspect.Signature(signature, return_annotation=CallToolResult)  # type: ignore[attr-defined]
    call.__annotations__ = {
        **hidden,
        **{key: kind for key, (kind, _) in (own | fixed).items()},
        "return": CallToolResult,
    }
    call.__qualname__ = name
    description = f"{tool.summary} Usually {tool.seconds:.0f} s; {tool.impact.value}. {_AFTERWARDS}"
    server.add_tool(call, name=name, title=tool.name, description=description, annotations=STARTS_WORK)


def _start(
    app: App,
    tool: registry.Tool,
    values: Mapping[str, Any],
    ranks: int,
    agreed: ElicitationResult[Consent],
    context: Context[Any, Any],
) -> CallToolResult:
    parsed: object = params.parse(tool.params, values)
    plan = _brief(tool) | {"arguments": dict(values)}
    if not (isinstance(agreed, AcceptedElicitation) and agreed.data.run):
        if can_ask(context):
            return both(f"not run: the user declined {tool.name}", {"started": False, "reason": "the user declined"})
        reason = "it loads the machine: ask the user, then call again with confirm=true"
        return both(f"not run yet: {reason}", {"started": False, "reason": reason, "plan": plan})
    job = jobs.start(tool, parsed, ranks=ranks or None, config=app.config)
    text = f"started {job.id}: about {tool.seconds:.0f} s; call job_wait with this id"
    return both(text, {"started": True, "job_id": job.id, "plan": plan, "next": "job_wait"})


def _brief(tool: registry.Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "summary": tool.summary,
        "area": tool.area,
        "seconds": tool.seconds,
        "impact": tool.impact.value,
    }
