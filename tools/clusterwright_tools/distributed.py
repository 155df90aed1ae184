"""Bring the ranks of a job together: place them on devices, call the roll, hold the devices, and leave again.

    with distributed.join(launcher(), "nccl", "cuda:0", hello=environment.hello(0)) as world:
        everything = world.gather(seconds)

Objects travel over the store (see `meeting`). The process group for tensors is made by `World.connect`, and used in
`World.step`, which names the ranks that hold it up.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from clusterwright_tools import environment, locks
from clusterwright_tools.errors import CannotRun
from clusterwright_tools.launcher import Launcher, launcher
from clusterwright_tools.meeting import Meeting, RankLost, Store, StoreLost
from clusterwright_tools.roll import Place, RollCall
from clusterwright_tools.task import Task, hanging
from clusterwright_tools.world import GRACE, World

__all__ = [
    "Launcher",
    "Meeting",
    "Place",
    "RankLost",
    "RollCall",
    "StoreLost",
    "World",
    "arrive",
    "hold_devices",
    "join",
    "launcher",
    "leave",
    "place",
    "roll_call",
    "sharing",
]

_calls = itertools.count()


def place(launch: Launcher) -> Place:
    """The device of this rank's local rank, or the CPU where there is none or `CLUSTERWRIGHT_DEVICE=cpu`.

    Raises:
        CannotRun: the node has fewer devices than ranks.
    """
    if environment.use_cpu():
        return Place("gloo", "cpu")
    if not environment.torch().distributed.is_nccl_available():
        raise CannotRun("this torch has no NCCL (or RCCL); install a build that has, or set CLUSTERWRIGHT_DEVICE=cpu")
    count = environment.torch().cuda.device_count()
    # A launcher that gives each rank a device of its own (srun --gpus-per-task) shows it as the only one.
    index = 0 if count == 1 else launch.local_rank
    if index >= count:
        raise CannotRun(
            f"{launch.local_size} ranks on this node but {count} GPUs; start one rank per GPU "
            f"(torchrun --nproc-per-node {count}), or set CLUSTERWRIGHT_DEVICE=cpu to try the logic on the CPU"
        )
    return Place("nccl", f"cuda:{index}", index, environment.device_uuid(index))


@contextlib.contextmanager
def hold_devices(world: World, tool: str) -> Iterator[None]:
    """Hold every rank's device while the body runs, or none.

    Raises:
        CannotRun: two ranks share a device, or somebody else uses one.
        RankLost: a rank stopped answering.
    """
    where = world.place
    shared = world.broadcast(sharing(world.hellos) if world.rank == 0 else None)
    if shared:
        raise CannotRun(shared)
    with contextlib.ExitStack() as stack:
        problem = ""
        try:
            locks.refuse_if_used(where.uuid)
            # Ranks on the CPU share it by nature; a measurement alone on it does not.
            if key := where.uuid or ("cpu" if world.size == 1 else ""):
                stack.enter_context(locks.hold(key, tool))
        except CannotRun as error:
            problem = str(error)
        meeting = world.meet("hold", None, problem)
        if meeting.missing:
            raise RankLost(world.describe(meeting))
        if meeting.problems:
            raise CannotRun(world.describe(meeting))
        yield


def sharing(hellos: Mapping[int, Mapping[str, Any]]) -> str:
    """A line that says which ranks have one and the same device, '' where each has its own."""
    by_uuid: dict[str, list[int]] = {}
    for rank, hello in hellos.items():
        by_uuid.setdefault(str(hello.get("uuid", "")), []).append(rank)
    shared = {uuid: ranks for uuid, ranks in by_uuid.items() if uuid and len(ranks) > 1}
    if not shared:
        return ""
    told = "; ".join(f"ranks {', '.join(map(str, ranks))} all have {uuid}" for uuid, ranks in shared.items())
    return f"{told}; start one rank per GPU, set LOCAL_RANK, or try the logic with CLUSTERWRIGHT_DEVICE=cpu"


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
    if not task.wait(deadline + 2 * GRACE):
        raise StoreLost(f"{launch.address}:{launch.port} is no store of torch; take another MASTER_PORT")
    if task.error is not None:
        raise task.error
    store = task.result
    store.claim()
    meeting = store.meet("roll", hello, problem, lambda: end - time.monotonic(), range(launch.size), False)
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
    world = World(roll, Place(backend, device), patience)
    try:
        if complaint := roll.complaint():
            raise CannotRun(complaint)
        yield world
    finally:
        world.close()


@contextlib.contextmanager
def arrive(launch: Launcher, deadline: float, **more: Any) -> Iterator[World]:
    """The world of this job with every rank on its device, whoever came: look at `world.roll.complaint()`.

    `more` is added to this rank's hello. Ranks wait for each other for `deadline` seconds, also afterwards.

    Raises:
        StoreLost: the store cannot be reached.
    """
    where, problem = Place("gloo", "cpu"), ""
    try:
        where = place(launch)
    except CannotRun as error:
        problem = str(error)
    visible = 0 if where.index is None else environment.torch().cuda.device_count()
    hello = (
        environment.hello(where.index) | {"visible_devices": visible} | more | ({"problem": problem} if problem else {})
    )
    world = World(roll_call(launch, deadline, hello), where, deadline)
    try:
        yield world
    finally:
        world.close()


def leave(code: int) -> NoReturn:
    """End the process, without waiting for threads or libraries that hang in a collective."""
    if hanging():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
