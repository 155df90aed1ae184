"""Chapters and reports as resources."""

from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError

from clusterwright import jobs
from clusterwright.errors import UserError
from clusterwright.mcp.app import App


def register_chapters(server: MCPServer[Any], app: App) -> None:
    """`clusterwright://chapter/{part}/{name}`: a whole chapter as Markdown."""

    @server.resource("clusterwright://chapters", title="List of chapters", mime_type="text/markdown")
    def chapters() -> str:
        """Every chapter with its id and summary."""
        return "\n".join(f"- {one.id}: {one.title}. {one.summary}" for one in app.book)

    @server.resource("clusterwright://chapter/{part}/{chapter}", title="A chapter", mime_type="text/markdown")
    def chapter(part: str, chapter: str) -> str:
        """A chapter by its id."""
        try:
            return app.page(f"{part}/{chapter}").text
        except UserError as error:
            raise ResourceNotFoundError(str(error)) from error


def register_reports(server: MCPServer[Any]) -> None:
    """`clusterwright://report/{job}`: the report of a finished job as JSON."""

    @server.resource("clusterwright://report/{job}", title="A report", mime_type="application/json")
    def report(job: str) -> str:
        """The report of a job."""
        try:
            return jobs.report(job).to_json()
        except UserError as error:
            raise ResourceNotFoundError(str(error)) from error
