"""`clusterwright search`: the passages that answer a question."""

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import click

from clusterwright.cli import building
from clusterwright.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from clusterwright.retrieval.search import Answer, Result


@click.command()
@click.argument("query", nargs=-1)
@click.option("--limit", default=5, show_default=True, help="At most this many sections.")
@click.option("--max-tokens", default=4500, show_default=True, help="Budget for the text of all sections together.")
@click.option("--mode", type=click.Choice(["hybrid", "lexical", "dense"]), default="hybrid", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--stdin", "lines", is_flag=True, help="Read one query a line; print one JSON object a line.")
@click.option("--stdin-json", "json_lines", is_flag=True, help="The same, each line a JSON string.")
def search(
    query: tuple[str, ...],
    limit: int,
    max_tokens: int,
    mode: Literal["hybrid", "lexical", "dense"],
    as_json: bool,
    lines: bool,
    json_lines: bool,
) -> None:
    """Find the sections that answer QUERY: a question, a symptom, or a pasted log (`-` reads it from stdin)."""
    from clusterwright.retrieval.search import Searcher

    many = lines or json_lines
    if many and query:
        raise UserError("give a query or --stdin, not both")
    with building.progress() as progress:
        searcher = Searcher(progress=progress)

        def ask(text: str) -> "Answer":
            return searcher.search(text, limit=limit, max_tokens=max_tokens, mode=mode, wait=True)

        if many:
            for text in _queries(sys.stdin, json_lines):
                try:
                    record = ask(text).to_dict()
                except UserError as error:  # one object a line, so that answers stay beside their queries
                    record = {"query": text, "error": str(error)}
                click.echo(json.dumps(record, ensure_ascii=False))
                sys.stdout.flush()
            return
        answer = ask(sys.stdin.read() if query == ("-",) else " ".join(query))
    if as_json:
        click.echo(json.dumps(answer.to_dict(), ensure_ascii=False, indent=2))
    else:
        _show(answer)


def _queries(stream: Iterable[str], as_json: bool) -> Iterable[str]:
    for number, line in enumerate(stream, start=1):
        if not as_json:
            yield line.rstrip("\n")
            continue
        try:
            text = json.loads(line)
        except ValueError as error:
            raise UserError(f"line {number} of stdin is not valid JSON ({error})") from error
        if not isinstance(text, str):
            raise UserError(f"line {number} of stdin is not a JSON string")
        yield text


def _show(answer: "Answer") -> None:
    from rich.console import Console

    if answer.note:
        click.echo(f"note: {answer.note}", err=True)
    console = Console()
    for result in answer.results:
        _show_result(console, result)
    if answer.truncated:
        console.print("More was found than the budget holds; raise --max-tokens.", style="dim")


def _show_result(console: "Console", result: "Result") -> None:
    from rich.markdown import Markdown
    from rich.text import Text

    console.print(Text(f"{result.id}  (reviewed {result.reviewed})", style="dim"), soft_wrap=True)
    console.print(Markdown(result.text))
    for source in result.sources:
        console.print(
            Text(f"[^{source.key}] {source.title} {source.url or source.measured}", style="dim"), soft_wrap=True
        )
    for measurement in result.measurements:
        console.print(Text(f"measure it: {measurement.command}", style="green"), soft_wrap=True)
    console.print()
