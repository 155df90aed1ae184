"""The supervisor of one job: a small process of its own that outlives whoever started the job.

    python -m clusterwright.jobs.supervisor FOLDER

It starts the measurement, keeps its log, and sees that nothing of it is left running: when it ends, is cancelled or
reaches its time limit, every descendant is ended, also those in sessions of their own (torchrun's ranks) and those that
left their parents: on Linux it is their subreaper. Should the supervisor itself be killed, the kernel ends its child,
and whoever looks at the job next sweeps up the rest.
"""

import contextlib
import ctypes
import os
import platform
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from clusterwright.jobs import files, processes
from clusterwright.jobs.files import State
from clusterwright.jobs.output import Log, crash_line, read, signal_name, tool_line
from clusterwright.jobs.processes import Process
from clusterwright_tools.progress import PROGRESS_FILE, STOP_FILE

_TERM_SHARE = 0.3
"""Time between SIGTERM and SIGKILL, as a share of the time between the wish to stop and SIGTERM."""
_PATIENCE = 30.0
"""Seconds until processes that outlive SIGKILL are given up: they wait in the kernel, for a dead mount or driver."""
_TICK = 0.1
_RECORD = 2.0
_READS = 64

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


@dataclass
class _Run:
    """A running measurement. `status` is its wait status, `why` the state it is being ended for."""

    folder: Path
    child: Process
    limit_at: float
    grace: float
    status: int | None = None
    why: State | None = None
    term_at: float = float("inf")
    kill_at: float = float("inf")
    record_at: float = 0.0
    termed: set[Process] = field(default_factory=set)

    def members(self) -> set[Process]:
        found = processes.descendants(os.getpid())
        return found if platform.system() == "Linux" else found | processes.of_job(self.folder / files.STOP)


def main() -> None:
    """Detach, then supervise the job in the folder that the command line names."""
    folder = Path(sys.argv[1])
    # The starter is not the parent then: it has nobody to reap, and killing its process tree does not end the job.
    if os.fork():
        os._exit(0)
    if files.read(folder / files.STATE)["state"] == State.QUEUED:
        supervise(folder)


def supervise(folder: Path) -> None:
    """Run the job to its end and record how it ended."""
    spec = files.read(folder / files.SPEC)
    me = processes.identify(os.getpid())
    assert me is not None
    told = [False]

    def end(number: int, frame: FrameType | None) -> None:
        told[0] = True

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    state: dict[str, Any] = {"state": State.RUNNING, "supervisor": me, "started": time.time()}
    log = Log(folder)
    try:
        child = _start(folder, spec)
    except OSError as error:
        reason = f"cannot start {spec['argv'][0]}: {error.strerror}"
        files.write(folder / files.STATE, {**state, "state": State.FAILED, "ended": time.time(), "reason": reason})
        return
    identity = processes.identify(child.pid) or Process(child.pid, 0)
    state["child"] = identity
    files.write(folder / files.STATE, state)
    run = _Run(folder, identity, time.monotonic() + spec["limit"], spec["grace"])
    left = _watch(run, child.stdout.fileno() if child.stdout else -1, log, lambda: told[0])
    log.close()
    child.returncode = os.waitstatus_to_exitcode(run.status) if run.status is not None else None
    shutil.rmtree(folder / files.RANKS, ignore_errors=True)
    files.write(folder / files.STATE, {**state, **_ending(run, child.returncode, left), "ended": time.time()})


def _start(folder: Path, spec: dict[str, Any]) -> "subprocess.Popen[bytes]":
    environment = {PROGRESS_FILE: str(folder / files.PROGRESS), STOP_FILE: str(folder / files.STOP)}
    # torchrun ends its ranks on SIGTERM; a single process may have a handler for that and hang.
    number = signal.SIGTERM if spec["ranks"] > 1 else signal.SIGKILL
    return subprocess.Popen(
        spec["argv"],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: _prctl(_PR_SET_PDEATHSIG, number),
    )


