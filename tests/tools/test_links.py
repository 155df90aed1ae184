import pytest

from clusterwright_tools import tables
from clusterwright_tools.links import wire

GPU = {"host": "n1", "device": "NVIDIA H200", "nic_gb_s": None}


@pytest.fixture
def known(monkeypatch):
    rows = {
        "accelerators": ({"device_name_pattern": "NVIDIA H200.*", "scaleup_link": "NVLink 4"},),
        "interconnects": (
            {
                "name": "NVLink 4",
                "kind": "nvlink",
                "links": "18",
                "gb_s_per_direction": "450",
                "expected_busbw_low_fraction": "0.75",
                "expected_busbw_high_fraction": "",
                "source": "https://example.com",
            },
        ),
        "thresholds": (
            {"id": "busbw-fraction-low", "value": "0.7"},
            {"id": "busbw-judge-bytes", "value": "1000"},
            {"id": "busbw-judge-bytes-network", "value": "4000"},
        ),
    }
    monkeypatch.setattr(tables, "rows", rows.__getitem__)
    return rows


def test_within_a_node_it_is_the_link_of_the_gpu(known):
    found = wire([GPU, GPU])
    assert (found.name, found.gb_s, found.low, found.high) == ("NVLink 4", 450.0, 0.75, None)


def test_a_link_without_a_bound_of_its_own_takes_the_rule_of_thumb(known):
    known["interconnects"][0]["expected_busbw_low_fraction"] = ""
    assert wire([GPU, GPU]).low == 0.7


@pytest.mark.parametrize(("ranks", "gb_s", "name"), [(2, 64, "1 of 7 links"), (4, 192, "3 of 7 links"), (8, 448, "")])
def test_in_a_mesh_without_a_switch_each_neighbour_has_one_link(known, ranks, gb_s, name):
    known["interconnects"][0].update(kind="xgmi", links="7", gb_s_per_direction="448")
    found = wire([GPU] * ranks)
    assert found.gb_s == pytest.approx(gb_s) and name in found.name


def test_between_nodes_only_larger_messages_are_judged(known):
    assert wire([GPU, GPU]).judge_bytes == 1000
    assert wire([GPU | {"nic_gb_s": 400.0}, GPU | {"host": "n2", "nic_gb_s": 400.0}]).judge_bytes == 4000


def test_between_nodes_it_is_the_weakest_nodes_ports(known):
    found = wire([GPU | {"nic_gb_s": 400.0}, GPU | {"host": "n2", "nic_gb_s": 350.0}])
    assert (found.gb_s, found.low) == (350.0, 0.7)


@pytest.mark.parametrize(
    ("hellos", "reason"),
    [
        ([GPU | {"device": "cpu"}] * 2, "gloo on the CPU"),
        ([GPU | {"device": "Unheard Of 9000"}] * 2, "no link between GPUs for 'Unheard Of 9000'"),
        ([GPU, GPU | {"device": "NVIDIA H100"}], "different GPUs"),
        ([GPU | {"nic_gb_s": 50.0}, GPU | {"host": "n2"}], "no active RDMA port is listed on n2"),
    ],
)
def test_what_is_not_known_is_said(known, hellos, reason):
    assert reason in wire(hellos)
