import pytest

from clusterwright_tools.errors import CannotRun
from clusterwright_tools.launcher import Launcher, expand_hosts, launcher, whereabouts


def test_without_a_launcher_a_process_is_alone():
    assert launcher({}) == Launcher(rank=0, size=1, local_rank=0, local_size=1)


def test_torchrun():
    told = launcher(
        {
            "RANK": "11",
            "WORLD_SIZE": "16",
            "LOCAL_RANK": "3",
            "LOCAL_WORLD_SIZE": "8",
            "MASTER_ADDR": "n1",
            "MASTER_PORT": "1234",
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "TORCHELASTIC_RESTART_COUNT": "2",
        }
    )
    assert told == Launcher(11, 16, 3, 8, "n1", 1234, agent_store=True, attempt="2")


@pytest.mark.parametrize(
    ("address", "local"),
    [("127.0.0.1", (3, 4)), ("n1", (0, 1))],
    ids=["on one host all ranks are local", "between hosts one rank is on each"],
)
def test_by_hand_without_local_ranks(address, local):
    told = launcher({"RANK": "3", "WORLD_SIZE": "4", "MASTER_ADDR": address, "MASTER_PORT": "1"})
    assert (told.local_rank, told.local_size) == local


SRUN = {
    "SLURM_PROCID": "9",
    "SLURM_NTASKS": "12",
    "SLURM_STEP_NUM_TASKS": "12",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1",
    "SLURM_JOB_ID": "70123",
    "SLURM_JOB_NODELIST": "gpu[07-09]",
    "SLURM_STEP_TASKS_PER_NODE": "8,4",
}


def test_srun():
    told = launcher(SRUN)
    assert (told.rank, told.size, told.local_rank, told.local_size) == (9, 12, 1, 4)
    assert (told.address, told.hosts) == ("gpu07", ("gpu07", "gpu08", "gpu09"))
    assert told.port == 20000 + 70123 % 20000


def test_a_batch_script_is_one_process_although_slurm_names_its_tasks():
    batch = {name: value for name, value in SRUN.items() if "STEP" not in name}
    assert launcher(batch | {"SLURM_PROCID": "0"}).size == 1


def test_torchrun_inside_srun_counts():
    assert launcher(SRUN | {"RANK": "1", "WORLD_SIZE": "2"}).rank == 1


def test_open_mpi_on_one_host():
    ompi = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
    ompi |= {"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
    assert launcher(ompi) == Launcher(1, 2, 1, 2)
    with pytest.raises(CannotRun, match="mpirun -x MASTER_ADDR"):
        launcher(ompi | {"OMPI_COMM_WORLD_SIZE": "4"})


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"RANK": "0"}, "WORLD_SIZE is not set"),
        ({"WORLD_SIZE": "2"}, "RANK is not set"),
        ({"RANK": "two", "WORLD_SIZE": "2"}, "RANK=two is not a number"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "rank 2 of 2"),
    ],
)
def test_contradictions_are_refused(variables, message):
    with pytest.raises(CannotRun, match=message):
        launcher(variables)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1", ("n1",)),
        ("n[1-3]", ("n1", "n2", "n3")),
        ("n[08-10,12],login", ("n08", "n09", "n10", "n12", "login")),
        ("a[1-2]-ib,b3", ("a1-ib", "a2-ib", "b3")),
        ("", ()),
    ],
)
def test_host_lists(text, hosts):
    assert expand_hosts(text) == hosts


def test_a_node_that_is_missing_as_a_whole_is_named_as_one():
    launch = Launcher(0, 16, 0, 8, hosts=("n1", "n2"))
    assert whereabouts(tuple(range(8, 16)), launch, {}) == "ranks 8-15: the second node (host n2)"


def test_a_missing_rank_is_where_its_neighbours_are():
    launch = Launcher(0, 16, 0, 8)
    assert whereabouts((3, 5, 6, 12), launch, {0: "n1", 8: "n2"}) == "ranks 3, 5-6 (host n1); rank 12 (host n2)"


def test_a_node_of_which_nobody_came_has_no_name():
    assert whereabouts(tuple(range(24, 32)), Launcher(0, 32, 0, 8), {0: "n1"}) == "ranks 24-31: the 4th node"
