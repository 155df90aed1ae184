import pytest

from clusterwright_tools import nics


@pytest.fixture
def sysfs(tmp_path):
    def port(device, rate, state="4: ACTIVE", number="1"):
        folder = tmp_path / device / "ports" / number
        folder.mkdir(parents=True)
        (folder / "state").write_text(state + "\n")
        (folder / "rate").write_text(rate + "\n")

    port("mlx5_0", "400 Gb/sec (4X NDR)")
    port("mlx5_1", "400 Gb/sec (4X NDR)")
    port("mlx5_2", "400 Gb/sec (4X NDR)", "1: DOWN")
    port("mlx5_bond_0", "25 Gb/sec (1X EDR)")
    return tmp_path


def test_active_ports_of_the_fastest_kind_are_added(sysfs, monkeypatch):
    monkeypatch.delenv("NCCL_IB_HCA", raising=False)
    assert nics.node_gb_s(sysfs) == 100.0


@pytest.mark.parametrize(
    ("hca", "expected"),
    [("mlx5_0", 50.0), ("=mlx5", None), ("^mlx5_0", 50.0), ("mlx5_0:1,mlx5_1:2", 50.0), ("^=mlx5_0,mlx5_1", 3.125)],
)
def test_the_choice_made_for_nccl_counts(sysfs, monkeypatch, hca, expected):
    monkeypatch.setenv("NCCL_IB_HCA", hca)
    assert nics.node_gb_s(sysfs) == expected


def test_without_rdma_nothing_is_known(tmp_path):
    assert nics.node_gb_s(tmp_path / "none") is None
