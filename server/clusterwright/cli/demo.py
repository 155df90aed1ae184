"""`clusterwright demo`: ask, measure, verdict, through a real MCP client and this machine's own server."""

import asyncio
import os
import re
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

import click

from clusterwright.errors import UserError

T = TypeVar("T")
_QUESTION = "torchrun waits at start-up: which ranks or hosts never joined?"
_WAIT = 50


@click.command()
@click.option("--question", default=_QUESTION, show_default=True, help="What to ask.")
def demo(question: str) -> None:
    """Show the main job once: a question, its passages, the measurement, the verdict and what it cites."""
    run_client(_demo(question))


def run_client(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that holds an MCP client; what the user can mend comes out of the client's groups of errors."""
    try:
        return asyncio.run(work)
    except* UserError as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


async def _demo(question: str) -> None:
    from mcp import Client, StdioServerParameters

    from clusterwright_tools import registry

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "clusterwright", "serve"], env=server_environment()
    )
    async with Client(server) as client:
        _say("1. Ask", f'search: "{question}"')
        found = await _call(client, "search", query=question, limit=2)
        click.echo(f"   mode: {found['mode']}" + (f" ({found['note']})" if found["note"] else ""))
        for result in found["results"]:
            click.echo(f"   {result['heading']}\n   id {result['id']}, reviewed {result['reviewed']}")
            click.echo(_indent(result["text"], 6))
            for source in result["sources"][:2]:
                click.echo(f"   source: {source['title']} {source['url'] or source['measured']}")
        _say("2. Measure", "measure_preflight: is this set of processes fit for a job?")
        started = await _call(client, "measure_preflight", confirm=True)
        if not started["started"]:
            raise UserError(f"the measurement did not start: {started['reason']}")
        job = await _call(client, "job_wait", job_id=started["job_id"], seconds=_WAIT)
        while "report" not in job:
            if job.get("next") != "job_wait":
                raise UserError(f"the measurement did not finish: {job['state']} {job.get('reason', '')}")
            click.echo(f"   {job['progress'] or job['state']}")
            job = await _call(client, "job_wait", job_id=started["job_id"], seconds=_WAIT)
        report = job["report"]
        _say("3. Verdict", f"{report['status'].upper()}: {report['summary']}")
        for metric in report["metrics"][:6]:
            at = " ".join(map(str, metric["at"].values()))
            click.echo(f"   {metric['name']} {at}: {metric['value']:.4g} {metric['unit']}")
        for skipped in report["skipped"]:
            click.echo(f"   not checked: {skipped['check']}: {skipped['reason']}")
        _say("4. What it cites", "the sections that say what to do about it")
        cited = [finding["section"] for finding in report["findings"]] or list(registry.find("preflight").chapters)
        for section in dict.fromkeys(cited):
            page = await _call(client, "read", id=section)
            click.echo(f"   {page['heading']}\n   id {section}")
            click.echo(_indent(page["text"], 4))


async def _call(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments, read_timeout_seconds=120)
    if answer.is_error:
        raise UserError(answer.content[0].text)
    data: dict[str, Any] = answer.structured_content
    return data


def server_environment() -> dict[str, str]:
    """What the SDK's client would not pass on: our own settings."""
    return {name: value for name, value in os.environ.items() if name.startswith("CLUSTERWRIGHT_")}


def _say(title: str, text: str) -> None:
    click.secho(f"\n{title}", bold=True)
    click.echo(f"   {text}")


def _indent(text: str, lines: int) -> str:
    """The first lines of a section's prose, without its heading, fences and blank lines."""
    prose = re.sub(r"^#.*$|```.*?```", "", text, flags=re.MULTILINE | re.DOTALL)
    kept = [line for line in prose.splitlines() if line.strip()][:lines]
    return "\n".join(f"      {line[:150]}" for line in kept)
