"""The ranks of one job, which agree over a store and never wait for each other without a deadline."""

from __future__ import annotations

import contextlib
import functools
import itertools
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from types import FrameType
from typing import Any

from clusterwright_tools.environment import torch
from clusterwright_tools.launcher import whereabouts
from clusterwright_tools.meeting import Meeting, RankLost, StoreLost
from clusterwright_tools.roll import Place, RollCall
from clusterwright_tools.task import Task, hanging

GRACE = 5.0
"""Seconds that ranks wait for each other beyond a deadline that all share: they did not start at the same instant."""

NOT_FINISHED, TOLD_TO_END = "not finished", "told to end by SIGTERM"
"""How the problem of a rank begins whose step did not end in time, or was ended from outside."""


class World:
    """The ranks of a job. A world of one rank needs neither a store nor torch.

    Attributes: `rank`, `size`, `launcher`, `place`, `device` (`cpu` or `cuda:N`), `roll`, `patience` (seconds that
    ranks wait for each other where nothing else is said), `lost` (ranks that did not come or stopped answering),
    `ended` (told to end by SIGTERM, as torchrun does when another rank dies).
    """

    def __init__(self, roll: RollCall, place: Place, patience: float) -> None:
        self.launcher, self.place, self.device, self.roll = roll.launcher, place, place.device, roll
        self.rank, self.size = roll.launcher.rank, roll.launcher.size
        self.lost: set[int] = set(roll.missing)
        self.ended = False
        self.patience = patience
        self._store = roll.store
        self._numbers = itertools.count()
        self._wake = threading.Event()
        self._connected = self._gone = False
        self._ended_at = 0.0

    @property
    def reporter(self) -> bool:
        """Whether this rank makes the report: the lowest one that still answers."""
        return self.rank == self.ranks[0]

    @property
    def ranks(self) -> list[int]:
        """The ranks that still answer."""
        return [rank for rank in range(self.size) if rank not in self.lost]

    @functools.cached_property
    def hellos(self) -> Mapping[int, Mapping[str, Any]]:
        """What every rank that came told about itself."""
        came, store = [rank for rank in range(self.size) if rank not in self.roll.missing], self.roll.store
        if store is None or self._gone or len(self.roll.present) == len(came):
            return self.roll.present
        task = Task(lambda: store.values("roll", came), self._wake)
        return task.result if task.wait(GRACE) and task.returned else self.roll.present

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
        store = self._store
        task = Task(lambda: store.take(name, self.patience), self._wake)
        self._done(task, self.patience + GRACE)
        return task.result

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
            StoreLost: the store stopped answering; rank 0 counts as lost then, if it keeps the store.
        """
        name, store = self._name(name), self._store
        if store is None:
            return Meeting({0: value}, (), {0: problem} if problem else {})
        begin = time.monotonic()
        end = begin + (self.patience if seconds is None else seconds)

        def left() -> float:
            soon = max(begin, self._ended_at) + GRACE if self.ended else end
            return min(end, soon) - time.monotonic()

        task = Task(lambda: store.meet(name, value, problem, left, self.ranks, everywhere), self._wake)
        self._done(task, max(0.0, end - time.monotonic()) + GRACE)
        self.lost |= set(task.result.missing)
        return task.result

    def step(self, name: str, work: Callable[[], Any], seconds: float) -> Meeting:
        """Do `work` on every rank, and meet. A rank whose work fails or does not end in time has that as its problem.

        Work that hangs is left behind in its thread; the process then ends by `leave` without waiting for it.
        """

        def run() -> Any:
            if self.device != "cpu":
                torch().cuda.set_device(self.device)
            return work()

        task = Task(run, self._wake)
        value, problem = None, ""
        if not task.wait(seconds, lambda: self.ended):
            problem = TOLD_TO_END if self.ended else f"{NOT_FINISHED} after {seconds:g} s"
        elif task.error is not None:
            problem = " ".join(str(task.error).split()) or type(task.error).__name__
        elif task.returned:
            value = task.result
        else:
            problem = "crashed; its traceback is in its log"
        return self.meet(name, value, problem, seconds + GRACE)

    def connect(self, seconds: float) -> None:
        """Make the process group for tensors; to be called in a `step`. Its own timeout is left out of the way."""
        library = torch()
        assert self._store is not None
        library.distributed.init_process_group(
            self.place.backend,
            store=self._store.another(self._name("group"), seconds),
            rank=self.rank,
            world_size=self.size,
            timeout=timedelta(seconds=seconds),
        )
        self._connected = True

    def _done(self, task: Task[Any], seconds: float) -> None:
        assert self._store is not None
        if not task.wait(seconds):
            task.error = StoreLost(self._store.lost())
        if task.error is not None:
            self._gone = isinstance(task.error, StoreLost)
            if isinstance(task.error, RankLost) and not (self._gone and self.launcher.agent_store):
                self.lost.add(0)
            raise task.error

    def close(self) -> None:
        """Give the process group and the store back; never waits long, whatever state the others are in."""
        if self._connected and not hanging() and not self.lost:
            Task(torch().distributed.destroy_process_group, self._wake).wait(2 * GRACE)
        store = self._store
        if store is not None and not self._gone:
            Task(lambda: store.leave(len(self.lost)), self._wake).wait(2 * GRACE)

    def describe(self, meeting: Meeting) -> str:
        """Who did not come, and who had which problem, as one line."""
        parts = []
        if meeting.missing:
            parts.append(f"no answer from {self.where(meeting.missing)}")
        for text in dict.fromkeys(meeting.problems.values()):
            ranks = tuple(rank for rank, told in meeting.problems.items() if told == text)
            parts.append(f"{self.where(ranks)}: {text[:300]}")
        return "; ".join(parts)

    def where(self, ranks: tuple[int, ...]) -> str:
        """Ranks as text, with their hosts."""
        hosts = {rank: str(hello.get("host", "")) for rank, hello in self.hellos.items()}
        return whereabouts(ranks, self.launcher, hosts)

    def _all(self, name: str, value: object, everywhere: bool = False) -> Meeting:
        meeting = self.meet(name, value, everywhere=everywhere)
        self._insist(meeting.missing, name)
        return meeting

    def _insist(self, missing: tuple[int, ...], name: str) -> None:
        if missing:
            raise RankLost(
                f"{self.where(missing)} stopped answering (at {name}); look at that rank's log, and run preflight"
            )

    def _name(self, name: str) -> str:
        return f"{next(self._numbers)}-{name}"

    @contextlib.contextmanager
    def notice_sigterm(self) -> Iterator[None]:
        """While the body runs, in the main thread, SIGTERM ends steps, and ranks wait only briefly for each other."""

        def told(number: int, frame: FrameType | None) -> None:
            self.ended, self._ended_at = True, time.monotonic()
            self._wake.set()

        before = signal.signal(signal.SIGTERM, told)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)
