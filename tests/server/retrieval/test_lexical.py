import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from clusterwright.errors import UserError
from clusterwright.knowledge import chapters
from clusterwright.retrieval import lexical, tokens
from clusterwright.retrieval.lexical import Lexical

DOCUMENTS = [
    "the nccl watchdog timed out",
    "a gpu fell off the bus: Xid 79",
    "lustre striping of a checkpoint",
    "gpu memory",
]


def index() -> Lexical:
    return Lexical.build((str(number), tokens.terms(text)) for number, text in enumerate(DOCUMENTS))


def search(query: str, expansion: str = "", limit: int = 10) -> list[str]:
    return index().search(tokens.terms(query), tokens.terms(expansion), limit)


def test_documents_are_found_by_any_spelling_of_their_terms() -> None:
    assert search("XID #79")[0] == "1"
    assert search("checkpoints striped on Lustre") == ["2"]


def test_what_shares_no_term_is_not_found() -> None:
    assert search("kubernetes") == []
    assert search("") == []


def test_expansion_reorders_but_finds_nothing_alone() -> None:
    assert search("gpu", "memory") == ["3", "1"]
    assert search("gpu", "bus xid") == ["1", "3"]
    assert search("kubernetes", "memory") == []


def test_limit() -> None:
    assert search("gpu", limit=1) == ["3"]


def test_of_a_long_query_the_rare_terms_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "MAX_TERMS", 1)
    assert search("gpu lustre") == ["2"]


def test_a_saved_index_answers_the_same(tmp_path: Path) -> None:
    made = index()
    made.save(tmp_path / "lexical")
    loaded = Lexical.load(tmp_path / "lexical")
    assert loaded.ids == ["0", "1", "2", "3"]
    assert loaded.search(["gpu"], ["memory"], 5) == made.search(["gpu"], ["memory"], 5)


def test_the_library_does_not_log_every_step(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        index()
    assert caplog.records == []


def test_a_rare_term_tells_more_than_a_common_one() -> None:
    weights = index().weights(["gpu", "lustr", "unknown"])
    assert weights["lustr"] > weights["gpu"] > 0
    assert "unknown" not in weights


def test_ids_that_do_not_fit_the_index_are_damage(tmp_path: Path) -> None:
    index().save(tmp_path)
    (tmp_path / "ids.json").write_text('["0"]')
    with pytest.raises(UserError, match="is damaged"):
        Lexical.load(tmp_path)


def test_a_long_section_is_one_result_however_many_parts_it_has(root: Path, chapter: Callable[..., None]) -> None:
    rows = "\n".join(f"| {n} | the meaning of number {n} in some words |" for n in range(400))
    chapter("debugging/a", f"## Codes\n\n| code | meaning |\n|---|---|\n{rows}\n\n## Empty\n")
    book = [one for one in chapters.load(root) if one.id == "debugging/a"]
    made = lexical.index(book)
    assert len(made.ids) > 2
    assert made.search(["377", "mean"], [], 50) == ["debugging/a#codes"]


def test_a_heading_weighs_more_than_the_body(root: Path, chapter: Callable[..., None]) -> None:
    chapter("debugging/a", "## Straggler\n\nSomething else entirely.\n\n## Other\n\nA straggler is a slow rank.\n")
    book = [one for one in chapters.load(root) if one.id == "debugging/a"]
    assert lexical.index(book).search(["straggler"], [], 2)[0] == "debugging/a#straggler"
