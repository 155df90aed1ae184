"""`clusterwright job …` and `clusterwright report …`: what runs, what ran, and what came of it."""

import itertools
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from clusterwright import jobs
from clusterwright.errors import UserError
from clusterwright.jobs import Job
from clusterwright_tools import render
from clusterwright_tools.report import Report

_LOOK = 0.2
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def job() -> None:
    """Look after measurements that run as jobs."""


@job.command("list")
@_json
def list_jobs(as_json: bool) -> None:
    """All jobs that are kept, the newest first."""
    found = jobs.listed()
    if as_json:
        print_json([one.to_dict() for one in found])
        return
    for one in found:
        click.echo(f"{one.id:<40} {one.state:<10} {one.created[:19]}Z {one.seconds:>8.1f} s  {_remark(one)}".rstrip())
    if not found:
        click.echo("no jobs yet; start one with: clusterwright run NAME", err=True)


@job.command()
@click.argument("id")
@_json
def status(id: str, as_json: bool) -> None:
    """Where a job stands."""
    found = jobs.get(id)
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(_line(found))


@job.command()
@click.argument("id")
@click.option("--seconds", type=click.FloatRange(min=0), help="Wait no longer than this.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@_json
@click.pass_context
def wait(context: click.Context, id: str, seconds: float | None, quiet: bool, as_json: bool) -> None:
    """Wait for a job, and print its report. Exit code as for `run`; 3 when it is not finished in time."""
    found = follow(id, quiet, math.inf if seconds is None else seconds)
    if found.finished:
        context.exit(conclude(found, as_json))
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(_line(found))
    context.exit(3)


@job.command()
@click.argument("id")
@click.option("--lines", type=click.IntRange(min=0), help="Only so many of the last lines.")
@_json
def log(id: str, lines: int | None, as_json: bool) -> None:
    """What a job's processes printed."""
    text = jobs.log(id, lines)
    if as_json:
        print_json({"id": id, "log": text})
    else:
        click.echo(text, nl=False)


@job.command("report")
@click.argument("id")
@_json
def job_report(id: str, as_json: bool) -> None:
    """The report of a job; of a cancelled one, the results so far."""
    print_report(jobs.report(id), as_json)


@job.command()
@click.argument("id")
@click.option("--force", is_flag=True, help="End it at once, without results.")
@_json
def cancel(id: str, force: bool, as_json: bool) -> None:
    """Ask a job to wind up; what does not in 10 seconds is ended."""
    found = jobs.cancel(id, force=force)
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(_line(found))


@click.group()
def report() -> None:
    """Read reports of measurements."""


@report.command()
@click.argument("id_or_file")
@_json
def show(id_or_file: str, as_json: bool) -> None:
    """A report, by the id of its job or by its file."""
    path = Path(id_or_file)
    is_file = path.is_file() or path.suffix == ".json" or len(path.parts) > 1
    print_report(jobs.load_report(path) if is_file else jobs.report(id_or_file), as_json)


@report.command("list")
@_json
def list_reports(as_json: bool) -> None:
    """Reports of the jobs that are kept, the newest first."""
    found = [(one, jobs.report(one.id)) for one in jobs.listed() if one.reported]
    if as_json:
        print_json(
            [{"id": one.id, **{k: getattr(r, k) for k in ("tool", "status", "summary", "started")}} for one, r in found]
        )
        return
    for one, read in found:
        click.echo(f"{one.id:<40} {read.status.value:<8} {read.started}  {read.summary}")
    if not found:
        click.echo("no reports yet; make one with: clusterwright run NAME", err=True)


def follow(id: str, quiet: bool, seconds: float = math.inf, interrupts: Sequence[int] = ()) -> Job:
    """Show a job's progress on stderr until it is finished or the time is up.

    Each signal that appears in `interrupts` meanwhile cancels the job, every one after the first by force.
    """
    end, heeded = time.monotonic() + seconds, 0
    shown: tuple[str, float | None] | None = None
    while True:
        found = jobs.wait(id, max(0.0, min(_LOOK, end - time.monotonic())))
        if found.progress and (found.progress, found.fraction) != shown and not quiet:
            shown = found.progress, found.fraction
            click.echo(_progress(found), err=True)
        if found.finished or time.monotonic() >= end:
            return found
        for _ in itertools.islice(interrupts, heeded, None):
            jobs.cancel(id, force=heeded > 0)
            heeded += 1


def conclude(found: Job, as_json: bool) -> int:
    """Print the report of a finished job; returns the exit code.

    Raises:
        UserError: it has none; the message is the one line that says why.
    """
    if not found.reported:
        raise UserError(found.reason)
    read = jobs.report(found.id)
    print_report(read, as_json)
    if found.reason:
        click.echo(f"clusterwright: {found.id}: {found.reason}; the results so far are shown", err=True)
    return read.status.exit_code


def print_report(read: Report, as_json: bool) -> None:
    """Print a report for people, or as JSON."""
    click.echo(read.to_json() if as_json else render.text(read), nl=not as_json)


def print_json(data: Any) -> None:
    """Print data as indented JSON."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def _line(found: Job) -> str:
    return f"{found.id}: {found.state}, {found.seconds:.1f} s; {_remark(found)}".rstrip("; ")


def _remark(found: Job) -> str:
    if found.stopping:
        return "winding up"
    return found.reason if found.finished else _progress(found)


def _progress(found: Job) -> str:
    if not found.progress:
        return ""
    share = "" if found.fraction is None else f" {found.fraction:4.0%}"
    return f"[{found.seconds:5.1f} s{share}] {found.progress}"
