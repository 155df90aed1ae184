"""preflight: whether the ranks of this job are fit for work, and which rank, node or pair is not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from clusterwright_tools import consistency, distributed, tables
from clusterwright_tools.collectives import OPS
from clusterwright_tools.distributed import Meeting, RankLost, World
from clusterwright_tools.errors import CannotRun
from clusterwright_tools.pairs import Pair, Tried, schedule
from clusterwright_tools.params import param
from clusterwright_tools.preflight_report import Findings
from clusterwright_tools.progress import Progress
from clusterwright_tools.rank_check import exchange, own_device, together
from clusterwright_tools.registry import Impact, Launch, tool
from clusterwright_tools.report import Report
from clusterwright_tools.sweep import unsupported
from clusterwright_tools.world import NOT_FINISHED, TOLD_TO_END

_NAME = "preflight"


@dataclass(frozen=True)
class PreflightParams:
    """How long to wait for ranks, and how many pairs of them to try."""

    deadline: float = param(
        tables.threshold("roll-call-deadline"), "longest wait for all ranks to come", unit="s", low=1, high=3600
    )
    step_seconds: float = param(
        20.0, "longest time for one step before it is told who holds it up", unit="s", low=1, high=600
    )
    rounds: int = param(16, "rounds of pairs at most; each rank has one partner in a round", low=0, high=4096)


@tool(
    name=_NAME,
    area="network",
    launch=Launch.DISTRIBUTED,
    impact=Impact.LOADS_DEVICE,
    seconds=15,
    chapters=(
        "debugging/distributed-hangs#which-ranks-or-hosts-never-joined-the-job",
        "debugging/distributed-hangs#how-is-one-bad-rank-or-link-isolated",
        "debugging/distributed-hangs#why-do-ranks-compute-different-results-or-devices-than-expected",
    ),
)
def preflight(params: PreflightParams, progress: Progress) -> Report | None:
    """Check that all ranks of a job are there, alike, and able to compute and to talk to each other; name what is not.

    Roll call, versions and devices, memory and arithmetic of each device, pairs of ranks, every collective with checked
    values. No step waits longer than its deadline, even for a rank that died or hangs.
    """
    launch = distributed.launcher()
    if launch.size == 1:
        raise CannotRun(
            "preflight tests several ranks: start it as your job is started, e.g. torchrun --nproc-per-node 2 or srun "
            "(with CLUSTERWRIGHT_DEVICE=cpu on a machine with one GPU or none)"
        )
    with distributed.arrive(launch, params.deadline) as world:
        found = Findings(world)
        try:
            with world.notice_sigterm():
                _checks(params, world, found, progress)
        except RankLost as error:
            if not world.reporter:
                raise
            found.lost(str(error))
        return found.report() if world.reporter else None


def _checks(params: PreflightParams, world: World, found: Findings, progress: Progress) -> None:
    if world.roll.missing:
        return found.missing()
    if complaint := world.roll.complaint():
        raise CannotRun(complaint)
    found.done("roll call")
    found.extend(list(consistency.differences(world.hellos, world.where)) if world.reporter else [])
    found.done("versions and devices")
    if shared := world.broadcast(distributed.sharing(world.hellos) if world.rank == 0 else ""):
        return found.shared(shared)
    with distributed.hold_devices(world, _NAME):
        for number, check in enumerate((_devices, _connection, _pairs, _collectives)):
            meeting = world.meet("go on", None, "stopped" if progress.stopped else "", params.step_seconds)
            if meeting.missing:
                return found.lost(world.describe(meeting))
            if meeting.problems:
                return found.stop("stopped")
            progress.say(check.__name__.strip("_"), number / 4)
            if not check(params, world, found):
                return None
    return None


def _devices(params: PreflightParams, world: World, found: Findings) -> bool:
    meeting = world.step("devices", lambda: own_device(world), params.step_seconds)
    if found.ended_badly("memory and arithmetic", meeting):
        return False
    if world.reporter:
        found.devices(meeting.values)
    found.done("memory and arithmetic")
    return True


def _connection(params: PreflightParams, world: World, found: Findings) -> bool:
    meeting = world.step("connect", lambda: world.connect(2 * params.step_seconds), params.step_seconds)
    action = (
        "look whether the hosts reach each other: the interface in NCCL_SOCKET_IFNAME or GLOO_SOCKET_IFNAME, firewalls"
    )
    if found.ended_badly("connection", meeting, action):
        return False
    found.done("connection")
    return True


def _pairs(params: PreflightParams, world: World, found: Findings) -> bool:
    """Every round is one step. A rank whose exchange hangs is left out of later rounds: it would blame the innocent."""
    rounds = world.broadcast(schedule(_nodes(world), params.rounds) if world.rank == 0 else None)
    tried: list[Tried] = []
    failed: dict[int, str] = {}
    for pairs in rounds:
        held = {rank for rank, text in failed.items() if text.startswith(NOT_FINISHED)}
        playing = [pair for pair in pairs if not held & set(pair)]
        own = next((pair for pair in playing if world.rank in pair), None)
        meeting = world.step("pair", partial(_meet_partner, world, own, params.step_seconds), params.step_seconds)
        if meeting.missing or TOLD_TO_END in meeting.problems.values():
            return not found.ended_badly("pairs", meeting)
        failed |= meeting.problems
        tried += [_tried(pair, meeting) for pair in playing] if world.reporter else []
    if world.reporter:
        found.pairs(tried, sum(len(pairs) for pairs in rounds))
    if failed:
        found.stop("not reached: pairs of ranks failed")
        return False
    found.done("pairs")
    return True


def _collectives(params: PreflightParams, world: World, found: Findings) -> bool:
    for op in OPS:
        meeting = world.step(op, partial(together, world, op), params.step_seconds)
        if not meeting.fine and unsupported(world, meeting):
            found.skip(op, f"{world.place.backend} has no such collective here: {meeting.problems[0]}")
        elif found.ended_badly(op, meeting):
            return False
        elif world.reporter:
            found.wrong(op, meeting.values)
    found.done("collectives")
    return True


def _nodes(world: World) -> list[list[int]]:
    nodes: dict[str, list[int]] = {}
    for rank, hello in world.hellos.items():
        nodes.setdefault(str(hello["host"]), []).append(rank)
    return list(nodes.values())


def _meet_partner(world: World, pair: Pair | None, seconds: float) -> dict[str, Any] | None:
    return exchange(world, pair, 2 * seconds) if pair else None


def _tried(pair: Pair, meeting: Meeting) -> Tried:
    problem = next((meeting.problems[rank] for rank in pair if rank in meeting.problems), "")
    if problem:
        return Tried(pair, problem=problem)
    told = [meeting.values[rank] for rank in pair]
    return Tried(
        pair, max(one["seconds"] for one in told), wrong=sum(one["wrong"] for one in told), nbytes=told[0]["nbytes"]
    )
