"""How often the results answer: answered@k over a set of questions.

A question is answered at k when, for each of its facts, one of the fact's regular expressions matches the joined texts
of the first k results, cut at k's budget of words.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.errors import UserError
from clusterwright.retrieval.answer import Answer

BUDGETS = {1: 500, 3: 1000, 5: 1500, 10: 3000}
"""Words for the first k results."""
LIMIT = max(BUDGETS)
MAX_TOKENS = 30_000
"""Enough for 3,000 words of any kind."""


@dataclass(frozen=True)
class Question:
    """A query, and the facts an answer holds: of every inner list, at least one expression matches."""

    id: str
    query: str
    facts: tuple[tuple[re.Pattern[str], ...], ...]
    area: str
    source: str


def load(path: Path) -> list[Question]:
    """Read questions, one JSON object a line.

    Raises:
        UserError: the file cannot be read, or a line is no question.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UserError(f"cannot read the questions in {path} ({error.strerror})") from error
    questions = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                questions.append(_question(json.loads(line)))
            except (ValueError, KeyError, TypeError, re.error) as error:
                raise UserError(f"{path}:{number} is no question with id, query and facts ({error})") from error
    if not questions:
        raise UserError(f"no questions in {path}")
    return questions


def _question(record: dict[str, Any]) -> Question:
    facts = tuple(tuple(re.compile(item, re.IGNORECASE) for item in fact) for fact in record["facts"])
    if not facts or not all(facts):
        raise ValueError("facts must not be empty")
    return Question(record["id"], record["query"], facts, record.get("area", ""), record.get("source", ""))


def answered(question: Question, texts: Sequence[str]) -> dict[int, bool]:
    """Whether the texts of the results, in rank order, answer at each k."""
    hits = {}
    for k, budget in BUDGETS.items():
        joined = " ".join("\n\n".join(texts[:k]).split()[:budget])
        hits[k] = all(any(item.search(joined) for item in fact) for fact in question.facts)
    return hits


def evaluate(questions: Iterable[Question], search: Callable[[str], Answer]) -> dict[str, Any]:
    """Shares of questions answered, overall, by area and by source, and the questions that 5 results do not answer."""
    rows = []
    modes = set()
    for question in questions:
        answer = search(question.query)
        modes.add(answer.mode)
        rows.append((question, answered(question, [result.text for result in answer.results])))
    missed = [
        {"id": question.id, "query": question.query, "area": question.area, "answered_at": 10 if hits[10] else None}
        for question, hits in rows
        if not hits[5]
    ]
    return {
        "questions": len(rows),
        "modes": sorted(modes),
        "answered": _shares([hits for _, hits in rows]),
        "by_area": _grouped(rows, "area"),
        "by_source": _grouped(rows, "source"),
        "missed": missed,
    }


def _shares(hits: Sequence[dict[int, bool]]) -> dict[str, float]:
    return {f"@{k}": round(sum(hit[k] for hit in hits) / len(hits), 4) for k in BUDGETS}


def _grouped(rows: Sequence[tuple[Question, dict[int, bool]]], field: str) -> dict[str, dict[str, float]]:
    groups: dict[str, list[dict[int, bool]]] = {}
    for question, hits in rows:
        groups.setdefault(getattr(question, field), []).append(hits)
    return {name: {"questions": len(group), **_shares(group)} for name, group in sorted(groups.items())}
