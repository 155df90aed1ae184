"""`clusterwright run NAME`: measure on this machine. The options come from the measurement's own parameters."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from clusterwright import jobs
from clusterwright.cli.job import conclude, follow
from clusterwright.errors import UserError
from clusterwright_tools import params, registry


class _Measurements(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(registry.tools())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        return _command(registry.find(cmd_name))


@click.group(cls=_Measurements)
def run() -> None:
    """Measure on this machine. Exit codes: 0 pass or warn, 1 fail, 2 could not run, 3 unknown.

    Ctrl-C ends the measurement and gives the results so far; a second one ends it at once.
    """


def _command(tool: registry.Tool) -> click.Command:
    common = [
        click.Option(["--ranks"], type=click.IntRange(min=1), help="Processes to start. Default: as the tool needs."),
        click.Option(
            ["--json", "json_file"],
            type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
            help="Write the report to this file; `-` prints it as JSON instead of text.",
        ),
        click.Option(["--limit"], type=click.FloatRange(min=1), help="Seconds after which it is ended."),
        click.Option(["--python"], default="", help="The Python that measures. Default: measure.python, else ours."),
        click.Option(["--even-if-busy"], is_flag=True, help="Measure although other processes use the device."),
        click.Option(["--detach"], is_flag=True, help="Print the job's id and return at once."),
        click.Option(["--quiet"], is_flag=True, help="No progress on stderr."),
    ]

    @click.pass_context
    def callback(context: click.Context, /, json_file: Path | None, quiet: bool, detach: bool, **given: Any) -> None:
        how = {name: given.pop(name) for name in ("ranks", "limit", "python", "even_if_busy")}
        values = {name: value for name, value in given.items() if value not in (None, ())}
        context.exit(_run(tool, params.parse(tool.params, values), how, json_file, quiet, detach))

    help = f"{tool.summary}\n\nArea: {tool.area}. Impact: {tool.impact.value}. Usually {tool.seconds:.0f} s."
    return click.Command(tool.name, callback=callback, params=[*params.options(tool.params), *common], help=help)


def _run(
    tool: registry.Tool, parameters: object, how: dict[str, Any], json_file: Path | None, quiet: bool, detach: bool
) -> int:
    printed = json_file == Path("-")
    if json_file is not None and not printed and not os.access(json_file.absolute().parent, os.W_OK | os.X_OK):
        raise UserError(f"cannot write {json_file}: its folder is missing or not writable")
    with _signals() as interrupts:
        job = jobs.start(tool, parameters, **how)
        if how["limit"] and job.limit < how["limit"]:
            click.echo(f"ended after {job.limit:g} s at the latest (measure.limit_seconds)", err=True)
        if detach:
            click.echo(job.id)
            return 0
        if not quiet:
            click.echo(f"job {job.id}", err=True)
        finished = follow(job.id, quiet, interrupts=interrupts)
    if json_file is not None and not printed and finished.reported:
        jobs.report(job.id).save(json_file)
    return conclude(finished, printed)


@contextlib.contextmanager
def _signals() -> Iterator[list[int]]:
    """Collects the signals that ask us to end; a signal that was ignored (nohup) stays ignored."""
    told: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, lambda got, frame: told.append(got))
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
