"""`clusterwright eval`: how often the search answers a set of questions."""

import json
from pathlib import Path
from typing import Any, Literal

import click

from clusterwright.cli import building


@click.group("eval")
def evaluate() -> None:
    """Measure the quality of the search."""


@evaluate.command()
@click.argument("questions", type=click.Path(path_type=Path))
@click.option("--mode", type=click.Choice(["hybrid", "lexical", "dense"]), default="hybrid", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def retrieval(questions: Path, mode: Literal["hybrid", "lexical", "dense"], as_json: bool) -> None:
    """Share of QUESTIONS (JSON lines) that the first 1, 3, 5 and 10 results answer, within 500 to 3,000 words."""
    from clusterwright.retrieval import evaluate as evaluation
    from clusterwright.retrieval.search import Searcher

    asked = evaluation.load(questions)
    with building.progress() as progress:
        searcher = Searcher(progress=progress)
        figures = evaluation.evaluate(
            asked,
            lambda query: searcher.search(
                query, limit=evaluation.LIMIT, max_tokens=evaluation.MAX_TOKENS, mode=mode, wait=True
            ),
        )
    if as_json:
        click.echo(json.dumps(figures, ensure_ascii=False, indent=2))
    else:
        _show(figures)


def _show(figures: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("", "questions", *figures["answered"], box=None)
    groups = {**figures["by_source"], **figures["by_area"]}
    for name, row in (("all", {"questions": figures["questions"], **figures["answered"]}), *groups.items()):
        table.add_row(name or "-", str(row["questions"]), *(f"{row[at]:.3f}" for at in figures["answered"]))
    console = Console()
    console.print(table)
    console.print(f"\nmode: {', '.join(figures['modes'])}. Not answered by the first 5 results:", highlight=False)
    for miss in figures["missed"]:
        console.print(f"{miss['id']}  {miss['query']}", markup=False, overflow="ellipsis", no_wrap=True)
