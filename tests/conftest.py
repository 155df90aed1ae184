"""Fixtures that every test may use."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's own data or configuration."""
    monkeypatch.setenv("CLUSTERWRIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("CLUSTERWRIGHT_CONFIG", str(tmp_path / "config.toml"))
