"""A job as it stands: read from its folder, and declared lost when its supervisor has died."""

import contextlib
import dataclasses
import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clusterwright.jobs import files, output, processes
from clusterwright.jobs.files import State
from clusterwright.jobs.processes import Process

_STARTING = 30.0
"""Seconds that a supervisor may take to come up."""
_SILENT = 180.0
"""Seconds without a sign of life after which a job of another host or container counts as lost."""


@dataclass(frozen=True)
class Job:
    """A job as it stood when it was looked at. Times are UTC in ISO 8601, '' for what has not happened.

    `limit` and `seconds` (how long it has run) are in seconds; `cpu` says that its ranks run on the CPU whatever the
    machine has; `progress` is what the measurement said last, `fraction` (0 to 1) how far it is; `stopping` says that
    it was asked to wind up, `reported` that there is a report to read, `reason` why it ended other than by itself.
    """

    id: str
    tool: str
    state: State
    parameters: Mapping[str, Any]
    ranks: int
    cpu: bool
    limit: float
    host: str
    created: str
    started: str
    ended: str
    seconds: float
    exit_code: int | None
    reason: str
    progress: str
    fraction: float | None
    stopping: bool
    reported: bool
    folder: Path

    @property
    def finished(self) -> bool:
        """Whether nothing will change any more."""
        return self.state.finished

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data, without what only matters on disk."""
        data = dataclasses.asdict(self)
        del data["folder"]
        return {**data, "state": self.state.value, "finished": self.finished}


def look(folder: Path) -> Job:
    """The job in a folder. One whose supervisor has died is swept up, and is `lost` from then on."""
    spec, state = files.read(folder / files.SPEC), files.read(folder / files.STATE)
    if not State(state["state"]).finished and (why := _dead(folder, spec, state)):
        # A supervisor writes before it ends: what it wrote last stands now.
        state = files.read(folder / files.STATE)
        if not State(state["state"]).finished:
            state = _bury(folder, spec, state, why)
    return _job(folder, spec, state)


def _dead(folder: Path, spec: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    """Why the supervisor must be dead, '' while it need not be."""
    if state["state"] == State.QUEUED:
        return "its supervisor did not start" if time.time() > spec["created"] + _STARTING else ""
    if spec["here"] == processes.here():
        alive = processes.alive(Process(*state["supervisor"]))
        return "" if alive else "its supervisor was killed"
    seen = state["started"]
    with contextlib.suppress(FileNotFoundError):
        seen = (folder / files.PROCESSES).stat().st_mtime
    return f"no sign of life from {_host(spec)} any more" if time.time() > seen + _SILENT else ""


def _bury(folder: Path, spec: Mapping[str, Any], state: Mapping[str, Any], why: str) -> dict[str, Any]:
    if spec["here"] == processes.here():
        recorded = set()
        with contextlib.suppress(FileNotFoundError):
            recorded = {Process(*one) for one in files.read(folder / files.PROCESSES)}
        if left := processes.sweep(recorded, folder / files.STOP):
            why += f"; these processes do not die: {', '.join(str(one.pid) for one in sorted(left))}"
        shutil.rmtree(folder / files.RANKS, ignore_errors=True)
    if trouble := (folder / files.TROUBLE).read_text(errors="replace").strip():
        why += f" ({output.printable(trouble.splitlines()[-1])})"
    lost = {**state, "state": State.LOST, "reason": why, "ended": time.time()}
    files.write(folder / files.STATE, lost)
    return lost


def _job(folder: Path, spec: Mapping[str, Any], state: Mapping[str, Any]) -> Job:
    started, ended = state.get("started"), state.get("ended")
    finished = State(state["state"]).finished
    progress, fraction = _progress(folder)
    return Job(
        id=folder.name,
        tool=spec["tool"],
        state=State(state["state"]),
        parameters=spec["parameters"],
        ranks=spec["ranks"],
        cpu=spec["cpu"],
        limit=spec["limit"],
        host=_host(spec),
        created=_iso(spec["created"]),
        started=_iso(started),
        ended=_iso(ended),
        seconds=round((ended or time.time()) - started, 1) if started else 0.0,
        exit_code=state.get("exit_code"),
        reason=state.get("reason", ""),
        progress=progress,
        fraction=fraction,
        stopping=not finished and (folder / files.STOP).exists(),
        reported=(folder / files.REPORT).exists(),
        folder=folder,
    )


def _progress(folder: Path) -> tuple[str, float | None]:
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError, KeyError, TypeError):
        told = files.read(folder / files.PROGRESS)
        return output.printable(str(told["message"])), told["fraction"]
    return "", None


def _host(spec: Mapping[str, Any]) -> str:
    return str(spec["here"]).split("/")[0]


def _iso(at: float | None) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if at else ""
