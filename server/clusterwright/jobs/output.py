"""A job's log: the output of its processes, bounded on disk. The beginning and the end are kept.

`log.txt` holds the beginning. What follows goes to segments named after the offset at which they begin, of which the
two newest stay, so that the log is complete at any moment, whoever is killed.
"""

import contextlib
import re
import signal
from pathlib import Path

_HEAD, _SEGMENT = 2 << 20, 1 << 20

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_ESCAPE = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?)")
_RANK = re.compile(r"^\[\w+\]:? ?")
_TOOL = "clusterwright: "
# torchrun's summary of a failed rank; the last one is the root cause.
_KILLED = re.compile(r"rank +: (\d+) .*\n +exitcode +: -(\d+) ")


class Log:
    """Writes a job's log into its folder."""

    def __init__(self, folder: Path, head: int = _HEAD, segment: int = _SEGMENT) -> None:
        self._folder, self._segment = folder, segment
        self._at, self._full = 0, head
        self._stream = (folder / "log.txt").open("wb", buffering=0)

    def write(self, data: bytes) -> None:
        """Append output. A full disk loses output, never the job."""
        while data:
            if self._at == self._full:
                self._next()
            part, data = data[: self._full - self._at], data[self._full - self._at :]
            with contextlib.suppress(OSError):
                self._stream.write(part)
            self._at += len(part)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def _next(self) -> None:
        self._stream.close()
        for old in _segments(self._folder)[:-1]:
            old.unlink()
        self._stream = (self._folder / f"log-{self._at:015d}.txt").open("wb", buffering=0)
        self._full += self._segment


def read(folder: Path) -> str:
    """The log as text without control characters, with a line where its middle is left out."""
    pieces, at = [], 0
    for path in [folder / "log.txt", *_segments(folder)]:
        offset = int(path.stem[4:] or 0)
        with contextlib.suppress(FileNotFoundError):
            data = path.read_bytes()
            if offset > at:
                pieces.append(f"\n[{offset - at} bytes are left out here]\n".encode())
            pieces.append(data)
            at = offset + len(data)
    return printable(b"".join(pieces).decode(errors="replace"))


def printable(text: str) -> str:
    """Text without escape sequences, control and invisible characters; a carriage return becomes a new line."""
    return _CONTROL.sub("", _ESCAPE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def tool_line(text: str) -> str:
    """The line in which the measurement itself says why it cannot be made (rank 0's first), '' where there is none."""
    told = []
    for line in (_RANK.sub("", line) for line in text.splitlines()):
        # Ranks share one pipe: a message may follow what another rank wrote, but not stand in a traceback's source.
        if not line.startswith(" "):
            told += line.split(_TOOL)[1:]
    return next((line for line in told if not line.startswith("rank ")), told[0] if told else "")


def crash_line(text: str) -> str:
    """How it crashed: the rank that torchrun saw killed, or the last exception that is not torchrun's own; else ''."""
    if killed := _KILLED.findall(text):
        rank, number = killed[-1]
        return f"rank {rank} was killed by {signal_name(int(number))}"
    thrown = _exceptions([_RANK.sub("", line) for line in text.splitlines()])
    return next((f"crashed: {line}" for line in reversed(thrown) if ".elastic." not in line.split(":")[0]), "")


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; real-time signals have no name."""
    known = {one.value: one.name for one in signal.Signals}
    return known.get(number, f"signal {number}")


def _exceptions(lines: list[str]) -> list[str]:
    found, inside = [], False
    for line in lines:
        if line.startswith("Traceback "):
            inside = True
        elif inside and line.strip() and not line.startswith(" "):
            found.append(line.strip())
            inside = False
    return found


def _segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("log-*.txt"))
