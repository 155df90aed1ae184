from pathlib import Path

import pytest

from clusterwright import paths
from clusterwright.errors import UserError


@pytest.mark.parametrize("name", ["knowledge", "skills"])
def test_shipped_folders_are_found(name: str) -> None:
    assert any(paths.shipped(name).iterdir())


def test_the_data_folder_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERWRIGHT_DATA", str(tmp_path / "a" / "b"))
    assert paths.data_dir() == tmp_path / "a" / "b" and (tmp_path / "a" / "b").is_dir()


def test_a_data_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CLUSTERWRIGHT_DATA", str(tmp_path / "file" / "data"))
    with pytest.raises(UserError, match="set CLUSTERWRIGHT_DATA to a writable folder"):
        paths.data_dir()


def test_the_configuration_file_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERWRIGHT_CONFIG", str(tmp_path / "x.toml"))
    assert paths.config_file() == tmp_path / "x.toml"
