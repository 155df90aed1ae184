"""Jobs around small scripts that stand for measurements: real supervisors, real processes."""

import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clusterwright.jobs import Job, files, processes, store
from clusterwright.jobs.launch import Plan

# What a script may use; FOLDER is the job's folder, the last argument the report to write.
_PRELUDE = '''
import json, os, signal, subprocess, sys, time
from pathlib import Path

STOP = Path(os.environ["CLUSTERWRIGHT_STOP_FILE"])
FOLDER = STOP.parent

def say(message):
    Path(os.environ["CLUSTERWRIGHT_PROGRESS_FILE"]).write_text(
        json.dumps({"message": message, "fraction": 0.5, "seconds": 1.0}))

def report(status="pass"):
    from clusterwright_tools.report import Report, Status
    Report("fake", Status(status), "measured").save(FOLDER / "report.json")

def rank(name):
    """A process in a session of its own that ignores SIGTERM, as a rank that hangs in a driver."""
    body = ("import os, pathlib, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
            f"pathlib.Path({str(FOLDER)!r}, {name!r}).write_text(str(os.getpid())); time.sleep(600)")
    subprocess.Popen([sys.executable, "-c", body], start_new_session=True, stdout=subprocess.DEVNULL)

def orphan(name):
    """The same, having left its parent by a double fork."""
    if os.fork() == 0:
        os.setsid()
        rank(name)
        os._exit(0)
    os.wait()

def until(condition):
    while not condition():
        time.sleep(0.01)
'''

Begin = Callable[..., Job]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Starts jobs that run the given Python text; a test that fails leaves no process of theirs behind."""
    folders = []

    def start(text: str, *, limit: float = 60, grace: float = 10, ranks: int = 1, argv: tuple[str, ...] = ()) -> Job:
        script = tmp_path / "script.py"
        script.write_text(_PRELUDE + textwrap.dedent(text))
        plan = Plan((*(argv or (sys.executable,)), str(script)), dict(os.environ), ranks, False)
        folders.append(store.new_folder("fake"))
        return store.create(folders[-1], "fake", {"seconds": 1}, plan, limit, grace)

    yield start
    for folder in folders:
        processes.sweep(set(), folder / files.STOP)


def until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait for a state that other processes bring about."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def written(job: Job, *names: str) -> list[int]:
    """The pids that a job's processes wrote into its folder, once all are there."""
    paths = [job.folder / name for name in names]
    until(lambda: all(path.exists() and path.read_text() for path in paths))
    return [int(path.read_text()) for path in paths]


def running(pids: list[int]) -> list[int]:
    """Those of the pids that live."""
    return [pid for pid in pids if processes.identify(pid)]


def supervisor_of(job: Job) -> int:
    """The pid of a running job's supervisor."""
    until(lambda: "supervisor" in files.read(job.folder / files.STATE))
    return int(files.read(job.folder / files.STATE)["supervisor"][0])
