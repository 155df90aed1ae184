"""Fixtures that every test may use."""

import signal
from collections.abc import Generator
from pathlib import Path

import pytest

# A shell that runs the tests in the background lets them ignore Ctrl-C, and every process they start inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's own data or configuration."""
    monkeypatch.setenv("CLUSTERWRIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("CLUSTERWRIGHT_CONFIG", str(tmp_path / "config.toml"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that skips itself has checked nothing: slow and GPU work has markers, anything else that skips fails."""
    report = yield
    if report.skipped:
        report.outcome, report.longrepr = "failed", f"skipped: {report.longrepr}"
    return report
