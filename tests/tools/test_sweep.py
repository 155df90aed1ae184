import time

import pytest

from clusterwright_tools.launcher import Launcher
from clusterwright_tools.meeting import Meeting
from clusterwright_tools.report import Clocks
from clusterwright_tools.roll import Place, RollCall
from clusterwright_tools.sweep import Plan, Point, Swept, _jobs, _take, sizes, unsupported
from clusterwright_tools.world import World

PLAN = Plan(("all_reduce",), "float32", sizes(8, 1 << 30, 2), 20, 5, 60.0, 60.0)
FREE = 1 << 40


def played(plan, seconds_for, free=FREE, stop_at=None):
    """What rank 0 would plan, if a message of n bytes took `seconds_for(n)`."""
    found, jobs = Swept(), []
    for job in _jobs(plan.ops[0], plan, free, time.monotonic(), found, 2):
        jobs.append(job)
        found.points.append(Point("all_reduce", job["nbytes"], (seconds_for(job["nbytes"]),) * job["iterations"]))
        found.stopped = job["nbytes"] == stop_at
    return [job for job in jobs if job["record"]], found


def test_sizes_grow_by_the_factor_and_end_at_the_largest():
    assert sizes(8, 64, 2) == (8, 16, 32, 64)
    assert sizes(8, 100, 4) == (8, 32, 100)
    assert sizes(64, 64, 2) == (64,)


def test_a_fast_link_gets_all_iterations_of_all_sizes():
    jobs, found = played(PLAN, lambda n: 1e-5 + n / 400e9)
    assert [job["nbytes"] for job in jobs] == list(PLAN.sizes)
    assert {(job["iterations"], job["warmup"]) for job in jobs} == {(20, 5)}
    assert [job["sample"] for job in jobs] == [False] * 27 + [True]
    assert len(found.points) == len(jobs) and not found.skipped


def test_a_slow_link_gets_fewer_iterations_within_the_budget():
    jobs, found = played(PLAN, lambda n: 1e-3 + n / 1e9)
    assert jobs[-1]["nbytes"] == 1 << 30
    assert 2 <= jobs[-1]["iterations"] < 10
    spent = sum((job["iterations"] + job["warmup"]) * (1e-3 + job["nbytes"] / 1e9) for job in jobs)
    assert spent < 60
    assert not found.skipped


def test_a_link_that_is_too_slow_for_the_largest_sizes_says_so():
    jobs, found = played(PLAN, lambda n: 1e-3 + n / 1e7)
    assert jobs[-1]["nbytes"] < 1 << 30
    (skipped,) = found.skipped
    assert "raise seconds and deadline" in skipped.reason


def test_memory_limits_the_largest_size():
    jobs, found = played(PLAN, lambda n: 1e-5, free=1 << 30)
    assert jobs[-1]["nbytes"] == 1 << 28
    assert "all_reduce above 256MiB" in found.skipped[0].check
    assert "least free memory has 1GiB" in found.skipped[0].reason


def test_no_memory_at_all():
    jobs, found = played(PLAN, lambda n: 1e-5, free=4)
    assert jobs == [] and found.points == []
    assert found.skipped[0].check == "all_reduce above 0B"


def test_a_stop_ends_the_plan():
    jobs, found = played(PLAN, lambda n: 1e-5, stop_at=32)
    assert [job["nbytes"] for job in jobs] == [8, 16, 32]
    assert found.skipped[0].reason == "stopped"


@pytest.mark.parametrize(
    ("backend", "meeting", "expected"),
    [
        ("gloo", Meeting({}, (), {0: "Invalid scalar type", 1: "Invalid scalar type"}), True),
        ("gloo", Meeting({}, (), {0: "ProcessGroupGloo does not support alltoall"}), False),
        ("gloo", Meeting({}, (), {0: "does not support it", 1: "Connection reset by peer"}), False),
        ("gloo", Meeting({}, (1,), {0: "does not support it"}), False),
        ("nccl", Meeting({}, (), {0: "unsupported", 1: "unsupported"}), False),
    ],
)
def test_only_gloo_may_lack_a_collective_and_only_on_all_ranks(backend, meeting, expected):
    world = World(RollCall(Launcher(0, 2), {0: {}, 1: {}}, (), {}, None), Place(backend, "cpu"), 1)
    assert unsupported(world, meeting) is expected


def test_the_slowest_rank_decides_each_iteration():
    told = {"nbytes": 1024, "stopped": False, "wrong": 0, "clocks": None}
    cool, warm = Clocks(2, sm_mhz_mean=1980.0), Clocks(2, sm_mhz_mean=1500.0)
    found = Swept()
    values = {
        0: told | {"seconds": [1.0, 5.0, 2.0], "clocks": cool},
        1: told | {"seconds": [3.0, 4.0, 1.0], "wrong": 6, "clocks": warm, "stopped": True},
    }
    _take(found, {"op": "all_reduce"}, Meeting(values))
    assert found.points == [Point("all_reduce", 1024, (3.0, 5.0, 2.0), {1: 6}, warm)]
    assert found.stopped