def _watch(run: _Run, output: int, log: Log, told: Callable[[], bool]) -> set[Process]:
    """Follow the measurement until nothing of it runs any more; returns what could not be ended."""
    os.set_blocking(output, False)
    more = True
    while True:
        more = _drain(output, log, _TICK) if more else _pause()
        _reap(run)
        now = time.monotonic()
        _decide(run, now, told())
        if run.status is None and now < run.term_at:
            _record(run, now)
            continue
        left = run.members()
        if not left and run.status is not None:
            _drain(output, log, 0)
            return set()
        if now > run.kill_at + _PATIENCE:
            return left
        run.term_at = min(run.term_at, now)
        run.kill_at = min(run.kill_at, run.term_at + _TERM_SHARE * run.grace)
        if now >= run.kill_at:
            processes.send(left, signal.SIGKILL)
        else:
            # Once each: a second SIGTERM would cut short what torchrun does on the first.
            processes.send(left - run.termed, signal.SIGTERM)
            run.termed |= left


def _decide(run: _Run, now: float, told: bool) -> None:
    """Whether the measurement has to end, and when signals follow the wish to stop."""
    stop = run.folder / files.STOP
    if run.why is None and (told or stop.exists()):
        run.why, run.term_at = State.CANCELLED, now + run.grace
    elif run.why is None and run.status is None and now > run.limit_at:
        run.why, run.term_at = State.TIMED_OUT, now + run.grace
        stop.touch()
    if told or (run.folder / files.KILL).exists():
        run.term_at = run.kill_at = min(run.kill_at, now)


def _ending(run: _Run, code: int | None, left: set[Process]) -> dict[str, Any]:
    reported = (run.folder / files.REPORT).exists()
    reason = ""
    if run.why:
        reason = "cancelled" if run.why is State.CANCELLED else "reached its time limit"
        reason += "" if reported else " before it had results"
    elif not reported:
        reason = _complaint(run.folder, code)
    if left:
        pids = ", ".join(str(one.pid) for one in sorted(left))
        reason += f"; these processes do not die, a dead mount or driver may hold them: {pids}"
    state = run.why or (State.DONE if reported else State.FAILED)
    return {"state": state, "exit_code": code, "reason": reason.removeprefix("; ")}


def _complaint(folder: Path, code: int | None) -> str:
    text = read(folder)
    if told := tool_line(text):
        return told
    death = f"killed by {signal_name(-code)}" if code and code < 0 else f"ended with exit code {code}"
    return f"{crash_line(text) or death}; see: clusterwright job log {folder.name}"


def _record(run: _Run, now: float) -> None:
    """Write down the descendants for a sweep after our own death; also the sign of life for other hosts."""
    if now < run.record_at:
        return
    # A full disk must not end the measurement.
    with contextlib.suppress(OSError):
        files.write(run.folder / files.PROCESSES, sorted(run.members()))
    # Reading the process table of a large node takes long: never more than a hundredth of one core.
    run.record_at = now + max(_RECORD, 100 * (time.monotonic() - now))


def _reap(run: _Run) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if pid == run.child.pid:
                run.status = status


def _drain(output: int, log: Log, seconds: float) -> bool:
    """Move output to the log, waiting for some at most so long; False at its end."""
    select.select([output], [], [], seconds)
    with contextlib.suppress(BlockingIOError):
        # Bounded: who writes without end must not keep us from looking at the clock.
        for _ in range(_READS):
            data = os.read(output, 1 << 16)
            if not data:
                return False
            log.write(data)
    return True


def _pause() -> bool:
    time.sleep(_TICK)
    return False


def _prctl(option: int, value: int) -> None:
    if platform.system() == "Linux":
        ctypes.CDLL(None).prctl(option, *(ctypes.c_ulong(one) for one in (value, 0, 0, 0)))


if __name__ == "__main__":
    main()
