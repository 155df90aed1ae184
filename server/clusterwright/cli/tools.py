"""`clusterwright tools …`: which measurements there are, and the one file that holds them for other machines."""

from pathlib import Path
from typing import Any

import click

from clusterwright.cli.job import print_json
from clusterwright.jobs import bundle as bundles
from clusterwright_tools import params, registry

_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def tools() -> None:
    """List the measurements, or bundle them for another machine."""


@tools.command("list")
@_json
def list_tools(as_json: bool) -> None:
    """All measurements, with what running them takes."""
    found = registry.tools().values()
    if as_json:
        print_json([_data(tool) for tool in found])
        return
    width = max(len(tool.name) for tool in found)
    for tool in found:
        click.echo(f"{tool.name:<{width}}  {tool.summary} [{tool.area}; {tool.impact.value}; {tool.seconds:.0f} s]")


@tools.command()
@click.argument("name")
@_json
def describe(name: str, as_json: bool) -> None:
    """One measurement: its parameters, duration, impact and chapters."""
    tool = registry.find(name)
    if as_json:
        print_json(_data(tool))
        return
    command = click.Command(f"clusterwright run {tool.name}", params=list(params.options(tool.params)))
    click.echo(f"{tool.name}: {tool.summary}\n")
    click.echo(f"area {tool.area}; impact: {tool.impact.value}; usually {tool.seconds:.0f} s; runs {tool.launch.value}")
    for chapter in tool.chapters:
        click.echo(f"read: clusterwright read {chapter}")
    click.echo("\n" + command.get_help(click.Context(command, info_name=command.name)))


@tools.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("clusterwright-tools.pyz"),
    show_default=True,
    help="The file to write.",
)
def bundle(output: Path) -> None:
    """Write all measurements into one file that any Python 3.10 or newer runs, also under torchrun."""
    bundles.save(output)
    click.echo(f"{output}: python {output} --help")


def _data(tool: registry.Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "summary": tool.summary,
        "area": tool.area,
        "launch": tool.launch.value,
        "impact": tool.impact.value,
        "seconds": tool.seconds,
        "chapters": list(tool.chapters),
        "parameters": params.json_schema(tool.params)["properties"],
    }
