import json
import re
from pathlib import Path

import pytest

from clusterwright.errors import UserError
from clusterwright.retrieval import evaluate
from clusterwright.retrieval.answer import Answer, Result


def question(*facts: tuple[str, ...], area: str = "network") -> evaluate.Question:
    compiled = tuple(tuple(re.compile(item, re.IGNORECASE) for item in fact) for fact in facts)
    return evaluate.Question("q1", "why?", compiled, area, "doc")


def answer(*texts: str) -> Answer:
    results = tuple(Result(f"a#{n}", "A", "H", (), text, 1.0, (), "2026-12", ()) for n, text in enumerate(texts))
    return Answer("why?", "lexical", results)


def test_every_fact_needs_one_match_in_any_result() -> None:
    asked = question(("GraceTime",), ("sacctmgr", "preempt"))
    assert evaluate.answered(asked, ["gracetime", "use sacctmgr"]) == {1: False, 3: True, 5: True, 10: True}


def test_texts_are_cut_at_the_budget_of_words() -> None:
    filler = "word " * 499
    asked = question(("needle",))
    assert evaluate.answered(asked, [filler + "needle"])[1]
    assert not evaluate.answered(asked, [filler + "word needle"])[1]
    assert evaluate.answered(asked, [filler, filler, "needle"])[3]
    assert not evaluate.answered(asked, [filler, filler, "a b needle"])[3]


def test_shares_are_given_by_area_and_source_and_misses_are_named() -> None:
    figures = evaluate.evaluate([question(("x",)), question(("y",), area="slurm")], lambda query: answer("x"))
    assert figures["answered"]["@1"] == 0.5
    assert figures["by_area"]["network"] == {"questions": 1, "@1": 1.0, "@3": 1.0, "@5": 1.0, "@10": 1.0}
    assert figures["by_area"]["slurm"]["@10"] == 0.0
    assert figures["by_source"]["doc"]["questions"] == 2
    assert figures["missed"] == [{"id": "q1", "query": "why?", "area": "slurm", "answered_at": None}]
    assert figures["modes"] == ["lexical"]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        '{"id": "q1", "query": "x"}',
        '{"id": "q1", "query": "x", "facts": [["("]]}',
        '{"id": "q1", "query": "x", "facts": [[]]}',
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "q.jsonl"
    good = json.dumps({"id": "q0", "query": "x", "facts": [["x"]]})
    file.write_text(f"{good}\n{line}\n")
    with pytest.raises(UserError, match=r"q\.jsonl:2 is no question"):
        evaluate.load(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read the questions"):
        evaluate.load(tmp_path / "none.jsonl")
