import pytest

from clusterwright_tools import tables
from clusterwright_tools.collective_report import build, busbw, fit
from clusterwright_tools.links import Wire
from clusterwright_tools.report import Clocks, Status
from clusterwright_tools.sweep import Failure, Point, Swept

GIB = 1 << 30
WIRE = Wire("NVLink 4", 450.0, "https://example.com", 0.75, 1.0, 256 << 20)
HELLOS = [{"host": "n1", "device": "NVIDIA H200"}] * 8


@pytest.fixture(autouse=True)
def thresholds(monkeypatch):
    values = {"collective-spread": 0.25}
    monkeypatch.setattr(tables, "threshold", values.__getitem__)


def at(gb_s, op="all_reduce", nbytes=GIB, samples=20, **more):
    """A point that reaches a bus bandwidth with 8 ranks."""
    share = {"all_reduce": 14 / 8, "all_gather": 7 / 8}.get(op, 1)
    return Point(op, nbytes, (nbytes * share / (gb_s * 1e9),) * samples, **more)


def made(*points, wire=WIRE, hellos=HELLOS, failed=""):
    return build(Swept(points=list(points)), failed, wire, hellos)


def codes(report):
    return [finding.code for finding in report.findings]


def test_bus_bandwidth_by_hand():
    # 1 GB in 5 ms over 8 ranks: 200 GB/s, times 14/8.
    assert busbw(Point("all_reduce", 10**9, ()), 8, 0.005) == 350.0
    assert busbw(Point("all_to_all", 10**9, ()), 8, 0.005) == 175.0
    assert busbw(Point("broadcast", 10**9, ()), 8, 0.005) == 200.0


def test_a_good_figure_passes_with_its_share_of_the_wire():
    report = made(at(360))
    assert report.status is Status.PASS
    figures = {metric.name: metric for metric in report.metrics}
    assert figures["busbw"].value == pytest.approx(360)
    assert figures["busbw"].percent_of_wire_rate == pytest.approx(80)
    assert (figures["busbw"].expected.low, figures["busbw"].expected.high) == (337.5, 450)
    assert figures["algbw"].value == pytest.approx(360 * 8 / 14)
    assert report.summary == "all_reduce busbw 360 GB/s at 1GiB (80% of 450 GB/s) over 8 ranks on 1 node"


def test_the_median_of_the_slowest_ranks_counts():
    base = at(400)
    times = (*base.seconds[:3], *(2 * one for one in base.seconds[:2]))
    report = made(Point("all_reduce", GIB, times))
    (figure,) = [metric for metric in report.metrics if metric.name == "busbw"]
    assert figure.value == pytest.approx(400)
    assert (figure.spread.min, figure.spread.p50) == (pytest.approx(200), pytest.approx(400))
    assert codes(report) == ["unstable-collective"]


def test_a_low_figure_is_a_warning():
    report = made(at(200))
    assert report.status is Status.WARN
    assert codes(report) == ["below-wire-rate"]
    assert "44% of the 450 GB/s of NVLink 4; 75% is expected" in report.findings[0].evidence


def test_above_the_wire_rate_is_no_error():
    report = made(at(480))
    assert report.status is Status.PASS
    assert codes(report) == ["above-wire-rate"]


@pytest.mark.parametrize(
    ("point", "check"),
    [(at(100, nbytes=1 << 20), "verdict on all_reduce"), (at(100, op="send_recv"), "verdict on send_recv")],
    ids=["too small", "no expectation for this collective"],
)
def test_what_cannot_be_judged_is_unknown(point, check):
    report = made(point)
    assert report.status is Status.UNKNOWN
    assert codes(report) == []
    assert [one.check for one in report.skipped] == [check]


def test_an_unknown_wire_gives_its_reason():
    report = made(at(100), wire="accelerators.csv has no link")
    assert report.status is Status.UNKNOWN
    assert report.skipped[0].reason == "accelerators.csv has no link"


def test_a_wrong_result_fails_and_names_the_rank_even_without_a_wire():
    report = made(at(360, wrong={3: 17}), at(360, nbytes=2 * GIB), wire="not known")
    assert report.status is Status.FAIL
    assert report.findings[0].code == "wrong-result"
    assert "rank 3: 17 elements at 1GiB" in report.findings[0].evidence


def test_a_collective_that_did_not_complete_fails_with_what_was_measured():
    report = build(Swept([at(360)], failure=Failure("all_reduce", GIB, None)), "all_reduce hung", WIRE, HELLOS)
    assert report.status is Status.FAIL
    assert report.summary == "all_reduce hung"
    assert "busbw" in {metric.name for metric in report.metrics}


def test_gloo_on_the_cpu_is_never_judged():
    report = made(at(1), wire="gloo on the CPU", hellos=[{"host": "n1", "device": "cpu"}] * 8)
    assert (report.status, codes(report)) == (Status.UNKNOWN, ["cpu-gloo"])
    assert report.summary.endswith("gloo on the CPU")


def test_a_hot_gpu_is_told():
    clocks = Clocks(5, sm_mhz_mean=900.0, throttle_reasons=("HW thermal slowdown", "SW power cap"))
    report = made(at(360, clocks=clocks))
    assert report.status is Status.WARN
    assert report.findings[0].evidence == "throttled during all_reduce: HW thermal slowdown"


def test_nothing_measured():
    report = made()
    assert report.status is Status.UNKNOWN
    assert report.summary.startswith("nothing was measured over 8 ranks")


def test_the_fit_gives_back_latency_and_rate():
    points = [Point("all_reduce", n, (20e-6 + n / 200e9,)) for n in (8, 1 << 16, 1 << 24, 1 << 30)]
    latency, rate = fit(points)
    assert latency == pytest.approx(20e-6)
    assert 1 / rate == pytest.approx(200e9)
    assert fit(points[:2]) is None


def test_latency_is_that_of_the_smallest_size_and_the_series_has_all():
    small = Point("all_reduce", 8, (2e-5,) * 3)
    report = made(small, at(360))
    (latency,) = [metric for metric in report.metrics if metric.name == "latency"]
    assert (latency.value, latency.unit, latency.at["bytes"]) == (pytest.approx(20), "us", 8)
    assert [x for x, _ in report.series[0].points] == [8.0, float(GIB)]
