"""Worlds of real rank processes on loopback."""

import json
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

_ZYGOTE = Path(__file__).with_name("zygote.py")
_LIMIT = 60.0


@dataclass
class Rank:
    """One rank process; `lines` are those of its stderr, as they come."""

    pid: int
    zygote: "Zygote"
    out: Path
    lines: "queue.Queue[str]" = field(default_factory=queue.Queue)
    errors: list[str] = field(default_factory=list)
    reader: threading.Thread | None = None

    def wait(self) -> int:
        """The exit code; -9 and so on after a signal."""
        watched = os.pidfd_open(self.pid)
        try:
            poller = select.poll()
            poller.register(watched, select.POLLIN)
            assert poller.poll(_LIMIT * 1000), f"rank process {self.pid} does not end: {self.errors}"
        finally:
            os.close(watched)
        assert self.reader is not None
        self.reader.join(_LIMIT)
        return self.zygote.ask({"wait": self.pid})

    def seen(self, text: str) -> None:
        """Return when stderr has a line with that text."""
        while text not in self.lines.get(timeout=_LIMIT):
            pass

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid, number)

    @property
    def stdout(self) -> str:
        return self.out.read_text()

    @property
    def stderr(self) -> str:
        return "".join(self.errors)

    def follow(self, fifo: Path) -> None:
        with fifo.open() as stream:
            for line in stream:
                self.errors.append(line)
                self.lines.put(line)


class Zygote:
    """Starts rank processes."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(_ZYGOTE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, order: dict) -> int:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate(timeout=_LIMIT)


class Worlds:
    """Makes worlds for one test, and ends what is left of them."""

    def __init__(self, zygote: Zygote, folder: Path) -> None:
        self.zygote, self.folder, self.ranks = zygote, folder, []

    def start(
        self,
        argv: Sequence[str] = (),
        *,
        size: int,
        ranks: Sequence[int] = (),
        script: str = "",
        real_exit: bool = False,
        **env: str,
    ) -> list[Rank]:
        """Start `ranks` (all, where none are named) of a world of `size`; each runs the command line, or a script."""
        port = _free_port()
        path = self.folder / f"script-{port}.py"
        path.write_text(script)
        started = []
        for number, rank in enumerate(ranks or range(size)):
            out, err = self.folder / f"out-{port}-{number}", self.folder / f"err-{port}-{number}"
            os.mkfifo(err)
            own = {
                "RANK": rank,
                "WORLD_SIZE": size,
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
                "CLUSTERWRIGHT_DEVICE": "cpu",
                **env,
            }
            order = {"env": {name: str(value) for name, value in own.items()}, "argv": list(argv)}
            order |= {"script": str(path) if script else "", "out": str(out), "err": str(err), "real_exit": real_exit}
            one = Rank(0, self.zygote, out)
            one.reader = threading.Thread(target=one.follow, args=(err,))
            one.reader.start()
            one.pid = self.zygote.ask(order)
            started.append(one)
        self.ranks += started
        return started

    def end(self) -> None:
        for one in self.ranks:
            try:
                os.kill(one.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for one in self.ranks:
            one.reader.join(_LIMIT)


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    one = Zygote()
    yield one
    one.close()


@pytest.fixture
def worlds(zygote: Zygote, tmp_path: Path) -> Iterator[Worlds]:
    made = Worlds(zygote, tmp_path)
    yield made
    made.end()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
