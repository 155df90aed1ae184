"""Time collectives over a range of message sizes. Rank 0 conducts: it plans each size, from what the last one took.

Every iteration is timed by device events on every rank, with nothing that waits in between; all times are gathered once
for each size, and an iteration took as long as it did on the slowest rank.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterwright_tools import telemetry
from clusterwright_tools.collectives import DTYPES, Collective, elements, memory
from clusterwright_tools.distributed import Meeting, World
from clusterwright_tools.environment import torch
from clusterwright_tools.params import human_bytes
from clusterwright_tools.progress import Progress
from clusterwright_tools.report import Clocks, Skipped, spread
from clusterwright_tools.timing import Timer

FEWEST_ITERATIONS = 2
_MEMORY_SHARE = 0.9
_SHARE_OF_ONE_SIZE = 1 / 8


@dataclass(frozen=True)
class Plan:
    """What to measure: message sizes in bytes, iterations, and the seconds for all and for one size at most."""

    ops: tuple[str, ...]
    dtype: str
    sizes: tuple[int, ...]
    iterations: int
    warmup: int
    seconds: float
    deadline: float


@dataclass(frozen=True)
class Point:
    """One collective at one size: the slowest rank's seconds for each iteration, wrong elements by rank."""

    op: str
    nbytes: int
    seconds: tuple[float, ...]
    wrong: Mapping[int, int] = field(default_factory=dict)
    clocks: Clocks | None = None


@dataclass(frozen=True)
class Failure:
    """A size that did not complete: who did not come back, and what went wrong on whom."""

    op: str
    nbytes: int
    meeting: Meeting


@dataclass
class Swept:
    """Everything that a sweep found. Complete on rank 0; the others know only the failure."""

    points: list[Point] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    failure: Failure | None = None
    stopped: bool = False


def sizes(low: int, high: int, step: int) -> tuple[int, ...]:
    """Message sizes from `low` by factors of `step`, and `high` itself."""
    found = []
    while low < high:
        found.append(low)
        low *= step
    return (*found, high)


def sweep(world: World, plan: Plan, progress: Progress) -> Swept:
    """Measure everything that is planned; after a failure, a stop or the end of the time, what there is so far."""
    found = Swept()
    free = world.gather(free_bytes(world))
    begin = time.monotonic()
    for number, op in enumerate(plan.ops):
        jobs = _jobs(op, plan, min(free) if free else 0, begin, found, world.size)
        while (job := world.broadcast(next(jobs, None) if world.rank == 0 else None)) is not None:
            _say(progress, job, (number + job["done"]) / len(plan.ops))
            meeting = world.step(op, functools.partial(_measure, world, job, plan.dtype, progress), plan.deadline)
            if not meeting.fine:
                if unsupported(world, meeting):
                    reason = f"{world.place.backend} has no such collective here: {meeting.problems[0]}"
                    found.skipped.append(Skipped(f"{op} in {plan.dtype}", reason))
                    break
                found.failure = Failure(op, job["nbytes"], meeting)
                return found
            if world.rank == 0:
                _take(found, job, meeting)
        if world.broadcast(found.stopped):
            break
    return found


def free_bytes(world: World) -> int:
    """Free memory for this rank: of its device, or its share of what the host has available."""
    if world.device != "cpu":
        return int(torch().cuda.mem_get_info(world.device)[0])
    pages = "SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in os.sysconf_names else "SC_PHYS_PAGES"
    return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE") // world.launcher.local_size


def unsupported(world: World, meeting: Meeting) -> bool:
    """Whether gloo said on every rank that it cannot do this; with NCCL every failure is a failure."""
    words = ("not support", "unsupported", "not implemented", "invalid scalar type")
    texts = [text.lower() for text in meeting.problems.values()]
    everywhere = world.place.backend == "gloo" and len(texts) == world.size
    return everywhere and all(any(word in text for word in words) for text in texts)


