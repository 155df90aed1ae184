"""The `clusterwright` command. Each verb lives in a module of its own and is imported only when it is used."""

import importlib
import sys

import click

from clusterwright import __version__
from clusterwright.errors import UserError
from clusterwright_tools.errors import CannotRun

_VERBS = {
    "search": "search:search",
    "read": "knowledge:read",
    "lookup": "knowledge:lookup",
    "knowledge": "knowledge:knowledge",
    "index": "index:index",
    "eval": "evaluate:evaluate",
    "tools": "tools:tools",
    "run": "run:run",
    "job": "job:job",
    "report": "job:report",
    "serve": "serve:serve",
    "doctor": "doctor:doctor",
    "demo": "demo:demo",
}


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _VERBS:
            return None
        module, name = _VERBS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(f"clusterwright.cli.{module}"), name)
        return command


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="clusterwright")
def cli() -> None:
    """Ask about training and serving large models, measure on this machine, get a verdict."""


def main() -> None:
    """Entry point: errors that the user can mend become one line and exit code 2."""
    try:
        cli(prog_name="clusterwright")
    except (UserError, CannotRun) as error:
        click.echo(f"clusterwright: {error}", err=True)
        sys.exit(2)
