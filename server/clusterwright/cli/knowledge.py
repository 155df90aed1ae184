"""`clusterwright knowledge lint`, `clusterwright read` and `clusterwright lookup`."""

import json
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from clusterwright import paths

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def knowledge() -> None:
    """Work on chapters and tables."""


@knowledge.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@_JSON
def lint(folder: Path | None, as_json: bool) -> None:
    """Check chapters and tables. Exit code 1 when something has to be mended."""
    from clusterwright.knowledge import lint as checks

    root = folder or paths.shipped("knowledge")
    problems = checks.lint(root)
    failed = checks.failures(problems)
    if as_json:
        click.echo(json.dumps({"problems": [problem.to_dict() for problem in problems]}, indent=2))
    else:
        for problem in problems:
            click.echo(str(problem))
        counted = f"{len(failed)} problems, {len(problems) - len(failed)} warnings"
        click.echo(counted if problems else "the knowledge folder is clean")
    sys.exit(1 if failed else 0)


@click.command()
@click.argument("id")
@_JSON
def read(id: str, as_json: bool) -> None:
    """Read a section, a chapter or a row of a table by its ID, e.g. network/collectives."""
    from clusterwright.knowledge import lookup, reference

    page = lookup.page(reference.library(paths.shipped("knowledge")), id)
    if as_json:
        click.echo(json.dumps(page.to_dict(), indent=2, ensure_ascii=False))
        return
    console = Console(highlight=False)
    # Piped, the Markdown itself is what one wants.
    console.print(Markdown(page.text)) if console.is_terminal else click.echo(page.text)
    for source in page.sources:
        click.echo(f"[^{source.key}] {source.title} {source.url or source.measured}")
    for measurement in page.measurements:
        click.echo(f"measure: {measurement.command}")


@click.command(name="lookup")
@click.argument("name")
@click.option("--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="Rows to show.")
@_JSON
def lookup(name: str, limit: int, as_json: bool) -> None:
    """Look up a row of any table: a GPU, a link, an Xid, a variable, a threshold, a term."""
    from clusterwright.knowledge import lookup as look_up
    from clusterwright.knowledge.directive import label

    rows = look_up.rows(name, limit)
    if as_json:
        click.echo(json.dumps({"rows": [row.to_dict() for row in rows]}, indent=2, ensure_ascii=False))
        return
    if not rows:
        click.echo(f"no row for {name!r}; try: clusterwright search {name!r}", err=True)
        sys.exit(1)
    console = Console(highlight=False, markup=False, emoji=False)
    for number, row in enumerate(rows):
        cells = [(label(column), cell) for column, cell in row.cells.items()]
        cells += [("source", row.source), ("checked on", row.checked_on)]
        if console.is_terminal:
            table = Table(title=f"{row.table}: {row.key}", show_header=False, title_justify="left")
            table.add_column()
            table.add_column(overflow="fold")  # ids and addresses are to be copied
            for cell in cells:
                table.add_row(*cell)
            console.print(table)
        else:
            click.echo("\n" * (number > 0) + f"{row.table}: {row.key}")
            click.echo("\n".join(f"  {name}: {cell}" for name, cell in cells if cell))