def _jobs(op: str, plan: Plan, free: int, begin: float, found: Swept, size: int) -> Iterator[dict[str, Any]]:
    """Rank 0's plan for one collective. A first unrecorded pass makes connections and tells how long one takes."""
    rounded = sorted({elements(op, one, plan.dtype, size) * DTYPES[plan.dtype] for one in plan.sizes})
    fitting = [one for one in rounded if memory(op, one, size) <= _MEMORY_SHARE * free]
    if len(fitting) < len(rounded):
        left = human_bytes(int(free))
        found.skipped.append(Skipped(f"{op} above {_name(fitting)}", f"the rank with the least free memory has {left}"))
    if not fitting:
        return
    job = {"op": op, "nbytes": fitting[0], "warmup": 0, "iterations": 1, "sample": False, "record": False, "done": 0.0}
    yield job
    estimate = found.points.pop().seconds[0]
    at_most = min(plan.seconds * _SHARE_OF_ONE_SIZE / len(plan.ops), plan.deadline / 4)
    for number, nbytes in enumerate(fitting):
        if found.stopped:
            found.skipped.append(Skipped(f"{op} from {human_bytes(nbytes)} on", "stopped"))
            return
        iterations, warmup = _runs(plan, estimate, at_most)
        needed = estimate * (iterations + warmup + 1)
        if needed > min(plan.deadline / 2, max(at_most, begin + plan.seconds - time.monotonic())):
            reason = f"it would take {needed:.0f} s at {estimate:.2g} s each; raise seconds and deadline to measure it"
            found.skipped.append(Skipped(f"{op} from {human_bytes(nbytes)} on", reason))
            return
        yield {
            **job,
            "nbytes": nbytes,
            "iterations": iterations,
            "warmup": warmup,
            "sample": number == len(fitting) - 1,
            "record": True,
            "done": number / len(fitting),
        }
        median = spread(found.points[-1].seconds).p50
        estimate = median * (fitting[number + 1] / nbytes if number + 1 < len(fitting) else 1)


def _runs(plan: Plan, estimate: float, at_most: float) -> tuple[int, int]:
    """Iterations and warm-ups that fit into `at_most` seconds; at least two iterations and one warm-up."""
    wanted = plan.iterations + plan.warmup
    share = min(1.0, at_most / (estimate * wanted)) if estimate > 0 else 1.0
    return max(FEWEST_ITERATIONS, int(plan.iterations * share)), max(min(1, plan.warmup), int(plan.warmup * share))


def _measure(world: World, job: dict[str, Any], dtype: str, progress: Progress) -> dict[str, Any]:
    """One size on this rank: a checked pass, warm-ups, timed iterations, and a check of the last result."""
    timer = Timer(world.device)
    if world.device != "cpu":
        torch().cuda.empty_cache()
    one = Collective(job["op"], dtype, world.device, tuple(range(world.size)), world.rank, job["nbytes"])
    one.poison()
    one.refill()
    one.run()
    timer.synchronize()
    bad = one.wrong()

    def before() -> None:
        one.refill()
        if world.device == "cpu":
            # gloo blocks the caller: without this, a rank would be timed while it waits for the others' refill.
            torch().distributed.barrier()

    for _ in range(job["warmup"]):
        before()
        one.run()
    with telemetry.Sampler(telemetry.Device(world.place.uuid if job["sample"] else "")) as sampler:
        took = timer.each(one.run, job["iterations"], before)
    bad += one.wrong()
    clocks = sampler.clocks if sampler.clocks.samples else None
    return {"seconds": took, "wrong": bad, "clocks": clocks, "nbytes": one.nbytes, "stopped": progress.stopped}


def _take(found: Swept, job: dict[str, Any], meeting: Meeting) -> None:
    told = meeting.values
    slowest = tuple(max(times) for times in zip(*(one["seconds"] for one in told.values()), strict=True))
    bad = {rank: one["wrong"] for rank, one in told.items() if one["wrong"]}
    read = [one["clocks"] for one in told.values() if one["clocks"] is not None]
    clocks = min(read, key=lambda one: one.sm_mhz_mean or 0.0, default=None)
    found.points.append(Point(job["op"], told[0]["nbytes"], slowest, bad, clocks))
    found.stopped = any(one["stopped"] for one in told.values())


def _say(progress: Progress, job: dict[str, Any], fraction: float) -> None:
    if job["record"]:
        progress.say(f"{job['op']} {human_bytes(job['nbytes'])}, {job['iterations']} times", fraction)


def _name(fitting: list[int]) -> str:
    return human_bytes(fitting[-1]) if fitting else "0B"
