"""The command line: `python -m clusterwright_tools NAME`, the same under torchrun and in the zipapp."""

from __future__ import annotations

import dataclasses
import os
import shlex
import signal
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import Any

import click

from clusterwright_tools import __version__, distributed, locks, params, registry, render
from clusterwright_tools.errors import CannotRun
from clusterwright_tools.progress import Progress

_PROGRAM = "clusterwright_tools"


class _Tools(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(registry.tools())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        return _command(registry.find(cmd_name))


@click.group(cls=_Tools, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name=_PROGRAM)
def cli() -> None:
    """Measure this node. Exit codes: 0 pass or warn, 1 fail, 2 could not run, 3 unknown."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line; what the user can mend becomes one line and exit code 2."""
    try:
        code = cli(args=argv, prog_name=_PROGRAM, standalone_mode=False)
    except click.ClickException as error:
        code = _refuse(error.format_message())
    except CannotRun as error:
        code = _refuse(str(error))
    distributed.leave(code or 0)


def _refuse(message: str) -> int:
    try:
        rank = distributed.launcher().rank
    except CannotRun:
        rank = 0
    click.echo(f"clusterwright: {message}" if rank == 0 else f"clusterwright: rank {rank}: {message}", err=True)
    return 2


def _command(tool: registry.Tool) -> click.Command:
    common = [
        click.Option(
            ["--json", "json_file"], type=click.Path(dir_okay=False, path_type=Path), help="Write the report here."
        ),
        click.Option(["--quiet"], is_flag=True, help="No progress on stderr."),
        click.Option(["--even-if-busy"], is_flag=True, help="Measure although other processes use the device."),
    ]

    def callback(json_file: Path | None, quiet: bool, even_if_busy: bool, **values: Any) -> int:
        given = {name: value for name, value in values.items() if value not in (None, ())}
        if even_if_busy:
            os.environ[locks.EVEN_IF_BUSY] = "1"
        return run(tool, params.parse(tool.params, given), json_file, quiet)

    help = f"{tool.summary}\n\nArea: {tool.area}. Impact: {tool.impact.value}. Usually {tool.seconds:.0f} s."
    return click.Command(tool.name, callback=callback, params=[*params.options(tool.params), *common], help=help)


def run(tool: registry.Tool, parameters: Any, json_file: Path | None, quiet: bool) -> int:
    """Run a measurement in this process; the rank that holds the report prints and saves it. Returns the exit code.

    Raises:
        CannotRun: it cannot be measured here, or the report cannot be written to `json_file`.
    """
    if json_file is not None and not (json_file.parent.is_dir() and os.access(json_file.parent, os.W_OK)):
        raise CannotRun(f"cannot write {json_file}: its folder is missing or not writable")
    progress = Progress(quiet, distributed.launcher().rank)
    _stop_on_interrupt(progress)
    started, begin = datetime.now(timezone.utc), time.monotonic()
    report = tool.run(parameters, progress)
    if report is None:
        return 0
    report = dataclasses.replace(
        report,
        tool=tool.name,
        parameters=dataclasses.asdict(parameters),
        command=shlex.join([_PROGRAM, tool.name, *params.arguments(parameters)]),
        started=started.isoformat(timespec="seconds").replace("+00:00", "Z"),
        seconds=round(time.monotonic() - begin, 3),
    )
    if json_file is not None:
        report.save(json_file)
    click.echo(render.text(report))
    return report.status.exit_code


def _stop_on_interrupt(progress: Progress) -> None:
    def interrupted(number: int, frame: FrameType | None) -> None:
        progress.stop()
        # A second Ctrl-C ends it at once.
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, interrupted)
