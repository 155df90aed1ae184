"""collective-bandwidth: what the ranks of a job reach together, against the wire between them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from clusterwright_tools import collective_report, distributed, environment, nics
from clusterwright_tools.collectives import DTYPES, OPS
from clusterwright_tools.errors import CannotRun
from clusterwright_tools.links import wire
from clusterwright_tools.params import human_bytes, param
from clusterwright_tools.progress import Progress
from clusterwright_tools.registry import Impact, Launch, tool
from clusterwright_tools.report import Report, Skipped
from clusterwright_tools.sweep import Failure, Plan, Swept, sizes, sweep

_NAME = "collective-bandwidth"
_CPU_LIMIT = 16 << 20


@dataclass(frozen=True)
class CollectiveParams:
    """Which collectives, over which message sizes, for how long."""

    ops: tuple[str, ...] = param(("all_reduce",), "collective to measure", choices=OPS)
    dtype: str = param("float32", "element type", choices=tuple(DTYPES))
    min_bytes: int = param(8, "smallest message", kind="bytes", low=2, high=1 << 40)
    max_bytes: int = param(1 << 30, "largest message (16MiB at most on a CPU)", kind="bytes", low=2, high=1 << 40)
    factor: int = param(2, "each size is this many times the one before", low=2, high=1024)
    iterations: int = param(20, "timed iterations of each size", low=2, high=10000)
    warmup: int = param(5, "untimed iterations before them", low=0, high=1000)
    seconds: float = param(
        60.0, "time budget; iterations, then large sizes, give way to it", unit="s", low=2, high=3600
    )
    deadline: float = param(60.0, "longest wait for all ranks, and for one size to be done", unit="s", low=2, high=3600)


@tool(
    name=_NAME,
    area="network",
    launch=Launch.DISTRIBUTED,
    impact=Impact.LOADS_DEVICE,
    seconds=60,
    chapters=(
        "network/collectives#what-bus-bandwidth-should-an-all-reduce-reach",
        "network/collectives#why-is-the-measured-bus-bandwidth-lower-than-the-link-rate",
        "network/collectives#why-are-small-messages-slow",
    ),
)
def collective_bandwidth(params: CollectiveParams, progress: Progress) -> Report | None:
    """Measure bus bandwidth and latency of collectives over all ranks, check their results, and compare with the wire.

    Sizes and bandwidths are those of nccl-tests. An iteration takes as long as it does on the slowest rank.
    """
    launch = distributed.launcher()
    if launch.size == 1:
        raise CannotRun(
            "one rank has nobody to talk to: start at least two, e.g. torchrun --nproc-per-node 2 "
            "(with CLUSTERWRIGHT_DEVICE=cpu on a machine with one GPU or none)"
        )
    with distributed.arrive(launch, params.deadline, nic_gb_s=nics.node_gb_s()) as world:
        if complaint := world.roll.complaint():
            raise CannotRun(complaint)
        with distributed.hold_devices(world, _NAME), world.notice_sigterm():
            return _measure(params, world, progress)


def _measure(params: CollectiveParams, world: distributed.World, progress: Progress) -> Report | None:
    largest, skipped = params.max_bytes, []
    if world.device == "cpu" and largest > _CPU_LIMIT:
        largest = _CPU_LIMIT
        skipped.append(
            Skipped(f"sizes above {human_bytes(_CPU_LIMIT)}", "gloo on the CPU is too slow for them to tell more")
        )
    plan = Plan(
        params.ops,
        params.dtype,
        sizes(min(params.min_bytes, largest), largest, params.factor),
        params.iterations,
        params.warmup,
        params.seconds,
        params.deadline,
    )
    progress.say(f"connecting {world.size} ranks")
    connected = world.step("connect", lambda: world.connect(2 * params.deadline), params.deadline)
    found = sweep(world, plan, progress) if connected.fine else Swept(failure=Failure("connect", 0, connected))
    if not world.reporter:
        return None
    failed = ""
    if found.failure is not None:
        what = found.failure.op + (f" at {human_bytes(found.failure.nbytes)}" if found.failure.nbytes else "")
        failed = f"{what} did not complete: {world.describe(found.failure.meeting)}"
    hellos = [dict(hello) for hello in world.hellos.values()]
    report = collective_report.build(found, failed, wire(hellos), hellos)
    told = environment.describe(hellos, world.place.index)
    return dataclasses.replace(report, environment=told, skipped=(*skipped, *report.skipped))
