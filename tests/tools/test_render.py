import pytest

from clusterwright_tools import render
from clusterwright_tools.report import Clocks, Finding, Metric, Report, Severity, Skipped, Status, spread

REPORT = Report(
    tool="matmul-flops",
    status=Status.WARN,
    summary="best rate 800 TFLOPS",
    environment={"host": "n1", "devices": [{"name": "NVIDIA H200"}], "torch": "2.13.0", "nccl": "", "driver": "580.1"},
    metrics=(
        Metric(
            "best_rate",
            799.96,
            "TFLOPS",
            at={"shape": "1x2x3"},
            spread=spread([790.0, 800.0]),
            percent_of_vendor_peak=80.9,
            clocks=Clocks(3, 1980.0, 1965.0, 1980.0, 1980.0, 400.0, 700.0, 50.0),
        ),
    ),
    findings=(Finding("slow-device", Severity.WARN, "rank 2", "drain it", "hardware/gpu-health#x"),),
    skipped=(Skipped("clocks", "no device"),),
)


def test_everything_that_matters_is_told() -> None:
    text = render.text(REPORT)
    for part in (
        "matmul-flops: WARN",
        "on n1: NVIDIA H200 (torch 2.13.0, driver 580.1)",
        "80.9% of vendor peak",
        "SM 1980 MHz (lowest 1965, limit 1980), 400 W of 700, 50 C, no throttling",
        "WARN slow-device: rank 2",
        "-> drain it",
        "clusterwright read hardware/gpu-health#x",
        "not checked: clocks: no device",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.01533, "0.01533"),
        (1.5, "1.500"),
        (38.24, "38.24"),
        (799.96, "800.0"),
        (1407.3, "1407"),
        (5e8, "5e+08"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert render.number(value) == text
