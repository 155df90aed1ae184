import pytest

from clusterwright_tools import distributed, environment
from clusterwright_tools.distributed import Place
from clusterwright_tools.errors import CannotRun
from clusterwright_tools.launcher import Launcher

JOIN = """
import os, signal
from clusterwright_tools import distributed
launch = distributed.launcher()
with distributed.join(launch, "gloo", "cpu", hello={"host": "h"}, deadline=20, patience=20) as world:
"""


def test_objects_travel_between_ranks(worlds):
    ranks = worlds.start(
        size=3,
        script=JOIN
        + """
    print(world.gather(("from", world.rank)))
    print(world.all_gather(world.rank * 10))
    print(world.broadcast(f"{world.rank} says"))
    print(world.any(world.rank == 2), world.any(False))
    world.barrier()
    print(sorted(world.hellos), world.reporter)
""",
    )
    assert [one.wait() for one in ranks] == [0, 0, 0]
    assert ranks[0].stdout.splitlines() == [
        "[('from', 0), ('from', 1), ('from', 2)]",
        "[0, 10, 20]",
        "0 says",
        "True False",
        "[0, 1, 2] True",
    ]
    assert ranks[2].stdout.splitlines() == ["None", "[0, 10, 20]", "0 says", "True False", "[0, 1, 2] False"]


def test_join_names_the_ranks_that_do_not_come(worlds):
    script = JOIN.replace("deadline=20", "deadline=0.5") + "    print('joined')\n"
    ranks = worlds.start(size=3, ranks=(0, 1), script=script)
    assert all(one.wait() for one in ranks)
    for one in ranks:
        assert "did not come to the roll call: rank 2" in one.stderr
        assert one.stdout == ""


def test_a_problem_of_one_rank_stops_all(worlds):
    script = JOIN.replace('{"host": "h"}', '{"host": "h", "problem": "no GPU left" if launch.rank else ""}')
    ranks = worlds.start(size=2, script=script + "    print('joined')\n")
    assert all(one.wait() for one in ranks)
    assert "rank 1: no GPU left" in ranks[0].stderr
    assert ranks[0].stdout == ranks[1].stdout == ""


def test_a_store_that_does_not_answer_is_named_within_the_deadline(worlds):
    script = JOIN.replace("deadline=20", "deadline=0.5") + "    pass\n"
    (one,) = worlds.start(size=2, ranks=(1,), script=script)
    assert one.wait() != 0
    assert "rank 0 does not answer at 127.0.0.1:" in one.stderr
    assert "Connection refused" in one.stderr


def test_ranks_that_disagree_about_the_size_of_the_world(worlds):
    script = "import os\nos.environ['WORLD_SIZE'] = str(2 + int(os.environ['RANK']))\n"
    ranks = worlds.start(size=2, script=script + JOIN.replace("deadline=20", "deadline=0.5") + "    pass\n")
    assert all(one.wait() for one in ranks)
    assert "WORLD_SIZE is" in "".join(one.stderr for one in ranks)


@pytest.fixture
def devices(monkeypatch):
    """A machine with as many GPUs as are asked for."""

    def have(count):
        class Cuda:
            device_count = staticmethod(lambda: count)

        class Library:
            cuda = Cuda
            distributed = type("distributed", (), {"is_nccl_available": staticmethod(lambda: True)})

        monkeypatch.setattr(environment, "torch", lambda: Library)
        monkeypatch.setattr(environment, "use_cpu", lambda: count == 0)
        monkeypatch.setattr(environment, "device_uuid", lambda index: f"GPU-{index}")

    return have


def test_place_takes_the_device_of_the_local_rank(devices):
    devices(8)
    assert distributed.place(Launcher(rank=11, size=16, local_rank=3, local_size=8)) == Place(
        "nccl", "cuda:3", 3, "GPU-3"
    )


def test_place_takes_the_only_device_that_is_shown(devices):
    devices(1)
    assert distributed.place(Launcher(rank=3, size=4, local_rank=3, local_size=4)).device == "cuda:0"


def test_place_refuses_more_ranks_than_devices(devices):
    devices(2)
    with pytest.raises(CannotRun, match=r"4 ranks on this node but 2 GPUs; .*--nproc-per-node 2"):
        distributed.place(Launcher(rank=2, size=4, local_rank=2, local_size=4))


def test_place_without_devices_is_the_cpu(devices):
    devices(0)
    assert distributed.place(Launcher()) == Place("gloo", "cpu")


def test_ranks_on_one_device_are_named():
    hellos = {0: {"uuid": "GPU-a"}, 1: {"uuid": "GPU-b"}, 2: {"uuid": "GPU-a"}}
    assert distributed.sharing(hellos).startswith("ranks 0, 2 all have GPU-a; start one rank per GPU")
    assert distributed.sharing({0: {"uuid": "GPU-a"}, 1: {"uuid": "GPU-b"}}) == ""
    assert distributed.sharing({0: {"uuid": ""}, 1: {"uuid": ""}}) == ""
