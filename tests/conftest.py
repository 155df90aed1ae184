"""Fixtures that every test may use."""

import signal
from pathlib import Path

import pytest

# A shell that runs the tests in the background lets them ignore Ctrl-C, and every process they start inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's own data or configuration."""
    monkeypatch.setenv("CLUSTERWRIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("CLUSTERWRIGHT_CONFIG", str(tmp_path / "config.toml"))
