"""A world of ranks that agree with each other over a store, and never wait for each other without a deadline.

    with distributed.join(launcher(), "nccl", "cuda:0", hello=environment.hello(0)) as world:
        slowest = world.gather(seconds)

Objects travel over the store (see `meeting`). The process group for tensors is made by `connect`, and used in `step`,
which names the ranks that hold it up.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import FrameType
from typing import Any, NoReturn

from clusterwright_tools import environment
from clusterwright_tools.errors import CannotRun
from clusterwright_tools.launcher import Launcher, launcher, whereabouts
from clusterwright_tools.meeting import Meeting, Store, StoreLost, Task

__all__ = ["Launcher", "Meeting", "RollCall", "StoreLost", "World", "join", "launcher", "place", "roll_call"]

_GRACE = 5.0
"""Seconds that ranks wait for each other beyond a deadline that all share: they did not start at the same instant."""

_calls = itertools.count()
_stuck = False


@dataclass(frozen=True)
class RollCall:
    """Who came. `present` maps rank to hello (on the lowest rank that came, else only this rank's own)."""

    launcher: Launcher
    present: Mapping[int, Mapping[str, Any]]
    missing: tuple[int, ...]
    problems: Mapping[int, str]
    store: Store | None

    def complaint(self) -> str:
        """One line that says who is missing or why the world cannot start, '' when all is well."""
        if self.missing:
            hosts = {rank: str(hello.get("host", "")) for rank, hello in self.present.items()}
            return f"did not come to the roll call: {whereabouts(self.missing, self.launcher, hosts)}"
        return "; ".join(f"rank {rank}: {text}" for rank, text in self.problems.items())


class World:
    """The ranks of a job. A world of one rank needs neither a store nor torch.

    Attributes: `rank`, `size`, `launcher`, `backend`, `device` (`cpu` or `cuda:N`), `hellos` (in rank order; complete
    on rank 0), `lost` (ranks that stopped answering), `ended` (told to end by SIGTERM, as torchrun does when another
    rank dies).
    """

    def __init__(self, roll: RollCall, backend: str, device: str, patience: float) -> None:
        self.launcher, self.backend, self.device = roll.launcher, backend, device
        self.rank, self.size = roll.launcher.rank, roll.launcher.size
        self.hellos: list[Mapping[str, Any]] = [roll.present[rank] for rank in sorted(roll.present)]
        self.lost: set[int] = set()
        self.ended = False
        self.patience = patience
        self._store = roll.store
        self._numbers = itertools.count()
        self._wake = threading.Event()
        self._connected = False
        self._ended_at = 0.0

    @property
    def reporter(self) -> bool:
        """Whether this rank makes the report: the lowest one that still answers."""
        return self.rank == min(set(range(self.size)) - self.lost)

    def gather(self, value: object) -> list[Any] | None:
        """Every rank's value, in rank order, on rank 0; None on the others."""
        values = self._all("gather", value).values
        return [values[rank] for rank in range(self.size)] if self.rank == 0 else None

    def all_gather(self, value: object) -> list[Any]:
        """Every rank's value, in rank order, on every rank."""
        values = self._all("all_gather", value, everywhere=True).values
        return [values[rank] for rank in range(self.size)]

    def broadcast(self, value: object) -> Any:
        """Rank 0's value, on every rank."""
        name = self._name("broadcast")
        if self._store is None:
            return value
        if self.rank == 0:
            self._store.put(name, value)
            return value
        return self._store.take(name, self.patience)

    def any(self, flag: bool) -> bool:
        """Whether any rank says yes; all ranks get the same answer."""
        meeting = self.meet("any", None, "yes" if flag else "")
        self._insist(meeting.missing, "any")
        return bool(meeting.problems)

    def barrier(self) -> None:
        """Return when all ranks have come here."""
        self._all("barrier", None)

    def meet(
        self, name: str, value: object, problem: str = "", seconds: float | None = None, everywhere: bool = False
    ) -> Meeting:
        """Bring a value and perhaps a problem, and wait for the others; who does not come in time is `lost` then.

        Raises:
            StoreLost: the store stopped answering.
        """
        name, store = self._name(name), self._store
        if store is None:
            return Meeting({0: value}, (), {0: problem} if problem else {})
        end = time.monotonic() + (self.patience if seconds is None else seconds)

        def left() -> float:
            return min(end, self._ended_at + _GRACE if self.ended else end) - time.monotonic()

        task = Task(lambda: store.meet(name, value, problem, left, everywhere), self._wake)
        if not task.wait(max(0.0, end - time.monotonic()) + 2 * _GRACE):
            self._hang()
            raise StoreLost(store.lost())
        if task.error is not None:
            raise task.error
        self.lost |= set(task.result.missing)
        return task.result

    def step(self, name: str, work: Callable[[], Any], seconds: float) -> Meeting:
        """Do `work` on every rank, and meet. A rank whose work fails or does not end in time has that as its problem.

        Work that hangs is left behind in its thread; the process then ends by `leave` without waiting for it.
        """

        def run() -> Any:
            if self.device != "cpu":
                environment.torch().cuda.set_device(self.device)
            return work()

        with self._on_sigterm():
            task = Task(run, self._wake)
            value, problem = None, ""
            if not task.wait(seconds, lambda: self.ended):
                self._hang()
                problem = "told to end" if self.ended else f"not finished after {seconds:g} s"
            elif task.error is not None:
                problem = " ".join(str(task.error).split()) or type(task.error).__name__
            elif task.returned:
                value = task.result
            else:
                problem = "crashed; its traceback is in its log"
            return self.meet(name, value, problem, seconds + _GRACE)

    def connect(self, seconds: float) -> None:
        """Make the process group for tensors; to be called in a `step`. Its own timeout is left out of the way."""
        library = environment.torch()
        assert self._store is not None
        library.distributed.init_process_group(
            self.backend,
            store=self._store.another(self._name("group"), seconds),
            rank=self.rank,
            world_size=self.size,
            timeout=timedelta(seconds=seconds),
        )
        self._connected = True

    def close(self) -> None:
        """Give the process group and the store back; never waits long, whatever state the others are in."""
        if self._connected and not _stuck and not self.lost:
            task = Task(environment.torch().distributed.destroy_process_group, self._wake)
            if not task.wait(2 * _GRACE):
                self._hang()
        store = self._store
        if store is not None:
            Task(lambda: store.leave(len(self.lost)), self._wake).wait(2 * _GRACE)

    def _all(self, name: str, value: object, everywhere: bool = False) -> Meeting:
        meeting = self.meet(name, value, everywhere=everywhere)
        self._insist(meeting.missing, name)
        return meeting

    def _insist(self, missing: tuple[int, ...], name: str) -> None:
        if missing:
            hosts = {rank: str(hello.get("host", "")) for rank, hello in enumerate(self.hellos)}
            who = whereabouts(missing, self.launcher, hosts if len(self.hellos) == self.size else {})
            raise CannotRun(f"{who} stopped answering (at {name}); look at that rank's log, and run preflight")

    def _name(self, name: str) -> str:
        return f"{next(self._numbers)}-{name}"

    def _hang(self) -> None:
        global _stuck
        _stuck = True

    @contextlib.contextmanager
    def _on_sigterm(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def told(number: int, frame: FrameType | None) -> None:
            self.ended, self._ended_at = True, time.monotonic()
            self._wake.set()

        before = signal.signal(signal.SIGTERM, told)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)


def place(launch: Launcher) -> tuple[str, str, int | None]:
    """Backend, device and device index of this rank: NCCL on the device of its local rank, else gloo on the CPU.

    Raises:
        CannotRun: the node has fewer devices than ranks.
    """
    if environment.use_cpu():
        return "gloo", "cpu", None
    count = environment.torch().cuda.device_count()
    # A launcher that gives each rank a device of its own (srun --gpus-per-task) shows it as the only one.
    index = 0 if count == 1 else launch.local_rank
    if index >= count:
        raise CannotRun(
            f"{launch.local_size} ranks on this node but {count} GPUs; start one rank per GPU "
            f"(torchrun --nproc-per-node {count}), or set CLUSTERWRIGHT_DEVICE=cpu to try the logic on the CPU"
        )
    return "nccl", f"cuda:{index}", index


def roll_call(launch: Launcher, deadline: float, hello: Mapping[str, Any]) -> RollCall:
    """Find out within `deadline` seconds who is there, before any process group exists.

    A hello may carry `problem`: all ranks then know it, and stop.

    Raises:
        StoreLost: the store cannot be reached, so nothing is known about the others.
        CannotRun: rank 0 cannot listen, or another process has the same rank.
    """
    own, problem = {launch.rank: hello}, str(hello.get("problem", ""))
    if launch.size == 1:
        return RollCall(launch, own, (), {0: problem} if problem else {}, None)
    end = time.monotonic() + deadline
    task = Task(lambda: Store(launch, str(next(_calls)), deadline))
    if not task.wait(deadline + 2 * _GRACE):
        raise StoreLost(f"{launch.address}:{launch.port} is no store of torch; take another MASTER_PORT")
    if task.error is not None:
        raise task.error
    store = task.result
    store.claim()
    meeting = store.meet("roll", hello, problem, lambda: end - time.monotonic())
    return RollCall(launch, meeting.values or own, meeting.missing, meeting.problems, store)


@contextlib.contextmanager
def join(
    launch: Launcher,
    backend: str,
    device: str,
    *,
    hello: Mapping[str, Any],
    deadline: float = 30.0,
    patience: float = 600.0,
) -> Iterator[World]:
    """The world of this job, once all ranks are there. `patience` bounds how long ranks wait for each other afterwards.

    Raises:
        CannotRun: ranks are missing (named with their hosts) or have a problem.
    """
    roll = roll_call(launch, deadline, hello)
    world = World(roll, backend, device, patience)
    world.lost |= set(roll.missing)
    try:
        if complaint := roll.complaint():
            raise CannotRun(complaint)
        yield world
    finally:
        world.close()


def leave(code: int) -> NoReturn:
    """End the process, without waiting for threads or libraries that hang in a collective."""
    if _stuck:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
