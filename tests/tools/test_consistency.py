from clusterwright_tools.consistency import differences
from clusterwright_tools.report import Severity

HELLO = {"host": "n1", "torch": "2.11.0", "nccl": "2.28.9", "driver": "580.1", "device": "H200", "visible_devices": 4}


def found(hellos):
    return list(differences(hellos, lambda ranks: f"ranks {ranks}"))


def test_alike_ranks_give_no_finding():
    assert found(dict.fromkeys(range(4), HELLO)) == []


def test_the_odd_ones_are_named_and_not_the_majority():
    hellos = dict.fromkeys(range(4), HELLO) | {2: HELLO | {"nccl": "2.27.3"}}
    (one,) = found(hellos)
    assert (one.code, one.severity) == ("nccl-differs", Severity.FAIL)
    assert one.evidence == "nccl differs: 2.27.3 on ranks (2,); 2.28.9 on the other 3"


def test_a_missing_value_is_a_difference_too():
    hellos = dict.fromkeys(range(4), HELLO) | {0: HELLO | {"driver": ""}}
    (one,) = found(hellos)
    assert one.severity is Severity.WARN
    assert "none on ranks (0,)" in one.evidence


def test_devices_that_nobody_uses_are_told():
    (one,) = found({0: HELLO, 1: HELLO})
    assert (one.code, one.severity) == ("idle-devices", Severity.INFO)
    assert "2 ranks on n1, which shows 4 devices" in one.evidence


def test_a_rank_with_a_single_visible_device_says_nothing_about_the_node():
    assert found({rank: HELLO | {"visible_devices": 1} for rank in range(2)}) == []
