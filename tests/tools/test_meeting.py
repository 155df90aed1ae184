import socket
import time

import pytest

from clusterwright_tools.errors import CannotRun
from clusterwright_tools.launcher import Launcher
from clusterwright_tools.meeting import Store, StoreLost
from clusterwright_tools.task import Task


@pytest.fixture
def port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def store(port):
    """Opens the store of a rank; rank 0, which keeps it, comes first."""
    kept = []

    def opened(rank, size=3):
        kept.append(Store(Launcher(rank, size, rank, size, port=port), "test", 5))
        return kept[-1]

    return opened


def together(stores, ranks, seconds, **more):
    tasks = [
        Task(
            lambda one=one, rank=rank: one.meet(
                "m", f"from {rank}", more.get("problem", "") if rank else "", seconds, ranks, False
            )
        )
        for rank, one in stores.items()
    ]
    for task in tasks:
        assert task.wait(30)
    return [task.error or task.result for task in tasks]


def test_all_come(store):
    first, second = together({0: store(0, 2), 1: store(1, 2)}, range(2), lambda: 20)
    assert first.values == {0: "from 0", 1: "from 1"} and first.fine
    assert second.values == {} and second.fine


def test_problems_are_told_to_everybody(store):
    for one in together({0: store(0, 2), 1: store(1, 2)}, range(2), lambda: 20, problem="two\nlines"):
        assert one.problems == {1: "two lines"}
        assert not one.fine


def test_who_is_missing_is_agreed_on(store):
    end = time.monotonic() + 0.3
    first, third = together({0: store(0), 2: store(2)}, range(3), lambda: end - time.monotonic())
    assert first.missing == third.missing == (1,)
    assert first.values == {0: "from 0", 2: "from 2"}


def test_a_meeting_without_lost_ranks_does_not_wait_for_them(store):
    first, third = together({0: store(0), 2: store(2)}, (0, 2), lambda: 20)
    assert first.values == {0: "from 0", 2: "from 2"}
    assert first.fine and third.fine


def test_who_comes_late_is_told_so(store):
    keeper = store(0)
    assert keeper.meet("m", "", "", lambda: -1, range(3), False).missing == (1, 2)
    with pytest.raises(CannotRun, match="rank 1 came too late"):
        store(1).meet("m", "", "", lambda: 20, range(3), False)


def test_a_value_is_left_for_the_others(store):
    keeper, other = store(0, 2), store(1, 2)
    keeper.put("plan", {"bytes": 8})
    assert other.take("plan", 5) == {"bytes": 8}
    with pytest.raises(CannotRun, match="rank 0 went silent"):
        other.take("never", 0.05)


def test_a_rank_is_claimed_once(store):
    store(0, 2)
    store(1, 2).claim()
    with pytest.raises(CannotRun, match="two processes have rank 1"):
        store(1, 2).claim()


def test_the_size_of_the_world_is_claimed_too(store):
    store(0, 2).claim()
    with pytest.raises(CannotRun, match="WORLD_SIZE is 3 here and 2 for another rank"):
        store(1, 3).claim()


def test_a_port_that_is_taken_is_named(port):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        with pytest.raises(CannotRun, match=rf"rank 0 cannot listen on 127.0.0.1:{port} .*MASTER_PORT to a free port"):
            Store(Launcher(0, 2, port=port), "test", 1)


def test_a_host_that_does_not_exist_is_named():
    with pytest.raises(StoreLost, match=r"rank 0 does not answer at nowhere\.invalid:1 within 0\.1 s"):
        Store(Launcher(1, 2, address="nowhere.invalid", port=1), "test", 0.1)
