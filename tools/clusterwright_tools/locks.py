"""One measurement at a time on a device: a file lock that the measuring process itself holds.

The lock is `flock`, so it ends with the process, however that dies; server, shell and torchrun meet at the same file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from clusterwright_tools import telemetry
from clusterwright_tools.errors import CannotRun

EVEN_IF_BUSY = "CLUSTERWRIGHT_EVEN_IF_BUSY"
"""Set in the environment: measure although other processes use the device. Our own still exclude each other."""

# Not TMPDIR: that differs between users and jobs, and the lock must not.
_FOLDER = Path("/tmp/clusterwright-locks")


@contextlib.contextmanager
def hold(key: str, tool: str) -> Iterator[None]:
    """Hold the device `key` (a GPU's UUID, or `cpu`) while the body runs.

    Raises:
        CannotRun: another measurement holds it (the message says which), or the lock file cannot be opened.
    """
    stream = _open(key)
    try:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise CannotRun(
                f"{key} is busy: {_holder(stream)} is measuring on it; wait, or cancel it (clusterwright job list)"
            ) from error
        stream.seek(0)
        stream.truncate()
        stream.write(json.dumps({"pid": os.getpid(), "tool": tool}))
        stream.flush()
        yield
    finally:
        stream.close()


def refuse_if_used(uuid: str) -> None:
    """Refuse a GPU on which other processes compute: the figure would be wrong and their work disturbed.

    Raises:
        CannotRun: the message names the processes.
    """
    if not uuid or os.environ.get(EVEN_IF_BUSY):
        return
    others = [pid for pid in telemetry.processes(uuid) if pid != os.getpid()]
    if others:
        named = ", ".join(f"{pid} ({_command(pid)})" for pid in others[:4])
        raise CannotRun(f"{uuid} is in use by process {named}; measure on an idle device, or pass --even-if-busy")


def _open(key: str) -> IO[str]:
    path = _FOLDER / (re.sub(r"[^A-Za-z0-9._-]", "_", key) + ".lock")
    try:
        if not _FOLDER.exists():
            _FOLDER.mkdir(mode=0o777, exist_ok=True)
            _FOLDER.chmod(0o1777)
        if not path.exists():
            path.touch(mode=0o666)
            path.chmod(0o666)
        # Without O_CREAT: fs.protected_regular refuses it on another user's file in a sticky folder.
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CLOEXEC), "r+", encoding="utf-8")
    except OSError as error:
        raise CannotRun(f"cannot open the device lock {path} ({error.strerror}); make it writable for you") from error


def _holder(stream: IO[str]) -> str:
    stream.seek(0)
    try:
        held = json.loads(stream.read())
        return f"{held['tool']} (process {held['pid']})"
    except (ValueError, KeyError, TypeError):
        return "another process"


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "not visible here"
