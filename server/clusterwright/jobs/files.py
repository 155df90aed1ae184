"""The files of a job's folder, and the one way in which they are written: whole or not at all."""

import json
import os
import threading
from enum import StrEnum
from pathlib import Path
from typing import Any

SPEC = "job.json"
"""What was asked for. Written once, by the starter."""
STATE = "state.json"
"""Where it stands. Written by the supervisor; by others only when that is dead."""
PROCESSES = "processes.json"
"""The descendants as last seen; its age is the supervisor's sign of life."""
PROGRESS, REPORT = "progress.json", "report.json"
"""Written by the measurement itself."""
STOP, KILL = "stop", "kill"
"""Wishes: wind up; end at once."""
RANKS = "ranks"
"""torchrun's own files while it runs."""
TROUBLE = "supervisor.txt"
"""What the supervisor said; empty unless it has a bug."""


class State(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed-out"
    LOST = "lost"

    @property
    def finished(self) -> bool:
        """Whether nothing will change any more."""
        return self not in (State.QUEUED, State.RUNNING)


def read(path: Path) -> Any:
    """The JSON in a file."""
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, data: Any) -> None:
    """Write JSON beside `path` and rename it, so that no reader sees half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    partial.write_text(json.dumps(data), encoding="utf-8")
    partial.replace(path)
