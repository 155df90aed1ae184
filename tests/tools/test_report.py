import json
from pathlib import Path

import pytest

from clusterwright_tools.report import (
    SCHEMA,
    Clocks,
    Expected,
    Finding,
    Metric,
    Report,
    Series,
    Severity,
    Skipped,
    Status,
    spread,
    verdict,
)


def finding(severity: Severity) -> Finding:
    return Finding("code", severity, "evidence", "action", "part/chapter#section")


FULL = Report(
    tool="x",
    status=Status.WARN,
    summary="s",
    parameters={"ops": ["a"]},
    metrics=(
        Metric(
            "busbw",
            38.2,
            "GB/s",
            at={"bytes": 8},
            spread=spread([1.0, 2.0]),
            expected=Expected("t", 40.0),
            clocks=Clocks(2),
        ),
    ),
    findings=(finding(Severity.WARN),),
    skipped=(Skipped("clocks", "no device"),),
    series=(Series("busbw", "bytes", "GB/s", ((8.0, 1.0), (16.0, 2.0))),),
)


def test_json_and_back() -> None:
    assert Report.from_dict(json.loads(FULL.to_json())) == FULL


def test_json_names_schema_and_plain_values() -> None:
    data = FULL.to_dict()
    assert data["schema"] == SCHEMA
    assert (data["status"], data["findings"][0]["severity"]) == ("warn", "warn")


def test_a_value_that_is_not_finite_becomes_null() -> None:
    report = Report("x", Status.UNKNOWN, "", metrics=(Metric("m", float("nan"), "s"),))
    assert json.loads(report.to_json())["metrics"][0]["value"] is None


@pytest.mark.parametrize("data", [{}, {"schema": "other/1"}, FULL.to_dict() | {"extra": 1}])
def test_other_data_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"schema|unknown fields"):
        Report.from_dict(data)


def test_save_leaves_nothing_but_the_report(tmp_path: Path) -> None:
    FULL.save(tmp_path / "r.json")
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
    assert json.loads((tmp_path / "r.json").read_text())["tool"] == "x"


@pytest.mark.parametrize(
    ("severities", "judged", "status"),
    [
        ([], True, Status.PASS),
        ([], False, Status.UNKNOWN),
        ([Severity.INFO], True, Status.PASS),
        ([Severity.INFO, Severity.WARN], True, Status.WARN),
        ([Severity.WARN], False, Status.UNKNOWN),
        ([Severity.WARN, Severity.FAIL], False, Status.FAIL),
    ],
)
def test_verdict(severities: list[Severity], judged: bool, status: Status) -> None:
    assert verdict([finding(one) for one in severities], judged) is status


@pytest.mark.parametrize(("status", "code"), [("pass", 0), ("warn", 0), ("fail", 1), ("unknown", 3)])
def test_exit_codes(status: str, code: int) -> None:
    assert Status(status).exit_code == code


def test_spread_takes_the_nearest_rank() -> None:
    made = spread([float(number) for number in range(1, 101)])
    assert (made.min, made.p50, made.p99, made.max, made.samples) == (1.0, 50.0, 99.0, 100.0, 100)
    assert spread([7.0]).p99 == 7.0
