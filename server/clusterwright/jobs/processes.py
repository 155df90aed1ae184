"""Processes by pid and start time together, so that a reused pid is never taken for the process that had it before."""

import contextlib
import os
import platform
import signal
import socket
import time
from pathlib import Path
from typing import NamedTuple

from clusterwright_tools.progress import STOP_FILE

_LINUX = platform.system() == "Linux"
_PROC = Path("/proc")


class Process(NamedTuple):
    """A process that ran at some time: `start` is in clock ticks since boot on Linux, in seconds elsewhere."""

    pid: int
    start: float


def here() -> str:
    """Names this host, boot and pid namespace: only there do recorded pids mean anything (data folders are shared)."""
    if not _LINUX:
        import psutil

        return f"{socket.gethostname()}/{psutil.boot_time():.0f}"
    boot, namespace = _PROC / "sys/kernel/random/boot_id", _PROC / "self/ns/pid"
    return f"{socket.gethostname()}/{boot.read_text().strip()}/{namespace.readlink()}"


def table() -> dict[Process, int]:
    """Every live process with its parent's pid; zombies are left out."""
    return _linux() if _LINUX else portable_table()


def portable_table() -> dict[Process, int]:
    """The same from psutil, for systems without /proc. Linux goes without, to keep supervisors small."""
    import psutil

    found = {}
    for one in psutil.process_iter(["pid", "ppid", "create_time", "status"]):
        if one.info["status"] not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            found[Process(one.info["pid"], one.info["create_time"])] = one.info["ppid"]
    return found


def identify(pid: int) -> Process | None:
    """The live process that has this pid now."""
    if _LINUX:
        read = _stat(pid)
        return read[0] if read else None
    return next((one for one in portable_table() if one.pid == pid), None)


def alive(process: Process) -> bool:
    """Whether that very process still runs."""
    return identify(process.pid) == process


def descendants(pid: int) -> set[Process]:
    """The live processes below `pid`, itself not among them."""
    children: dict[int, list[Process]] = {}
    for process, parent in table().items():
        children.setdefault(parent, []).append(process)
    found: set[Process] = set()
    waiting = [pid]
    while waiting:
        below = [one for one in children.get(waiting.pop(), ()) if one not in found]
        found.update(below)
        waiting += [one.pid for one in below]
    return found


def of_job(stop_file: Path) -> set[Process]:
    """The live processes that were started for the job with this stop file, wherever in the tree they are now."""
    mark = f"{STOP_FILE}={stop_file}"
    return {one for one in table() if mark in _environment(one.pid)}


def send(processes: set[Process], number: signal.Signals) -> None:
    """Send a signal to those that still run."""
    for one in processes:
        if alive(one):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one.pid, number)


def sweep(recorded: set[Process], stop_file: Path, seconds: float = 5.0) -> set[Process]:
    """Kill what a job left behind: what was recorded, what lies below that, and what bears its mark.

    Returns the processes that outlived the kill (waiting in the kernel, for instance).
    """
    end = time.monotonic() + seconds
    while True:
        left = {one for one in recorded if alive(one)} | of_job(stop_file)
        left |= {below for one in left for below in descendants(one.pid)}
        if not left or time.monotonic() > end:
            return left
        send(left, signal.SIGKILL)
        recorded = recorded | left
        time.sleep(0.02)


def _linux() -> dict[Process, int]:
    read = (_stat(int(entry.name)) for entry in _PROC.iterdir() if entry.name.isdigit())
    return dict(one for one in read if one)


def _stat(pid: int) -> tuple[Process, int] | None:
    # psutil gives the start as wall-clock time, which moves when the clock is set; the kernel's ticks do not.
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The name in brackets may hold anything, brackets too: fields are counted from the last one (proc_pid_stat(5)).
    fields = text[text.rindex(b")") + 2 :].split()
    return None if fields[0] in (b"Z", b"X") else (Process(pid, float(fields[19])), int(fields[1]))


def _environment(pid: int) -> list[str]:
    if _LINUX:
        try:
            return (_PROC / str(pid) / "environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            return []
    import psutil

    with contextlib.suppress(psutil.Error):
        return [f"{name}={value}" for name, value in psutil.Process(pid).environ().items()]
    return []
