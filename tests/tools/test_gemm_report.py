import dataclasses
from typing import Any

import pytest

from clusterwright_tools import environment, gemm_report, tables
from clusterwright_tools.gemm import Shape, Timing
from clusterwright_tools.report import Clocks, Report, Severity, Status
from clusterwright_tools.tools.matmul_flops import Measured

SHAPE = Shape(2048, 2048, 11264)
BOOST = Clocks(5, 1980.0, 1980.0, 1980.0, 1980.0, 400.0, 700.0, 50.0)
CAPPED = Clocks(50, 1480.0, 1400.0, 1600.0, 1980.0, 690.0, 700.0, 64.0, ("SW power cap",))


def timing(tflops: float, clocks: Clocks = BOOST, rested: bool = True) -> Timing:
    return Timing(SHAPE, (SHAPE.flop / tflops / 1e12,) * 3, 1, clocks, rested)


def measured(best: float = 800, steady: float = 680, **changed: Any) -> Measured:
    made = Measured("bfloat16", "", (timing(best),) * 3, timing(steady, CAPPED), 0.01, 3000)
    return dataclasses.replace(made, **changed)


@pytest.fixture(autouse=True)
def no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "describe", lambda hellos, index: {"host": "n1", "devices": []})


def build(*ranks: Measured, device: str = "NVIDIA H200") -> Report:
    hellos = [{"host": "n1", "device": device, "uuid": f"GPU-{rank}"} for rank in range(len(ranks))]
    return gemm_report.build([[one] for one in ranks], hellos, 0)


def codes(report: Report) -> dict[str, Severity]:
    return {finding.code: finding.severity for finding in report.findings}


def test_a_healthy_device() -> None:
    report = build(measured())
    assert report.status is Status.PASS
    assert codes(report) == {"power-limited": Severity.INFO}
    best, steady = report.metrics
    assert (best.name, round(best.value), steady.name, round(steady.value)) == ("best_rate", 800, "sustained_rate", 680)
    assert best.percent_of_vendor_peak == pytest.approx(80.9, abs=0.1)


def test_the_peak_at_the_clock_observed() -> None:
    """132 SMs x 4096 dense FLOP per clock x 1980 MHz = 1070.5 TFLOPS."""
    assert build(measured()).metrics[0].percent_of_clock_peak == pytest.approx(100 * 800 / 1070.5, abs=0.1)


def test_a_low_rate_warns() -> None:
    assert codes(build(measured(best=500)))["below-expected-rate"] is Severity.WARN


def test_a_low_rate_of_another_vendor_is_not_judged() -> None:
    assert "below-expected-rate" not in codes(build(measured(best=668), device="AMD Instinct MI300X"))


def test_a_clock_that_the_power_limit_does_not_explain_warns() -> None:
    slow = dataclasses.replace(CAPPED, sm_mhz_mean=900.0)
    assert codes(build(measured(sustained=timing(400, slow))))["low-sustained-clock"] is Severity.WARN


def test_heat_warns() -> None:
    hot = dataclasses.replace(CAPPED, throttle_reasons=("SW power cap", "HW thermal slowdown"))
    report = build(measured(sustained=timing(500, hot)))
    assert report.status is Status.WARN
    assert codes(report) == {"hardware-throttle": Severity.WARN}


def test_a_clock_that_never_comes_back_warns() -> None:
    assert codes(build(measured(boost=(timing(700, rested=False),))))["no-boost-clock"] is Severity.WARN


@pytest.mark.parametrize("error", [0.5, float("nan")])
def test_a_wrong_result_fails(error: float) -> None:
    report = build(measured(error=error))
    assert report.status is Status.FAIL
    assert "rank 0" in next(one for one in report.findings if one.code == "wrong-result").evidence


@pytest.mark.parametrize(("slow", "severity"), [(780, None), (740, Severity.WARN), (600, Severity.FAIL)])
def test_the_slow_device_is_named(slow: float, severity: Severity | None) -> None:
    ranks = [measured(), measured(), measured(best=slow), measured()]
    report = build(*ranks)
    found = [one for one in report.findings if one.code == "slow-device"]
    assert [one.severity for one in found] == ([severity] if severity else [])
    assert all("rank 2" in one.evidence and "GPU-2" in one.evidence for one in found)


def test_an_unknown_device_is_not_judged() -> None:
    report = build(measured(), device="Some GPU")
    assert report.status is Status.UNKNOWN
    assert report.metrics[0].percent_of_vendor_peak is None
    assert any("accelerators.csv" in one.reason for one in report.skipped)


def test_an_unstable_figure_is_told() -> None:
    report = build(measured(boost=(timing(800), timing(700), timing(810))))
    assert codes(report)["unstable"] is Severity.INFO
    assert report.metrics[0].value == pytest.approx(800)


def test_every_section_named_is_a_section_id() -> None:
    for name in ("REACHED", "SUSTAINED", "SLOW", "CLOCK"):
        assert "#" in getattr(gemm_report, name)
    assert tables.threshold("device-spread") < tables.threshold("device-spread-fail")
