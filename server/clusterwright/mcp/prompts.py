"""The troubleshooting prompt, and completions for names."""

from typing import Annotated, Any

from mcp.server import MCPServer
from mcp_types import Completion, CompletionArgument, CompletionContext, PromptReference, ResourceTemplateReference
from pydantic import Field

from clusterwright.mcp.app import App
from clusterwright_tools import registry, tables

_MOST = 100  # the specification's limit of values in one completion


def register(server: MCPServer[Any], app: App) -> None:
    """Put the prompt and the completions on the server."""

    @server.prompt(title="Troubleshoot a job or node")
    def troubleshoot(
        symptom: Annotated[str, Field(description="What is seen: slow, stuck, an error line")],
        hardware: Annotated[str, Field(description="GPU model and number of nodes, if known")] = "",
    ) -> str:
        """Work from a symptom to a measured cause: search, measure, verdict, next step."""
        where = f" The hardware: {hardware}." if hardware else ""
        return (
            f"Find out why this happens: {symptom}.{where}\n\n"
            "1. Call `search` with the symptom or log line as it is, then once for each cause that the passages name.\n"
            "2. Say which causes fit and which a measurement would tell apart; quote passages with their source.\n"
            "3. Offer the measurement that separates them best, with duration and impact; run it if the user agrees.\n"
            "4. Read the report: status, findings, what was skipped. Skipped is no pass, and `unknown` is no verdict.\n"
            "5. Answer with the cause, the evidence (figure, ceiling, source), the next step, and what is still open."
        )

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        found = [name for name in _names(app, argument.name) if argument.value.lower() in name.lower()]
        return Completion(values=found[:_MOST], total=len(found), has_more=len(found) > _MOST)


def _names(app: App, argument: str) -> list[str]:
    if argument == "hardware":
        return [row["name"] for row in tables.rows("accelerators")]
    if argument == "chapter":
        return [chapter.id for chapter in app.book]
    if argument == "tool":
        return list(registry.tools())
    return []
