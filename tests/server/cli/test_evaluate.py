import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from clusterwright import paths
from clusterwright.cli import cli
from clusterwright.knowledge import chapters
from clusterwright.retrieval import evaluate, search
from clusterwright.retrieval.search import Searcher

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


def test_there_are_questions_on_each_of_the_first_chapters() -> None:
    areas = Counter(question.area for question in evaluate.load(SHIPPED))
    assert len(areas) == 8
    assert min(areas.values()) >= 5


def test_lexical_search_alone_answers_most_questions_on_the_shipped_chapters(data: Path) -> None:
    """A guard against a ranking that got worse, not a goal: hybrid search answers more."""
    root = CHECKOUT / "knowledge"
    shipped = {chapter.id for chapter in chapters.load(root)}
    searcher = Searcher(root=root, data=data)
    figures = evaluate.evaluate(
        [question for question in evaluate.load(SHIPPED) if question.area in shipped],
        lambda query: searcher.search(query, limit=evaluate.LIMIT, max_tokens=evaluate.MAX_TOKENS, mode="lexical"),
    )
    assert figures["answered"]["@5"] >= 0.9, figures["missed"]
