"""The knowledge tools: search, read, lookup."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server import MCPServer
from mcp_types import CallToolResult
from pydantic import Field

from clusterwright.mcp.app import App
from clusterwright.mcp.results import READ_ONLY, both

if TYPE_CHECKING:
    from clusterwright.retrieval.search import Answer

_MAX_TOKENS = 12_000


def register(server: MCPServer[Any], app: App) -> None:
    """Put the knowledge tools on the server."""

    @server.tool(title="Search the chapters", annotations=READ_ONLY)
    def search(
        query: Annotated[str, Field(description="A question, a symptom, a quantity, or pasted log lines")],
        limit: Annotated[int, Field(description="Sections to return, at most 20")] = 5,
        max_tokens: Annotated[int, Field(description=f"Budget of the whole answer, at most {_MAX_TOKENS}")] = 4500,
        mode: Annotated[
            Literal["hybrid", "lexical", "dense"], Field(description="hybrid unless you know better")
        ] = "hybrid",
    ) -> CallToolResult:
        """Find the sections that answer a question about training or serving large models on real machines.

        Each result has its text, sources, review date, a stable id for `read`, and the measurements that would settle
        the question on this machine. One question a call.
        """
        answer = app.searcher.search(query, limit=limit, max_tokens=_budget(max_tokens), mode=mode)
        return both(_search_text(answer), answer.to_dict())

    @server.tool(title="Read a section or chapter", annotations=READ_ONLY)
    def read(
        id: Annotated[str, Field(description="An id from search, e.g. network/collectives#…, or a chapter id")],
        offset: Annotated[int, Field(ge=0, description="First character to return, to page on")] = 0,
        max_tokens: Annotated[int, Field(description=f"Budget, at most {_MAX_TOKENS}")] = 6000,
    ) -> CallToolResult:
        """Read a section, or a whole chapter with the list of its sections, by its id."""
        page = app.page(id).to_dict()
        size = 4 * _budget(max_tokens)
        whole = page["text"]
        page["text"] = whole[offset : offset + size]
        page["truncated"] = offset + size < len(whole)
        page["next_offset"] = offset + size if page["truncated"] else None
        return both(page["text"], page)

    @server.tool(title="Look up a reference row", annotations=READ_ONLY)
    def lookup(
        name: Annotated[
            str, Field(min_length=1, description="A GPU, link, Xid, environment variable, threshold or term")
        ],
        limit: Annotated[int, Field(ge=1, le=20, description="Rows to return")] = 5,
    ) -> CallToolResult:
        """Exact figures with their source: accelerators, interconnects, Xid codes, variables, thresholds, terms."""
        from clusterwright.knowledge.lookup import rows as look_up

        rows = [row.to_dict() for row in look_up(name, limit)]
        note = "" if rows else f"no row for {name!r}; try search"
        lines = [
            f"{row['table']}: {row['key']}: " + "; ".join(f"{k}: {v}" for k, v in row["cells"].items()) for row in rows
        ]
        return both("\n\n".join(lines) or note, {"rows": rows, "note": note})


def _budget(tokens: int) -> int:
    return min(max(tokens, 200), _MAX_TOKENS)


def _search_text(answer: "Answer") -> str:
    parts = [f"mode: {answer.mode}" + (f" ({answer.note})" if answer.note else "")]
    for result in answer.results:
        sources = "; ".join(source.url or source.title for source in result.sources)
        commands = "\n".join(f"measure: {one.command}" for one in result.measurements)
        parts.append(
            f"id: {result.id} (reviewed {result.reviewed})\n\n{result.text}\n\n"
            + (f"sources: {sources}\n" if sources else "")
            + commands
        )
    return "\n\n".join(parts)
