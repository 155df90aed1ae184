import json

import pytest

JOIN = """
import json, os, signal, sys, threading
from clusterwright_tools import distributed, world as module
module.GRACE = 0.3
launch = distributed.launcher()
def tell(meeting):
    told = {"missing": meeting.missing, "problems": meeting.problems, "values": meeting.values}
    print(json.dumps({**told, "reporter": world.reporter}), flush=True)
with distributed.join(launch, "gloo", "cpu", hello={"host": "h"}, deadline=20, patience=20) as world:
"""
LEAVE = "\ndistributed.leave(0)\n"


def told(rank):
    return [json.loads(line) for line in rank.stdout.splitlines()]


def test_a_step_gathers_what_every_rank_did(worlds):
    ranks = worlds.start(size=2, script=JOIN + "    tell(world.step('add', lambda: world.rank + 1, 20))" + LEAVE)
    assert [one.wait() for one in ranks] == [0, 0]
    assert told(ranks[0]) == [{"missing": [], "problems": {}, "values": {"0": 1, "1": 2}, "reporter": True}]
    assert told(ranks[1]) == [{"missing": [], "problems": {}, "values": {}, "reporter": False}]


def test_a_failure_on_one_rank_is_known_to_all(worlds):
    script = """
    def work():
        if world.rank == 1:
            raise RuntimeError("CUDA error: an illegal memory access\\nwas encountered")
    tell(world.step('work', work, 20))
"""
    ranks = worlds.start(size=2, script=JOIN + script + LEAVE)
    assert [one.wait() for one in ranks] == [0, 0]
    for one in ranks:
        assert told(one)[0]["problems"] == {"1": "CUDA error: an illegal memory access was encountered"}


def test_work_that_hangs_does_not_hold_its_process(worlds):
    script = """
    def work():
        if world.rank == 1:
            threading.Event().wait()
    tell(world.step('work', work, 0.3))
    tell(world.step('next', lambda: 'on', 20))
"""
    ranks = worlds.start(size=2, script=JOIN + script + LEAVE, real_exit=True)
    assert [one.wait() for one in ranks] == [0, 0]
    first, second = told(ranks[0])
    assert first["problems"] == {"1": "not finished after 0.3 s"}
    assert second["values"] == {"0": "on", "1": "on"}


def test_a_bug_in_one_rank_shows_its_traceback_and_stops_nobody(worlds):
    script = """
    def work():
        return 1 // world.rank
    tell(world.step('work', work, 20))
"""
    ranks = worlds.start(size=2, script=JOIN + script + LEAVE)
    assert [one.wait() for one in ranks] == [0, 0]
    assert told(ranks[1])[0]["problems"] == {"0": "crashed; its traceback is in its log"}
    assert "ZeroDivisionError" in ranks[0].stderr


@pytest.mark.parametrize("number", ["SIGSTOP", "SIGKILL"])
def test_a_rank_that_is_gone_is_named_and_left_out_afterwards(worlds, number):
    script = f"""
    def work():
        if world.rank == 1:
            os.kill(os.getpid(), signal.{number})
    tell(world.step('work', work, 0.3))
    tell(world.meet('after', world.rank, seconds=20))
"""
    ranks = worlds.start(size=3, script=JOIN + script + LEAVE)
    assert [ranks[0].wait(), ranks[2].wait()] == [0, 0]
    first, second = told(ranks[0])
    assert first["missing"] == [1]
    assert second["missing"] == [] and second["values"] == {"0": 0, "2": 2}
    assert told(ranks[2])[0]["missing"] == [1]


def test_the_next_rank_reports_when_rank_0_is_gone_but_the_store_is_not(worlds):
    """As under torchrun, whose agent keeps the store: here a process beside the ranks does."""
    keeper = """
import os, threading
from torch.distributed import TCPStore
if os.environ["RANK"] == "3":
    store = TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), is_master=True, wait_for_workers=False)
    threading.Event().wait()
"""
    script = """
    def work():
        if world.rank == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return world.rank
    tell(world.step('work', work, 0.3))
"""
    agent = {"TORCHELASTIC_USE_AGENT_STORE": "True", "LOCAL_WORLD_SIZE": "4"}
    ranks = worlds.start(size=3, ranks=(0, 1, 2, 3), script=keeper + JOIN + script + LEAVE, **agent)
    assert ranks[1].wait() == 0
    (found,) = told(ranks[1])
    assert found == {"missing": [0], "problems": {}, "values": {"1": 1, "2": 2}, "reporter": True}


def test_the_others_learn_that_the_store_is_gone_with_rank_0(worlds):
    script = """
    world.step('die', lambda: os.kill(os.getpid(), signal.SIGKILL) if world.rank == 0 else None, 5)
"""
    ranks = worlds.start(size=2, script=JOIN + script + LEAVE)
    assert ranks[1].wait() == 1
    assert "StoreLost: rank 0 at 127.0.0.1:" in ranks[1].stderr


def test_sigterm_ends_a_step_early_and_names_who_is_gone(worlds):
    """torchrun sends it to all when one rank died."""
    script = """
    with world.notice_sigterm():
        def work():
            if world.rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            print("working", file=sys.stderr, flush=True)
            threading.Event().wait()
        tell(world.step('work', work, 50))
"""
    ranks = worlds.start(size=3, script=JOIN + script + LEAVE)
    assert ranks[1].wait() == -9
    for one in (ranks[0], ranks[2]):
        one.seen("working")
        one.kill(15)
    assert [ranks[0].wait(), ranks[2].wait()] == [0, 0]
    (found,) = told(ranks[0])
    assert found["missing"] == [1]
    assert set(found["problems"].values()) == {"told to end by SIGTERM"}


def test_ranks_without_a_launcher_need_no_store():
    from clusterwright_tools import distributed
    from clusterwright_tools.launcher import Launcher

    with distributed.join(Launcher(), "gloo", "cpu", hello={"host": "h"}) as world:
        assert world.gather("x") == ["x"]
        assert world.all_gather("x") == ["x"]
        assert world.broadcast("x") == "x"
        assert world.any(True) and not world.any(False)
        assert world.step("work", lambda: 7, 5).values == {0: 7}
