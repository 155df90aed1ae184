import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from clusterwright import paths
from clusterwright.cli import cli
from clusterwright.retrieval import search

CHECKOUT = Path(__file__).parents[3]
SHIPPED = CHECKOUT / "evals/questions.jsonl"


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    records = [
        {"id": "a", "query": "xid 79", "facts": [["fallen off"]], "area": "gpu", "source": "own"},
        {"id": "b", "query": "all-reduce", "facts": [["never written"]], "area": "network", "source": "own"},
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


@pytest.fixture
def small(root: Path, embedder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "shipped", lambda name: root.parent / name)
    monkeypatch.setattr(search, "Embedder", lambda settings, data: embedder)


@pytest.mark.usefixtures("small")
def test_figures_and_misses_are_reported(questions: Path) -> None:
    arguments = ["eval", "retrieval", str(questions)]
    figures = json.loads(CliRunner().invoke(cli, [*arguments, "--json"], catch_exceptions=False).stdout)
    assert figures["answered"]["@1"] == 0.5
    assert [miss["id"] for miss in figures["missed"]] == ["b"]
    assert figures["modes"] == ["hybrid"]
    shown = CliRunner().invoke(cli, [*arguments, "--mode", "lexical"], catch_exceptions=False).stdout
    assert "mode: lexical" in shown
    assert "b  all-reduce" in shown
