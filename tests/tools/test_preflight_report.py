import pytest

from clusterwright_tools import environment, tables
from clusterwright_tools.launcher import Launcher
from clusterwright_tools.meeting import Meeting
from clusterwright_tools.pairs import Tried
from clusterwright_tools.preflight_report import CHECKS, Findings
from clusterwright_tools.report import Clocks, Severity, Status
from clusterwright_tools.roll import Place, RollCall
from clusterwright_tools.world import World

GOOD = {"wrong": 0, "error": 0.002, "seconds": 1e-3, "flop": 10**12, "repeats": True, "digest": 7, "clocks": None}


@pytest.fixture
def found(monkeypatch):
    values = {
        "preflight-compute-rel-error": 0.02,
        "device-spread": 0.05,
        "device-spread-fail": 0.1,
        "pair-slow-factor": 2,
    }
    monkeypatch.setattr(tables, "threshold", values.__getitem__)
    monkeypatch.setattr(environment, "describe", lambda hellos, index: {"ranks": len(hellos)})
    hellos = {rank: {"host": f"n{rank // 4}", "device": "H200"} for rank in range(8)}
    launch = Launcher(0, 8, 0, 4)
    return Findings(World(RollCall(launch, hellos, (), {}, None), Place("nccl", "cuda:0"), 10))


@pytest.fixture
def finished(found):
    for check in CHECKS:
        found.done(check)
    return found


def only(found):
    (finding,) = found.report().findings
    return finding


def test_all_done_and_nothing_found_passes(finished):
    finished.devices(dict.fromkeys(range(8), GOOD))
    report = finished.report()
    assert (report.status, report.summary) == (Status.PASS, "8 ranks on 2 nodes: fit for a job")
    assert report.skipped == ()


def test_a_check_that_was_not_made_never_passes(found):
    for check in CHECKS[:-1]:
        found.done(check)
    found.stop("stopped")
    report = found.report()
    assert report.status is Status.UNKNOWN
    assert [(one.check, one.reason) for one in report.skipped] == [("collectives", "stopped")]


@pytest.mark.parametrize(
    ("odd", "code"),
    [
        ({"wrong": 3}, "memory-wrong"),
        ({"error": 0.5}, "compute-wrong"),
        ({"error": float("nan")}, "compute-wrong"),
        ({"repeats": False}, "compute-varies"),
    ],
)
def test_a_device_that_computes_wrongly_fails(finished, odd, code):
    finished.devices({rank: GOOD | (odd if rank == 5 else {}) for rank in range(8)})
    finding = only(finished)
    assert (finding.code, finding.severity) == (code, Severity.FAIL)
    assert finding.evidence.startswith("rank 5 (host n1)")


@pytest.mark.parametrize(("seconds", "severity"), [(1.08e-3, Severity.WARN), (1.3e-3, Severity.FAIL)])
def test_a_slow_device_is_compared_with_the_median(finished, seconds, severity):
    finished.devices({rank: GOOD | ({"seconds": seconds} if rank == 2 else {}) for rank in range(8)})
    finding = only(finished)
    assert (finding.code, finding.severity) == ("device-slow", severity)
    assert "rank 2 (host n0) compute at" in finding.evidence


def test_a_device_with_other_bits_than_its_like(finished):
    finished.devices({rank: GOOD | ({"digest": 8} if rank == 6 else {}) for rank in range(8)})
    assert only(finished).evidence.startswith("the same product has other bits on rank 6 (host n1)")


def test_a_hot_device(finished):
    clocks = Clocks(3, throttle_reasons=("SW power cap", "HW slowdown"))
    finished.devices({rank: GOOD | ({"clocks": clocks} if rank == 1 else {}) for rank in range(8)})
    assert only(finished).evidence == "rank 1 (host n0) is throttled: HW slowdown"


def tried(bad=(), **how):
    pairs = [(a, b) for a in range(8) for b in range(a + 1, 8)]
    return [Tried(pair, **how) if pair in bad else Tried(pair, 0.001, nbytes=10**6) for pair in pairs]


def test_good_pairs(finished):
    finished.pairs(tried(), 28)
    report = finished.report()
    (metric,) = report.metrics
    assert (metric.name, metric.value, metric.spread.samples) == ("pair bandwidth", pytest.approx(1.0), 28)
    assert report.findings == () and report.skipped == ()


def test_a_rank_that_fails_with_all_is_blamed(finished):
    finished.pairs(tried([(a, b) for a in range(8) for b in range(8) if 3 in (a, b)], problem="NCCL error"), 28)
    finding = only(finished)
    assert (finding.code, finding.severity) == ("pair-failed", Severity.FAIL)
    assert finding.evidence == "7 of 28 pairs: rank 3 (host n0) with every partner (NCCL error)"


def test_a_slow_link_is_a_warning_with_both_ends(finished):
    finished.pairs(tried([(0, 1)], seconds=0.005, nbytes=10**6), 28)
    finding = only(finished)
    assert (finding.code, finding.severity) == ("pair-slow", Severity.WARN)
    assert "ranks 0 (n0) and 1 (n0) with each other: 5.0 times the median time" in finding.evidence


def test_wrong_values_of_a_pair_fail(finished):
    finished.pairs(tried([(2, 5)], seconds=0.001, wrong=9, nbytes=10**6), 28)
    assert "ranks 2 (n0) and 5 (n1) with each other: 9 wrong elements" in only(finished).evidence


def test_pairs_that_were_not_tried_are_listed(finished):
    finished.pairs(tried()[:20], 24)
    assert [one.check for one in finished.report().skipped] == ["4 pairs", "4 pairs"]


def test_a_wrong_collective_names_its_ranks(finished):
    finished.wrong("all_gather", {0: 0, 1: 5, 2: 0})
    assert only(finished).evidence == "all_gather gave wrong values on rank 1 (host n0)"


def test_a_lost_rank(found):
    assert found.ended_badly("connection", Meeting({}, (6,), {0: "not finished after 20 s"}))
    finding = only(found)
    assert finding.code == "rank-lost"
    assert "no answer from rank 6 (host n1)" in finding.evidence


def test_a_failed_rank_keeps_its_reason(found):
    assert found.ended_badly("connection", Meeting({}, (), {2: "no route to host"}), "look at the network")
    finding = only(found)
    assert (finding.code, finding.action) == ("rank-failed", "look at the network")
    assert "rank 2 (host n0): no route to host" in finding.evidence


def test_an_end_from_outside_is_no_failure(found):
    assert found.ended_badly("pairs", Meeting({}, (), dict.fromkeys(range(8), "told to end by SIGTERM")))
    assert found.report().status is Status.UNKNOWN


def test_a_step_that_went_well_is_none(found):
    assert not found.ended_badly("pairs", Meeting({0: 1}))


def test_shared_devices(found):
    found.shared("ranks 0, 2 all have GPU-a; start one rank per GPU")
    finding = only(found)
    assert (finding.evidence, finding.action) == ("ranks 0, 2 all have GPU-a", "start one rank per GPU")
