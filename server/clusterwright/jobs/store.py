"""Jobs on disk: one folder each, found again by any later process of the same user."""

import contextlib
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright import paths
from clusterwright.errors import UserError
from clusterwright.jobs import files, output, processes
from clusterwright.jobs.files import State
from clusterwright.jobs.job import Job, look
from clusterwright_tools.report import Report

if TYPE_CHECKING:
    from clusterwright.jobs.launch import Plan

GRACE = 10.0
"""Seconds in which a measurement may wind up before it is ended."""
KEPT = 200
"""Finished jobs beyond these are deleted, the oldest first."""
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,60}-[a-z2-9]{10}")
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
_POLL = 0.1


class NoReport(UserError):
    """The job has no report, or none yet."""


def new_folder(tool: str) -> Path:
    """Where a new job of this measurement will live; the name is the job's id, which cannot be guessed."""
    return _root() / f"{tool}-{''.join(secrets.choice(_LETTERS) for _ in range(10))}"


def create(
    folder: Path, tool: str, parameters: Mapping[str, Any], plan: "Plan", limit: float, grace: float = GRACE
) -> Job:
    """Write the job down and start its supervisor. The environment is handed over in memory, never written.

    The job is asked to stop after `limit` seconds, and ended `grace` seconds later if it has not.

    Raises:
        UserError: the job cannot be written, or no process can be started.
    """
    spec = {"tool": tool, "parameters": parameters, "argv": plan.argv, "ranks": plan.ranks, "cpu": plan.cpu}
    spec |= {"limit": limit, "grace": grace}
    try:
        folder.mkdir(mode=0o700)
        files.write(folder / files.SPEC, {**spec, "here": processes.here(), "created": time.time()})
        with (folder / files.TROUBLE).open("wb") as trouble:
            files.write(folder / files.STATE, {"state": State.QUEUED})
            # It detaches and leaves at once. -P keeps the folder that it runs in off its path.
            subprocess.run(
                [sys.executable, "-P", "-m", "clusterwright.jobs.supervisor", str(folder)],
                cwd=folder,
                env=dict(plan.environment),
                stdin=subprocess.DEVNULL,
                stdout=trouble,
                stderr=trouble,
                start_new_session=True,
                check=True,
            )
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UserError(f"cannot start a job in {folder.parent}: {error.strerror}") from error
    _prune()
    return get(folder.name)


def get(id: str) -> Job:
    """The job as it stands now. One whose supervisor has died is swept up and is `lost` from then on.

    Raises:
        UserError: there is no such job.
    """
    return look(_folder(id))


def listed() -> list[Job]:
    """All jobs that are kept, the newest first; those whose supervisors have died are swept up."""
    found = []
    for folder in _root().iterdir():
        # Another process may be making or pruning it.
        with contextlib.suppress(FileNotFoundError):
            if _ID.fullmatch(folder.name):
                found.append(look(folder))
    return sorted(found, key=lambda job: (job.created, job.id), reverse=True)


def wait(id: str, seconds: float) -> Job:
    """The job once it is finished, or as it stands after so many seconds.

    Raises:
        UserError: there is no such job.
    """
    end = time.monotonic() + seconds
    while not (job := get(id)).finished and (left := end - time.monotonic()) > 0:
        time.sleep(min(_POLL, left))
    return job


def cancel(id: str, *, force: bool = False) -> Job:
    """Ask the job to wind up and report what it has; it is ended if it does not in 10 seconds, with `force` at once.

    Raises:
        UserError: there is no such job.
    """
    folder = _folder(id)
    if not look(folder).finished:
        (folder / files.STOP).touch()
        if force:
            (folder / files.KILL).touch()
    return look(folder)


def log(id: str, lines: int | None = None) -> str:
    """What the job's processes printed, without control characters: all that is kept, or the last lines.

    Raises:
        UserError: there is no such job.
    """
    text = output.read(_folder(id)).splitlines(keepends=True)
    return "".join(text if lines is None else text[max(0, len(text) - lines) :])


def report(id: str) -> Report:
    """The job's report. A cancelled job may have one: the results so far.

    Raises:
        NoReport: it has none; the message says why.
        UserError: there is no such job, or its report is of another version.
    """
    job = get(id)
    if not job.reported:
        raise NoReport(f"{id} has no report: " + (job.reason if job.finished else f"it is {job.state.value}"))
    return load_report(job.folder / files.REPORT)


def load_report(path: Path) -> Report:
    """Read a report file.

    Raises:
        UserError: it cannot be read, or is no report of this version.
    """
    try:
        return Report.from_dict(files.read(path))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, AttributeError, TypeError) as error:
        raise UserError(f"{path} is no report that this version can read: {error}") from error


def _prune() -> None:
    for job in [job for job in listed() if job.finished][KEPT:]:
        shutil.rmtree(job.folder, ignore_errors=True)


def _root() -> Path:
    root = paths.data_dir() / "jobs"
    root.mkdir(mode=0o700, exist_ok=True)
    return root


def _folder(id: str) -> Path:
    folder = _root() / id if _ID.fullmatch(id) else None
    if folder is None or not (folder / files.STATE).exists():
        raise UserError(f"unknown job {id[:80]!r}; 'clusterwright job list' shows those there are")
    return folder
