"""How ranks meet: each puts a value into torch's TCP store, and all go on when all are there, or at a deadline.

All control traffic goes through here and not through a process group, so that a rank that died or hangs, or a network
on which collectives hang, is found out and named instead of waited for.
"""

from __future__ import annotations

import pickle
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from clusterwright_tools.environment import torch
from clusterwright_tools.errors import CannotRun
from clusterwright_tools.launcher import Launcher

_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.1
_RETRY = 0.25
_LEAVE = 5.0


class RankLost(CannotRun):
    """A rank died or hangs, and the others found out where they needed it."""


class StoreLost(RankLost):
    """The process that keeps the store died or hangs, so the ranks cannot agree on anything any more."""


@dataclass(frozen=True)
class Meeting:
    """How a meeting ended. All ranks that were in it see the same `missing` and `problems`.

    `values` maps rank to what it brought; only the lowest rank that came has it, unless all asked for it.
    """

    values: Mapping[int, Any]
    missing: tuple[int, ...] = ()
    problems: Mapping[int, str] = field(default_factory=dict)

    @property
    def fine(self) -> bool:
        """Whether everybody came, and nobody had a problem."""
        return not self.missing and not self.problems


class Store:
    """A client of the job's TCP store, and its server on rank 0 where no torchrun agent keeps one."""

    def __init__(self, launch: Launcher, name: str, seconds: float) -> None:
        self._launch, self._prefix = launch, f"clusterwright/{launch.attempt}/{name}"
        self._hosting = launch.rank == 0 and not launch.agent_store
        self._where = f"{launch.address}:{launch.port}"
        self.raw = self._open(seconds)

    def _open(self, seconds: float) -> Any:
        store = torch().distributed.TCPStore
        launch = self._launch
        if not self._hosting:
            self._reach(seconds)
        try:
            return store(
                launch.address,
                launch.port,
                is_master=self._hosting,
                timeout=timedelta(seconds=seconds),
                wait_for_workers=False,
            )
        except RuntimeError as error:
            if self._hosting:
                raise CannotRun(
                    f"rank 0 cannot listen on {self._where} ({_first_line(error)}); set MASTER_ADDR to this host and "
                    "MASTER_PORT to a free port, the same for all ranks"
                ) from error
            raise StoreLost(self._no_answer(seconds, _first_line(error))) from error

    def _reach(self, seconds: float) -> None:
        """Connect once ourselves: torch would log every attempt and not say why it failed."""
        end = time.monotonic() + seconds
        while True:
            try:
                socket.create_connection((self._launch.address, self._launch.port), timeout=max(0.1, seconds)).close()
                return
            except OSError as error:
                if time.monotonic() + _RETRY > end:
                    raise StoreLost(self._no_answer(seconds, error.strerror or str(error))) from error
            time.sleep(_RETRY)

    def _no_answer(self, seconds: float, reason: str) -> str:
        keeper = "torchrun's agent" if self._launch.agent_store else "rank 0"
        return (
            f"{keeper} does not answer at {self._where} within {seconds:g} s ({reason}); check that rank 0 runs, "
            "that MASTER_ADDR and MASTER_PORT are the same for all ranks, and that no firewall is between the nodes"
        )

    def meet(
        self, name: str, value: object, problem: str, left: Callable[[], float], ranks: Sequence[int], everywhere: bool
    ) -> Meeting:
        """Bring a value and wait for the others of `ranks` (ascending) until `left()` seconds are over.

        The first rank whose time is over closes the meeting for all, so that all agree on who was missing.

        Raises:
            StoreLost: the store is gone.
            CannotRun: the meeting was closed before this rank came.
        """
        try:
            return self._meet(f"{self._prefix}/{name}", value, problem, left, ranks, everywhere)
        except RuntimeError as error:
            raise StoreLost(self.lost()) from error

    def _meet(
        self, key: str, value: object, problem: str, left: Callable[[], float], ranks: Sequence[int], everywhere: bool
    ) -> Meeting:
        store, closed, rank = self.raw, f"{key}/closed", self._launch.rank
        store.set(f"{key}/{rank}", pickle.dumps(value))
        if problem:
            store.append(f"{key}/problems", f"{rank}\t{' '.join(problem.split())}\n")
        if store.add(f"{key}/count", 1) == len(ranks):
            store.compare_set(closed, "", "all")
        if not self._await(closed, left):
            absent = [other for other in ranks if not store.check([f"{key}/{other}"])]
            store.compare_set(closed, "", ",".join(map(str, absent)) or "all")
        verdict = store.get(closed).decode()
        missing = () if verdict == "all" else tuple(int(one) for one in verdict.split(","))
        if rank in missing:
            raise CannotRun(f"rank {rank} came too late: the others had gone on without it; start all ranks together")
        present = [other for other in ranks if other not in missing]
        wanted = present if everywhere or rank == present[0] else []
        told = store.get(f"{key}/problems").decode() if store.check([f"{key}/problems"]) else ""
        problems = dict(line.split("\t", 1) for line in told.splitlines())
        values = self._values(key, wanted)
        return Meeting(values, missing, {int(other): problems[other] for other in sorted(problems, key=int)})

    def values(self, name: str, ranks: Sequence[int]) -> dict[int, Any]:
        """What ranks that came brought to a meeting that is over."""
        return self._values(f"{self._prefix}/{name}", ranks)

    def _await(self, key: str, left: Callable[[], float]) -> bool:
        """Whether the key appears in time. Asking again and again, because torch logs every wait that times out."""
        pause = _FIRST_PAUSE
        while not self.raw.check([key]):
            if left() <= 0:
                return False
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True

    def _values(self, key: str, ranks: Sequence[int]) -> dict[int, Any]:
        found = self.raw.multi_get([f"{key}/{rank}" for rank in ranks]) if ranks else []
        # Pickle, as torch's own object collectives do: whoever reaches the store can already steer the job.
        return {rank: pickle.loads(data) for rank, data in zip(ranks, found, strict=True)}

    def put(self, name: str, value: object) -> None:
        """Leave a value for the others."""
        self.raw.set(f"{self._prefix}/{name}", pickle.dumps(value))

    def take(self, name: str, seconds: float) -> Any:
        """A value that another rank left or is going to leave.

        Raises:
            RankLost: it did not come in time.
        """
        key, end = f"{self._prefix}/{name}", time.monotonic() + seconds
        try:
            if self._await(key, lambda: end - time.monotonic()):
                return pickle.loads(self.raw.get(key))
        except RuntimeError as error:
            raise StoreLost(self.lost()) from error
        raise RankLost(f"rank 0 went silent (no '{name}' within {seconds:g} s); look at its log, and run preflight")

    def claim(self) -> None:
        """Take this process's rank in a world of its size.

        Raises:
            CannotRun: another process has the rank, or was told another size.
        """
        size = str(self._launch.size)
        if (other := self.raw.compare_set(f"{self._prefix}/size", "", size).decode()) != size:
            raise CannotRun(f"WORLD_SIZE is {size} here and {other} for another rank; give all ranks the same")
        if self.raw.add(f"{self._prefix}/claim/{self._launch.rank}", 1) > 1:
            raise CannotRun(f"two processes have rank {self._launch.rank}; give each its own RANK below WORLD_SIZE")

    def another(self, name: str, seconds: float) -> Any:
        """A connection of its own for a process group, which blocks the one it uses."""
        library = torch().distributed
        client = library.TCPStore(
            self._launch.address, self._launch.port, is_master=False, timeout=timedelta(seconds=seconds)
        )
        return library.PrefixStore(f"{self._prefix}/{name}", client)

    def lost(self) -> str:
        """What to say when the store stops answering."""
        keeper = "torchrun's agent" if self._launch.agent_store else "rank 0"
        return f"{keeper} at {self._where}, which keeps the store, died or hangs; look at its log and its host"

    def leave(self, lost: int) -> None:
        """Say goodbye; the keeper of the store waits a little for the others, `lost` of which will not come."""
        key = f"{self._prefix}/left"
        if not self._hosting:
            self.raw.add(key, 1)
            return
        end = time.monotonic() + _LEAVE
        while self.raw.add(key, 0) < self._launch.size - 1 - lost and time.monotonic() < end:
            time.sleep(0.01)


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
