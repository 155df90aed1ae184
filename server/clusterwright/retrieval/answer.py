"""What a search gives back, and how it is fitted into the caller's budget."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.knowledge.chapters import Chapter, Measurement, Section, Source
from clusterwright.retrieval import tokens
from clusterwright.retrieval.passages import passage

RRF_K = 60
_LEAST_TOKENS = 80
_LONG_TOKENS = 1000
_PASSAGE_TOKENS = 800

Found = tuple[Chapter, Section, float]


@dataclass(frozen=True)
class Result:
    """A section that answers. `text` is its Markdown with the heading; `truncated` says that parts were left out."""

    id: str
    chapter: str
    heading: str
    path: tuple[str, ...]
    text: str
    score: float
    sources: tuple[Source, ...]
    reviewed: str
    measurements: tuple[Measurement, ...]
    truncated: bool = False


@dataclass(frozen=True)
class Answer:
    """The results, best first. `mode` is what really ran; `note` says why it is not what was asked, or what was set.

    `truncated`: the budget held fewer results than were found and asked for.
    """

    query: str
    mode: str
    results: tuple[Result, ...]
    truncated: bool = False
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return dataclasses.asdict(self)


def fuse(rankings: Iterable[Sequence[str]]) -> list[tuple[str, float]]:
    """Reciprocal rank fusion: each ranking gives 1 / (60 + rank) to its items. Best first."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, id in enumerate(dict.fromkeys(ranking), start=1):
            scores[id] = scores.get(id, 0.0) + 1.0 / (RRF_K + rank)
    return sorted(scores.items(), key=lambda item: -item[1])


def fit(
    found: Sequence[Found], weights: Mapping[str, float], limit: int, max_tokens: int
) -> tuple[tuple[Result, ...], bool]:
    """Results in rank order within a budget, and whether the budget cut anything.

    Sections come whole. Of one that is very long (a large table), or no longer fits, only the part that matches comes.
    """
    results: list[Result] = []
    room = max_tokens
    for chapter, section, score in found[:limit]:
        if room < _LEAST_TOKENS:
            return tuple(results), True
        text = f"{_headline(section)}{section.text}"
        size = tokens.estimate(text)
        whole = size <= min(room, _LONG_TOKENS)
        if not whole:
            text = _passage(section, weights, min(room, _PASSAGE_TOKENS))
        results.append(_result(chapter, section, score, text, truncated=not whole))
        if size > room:
            return tuple(results), True
        room -= tokens.estimate(text)
    return tuple(results), False


def _passage(section: Section, weights: Mapping[str, float], room: int) -> str:
    head, hint = _headline(section), f"[Only what matches. The whole section: read {section.id}]"
    return f"{head}{passage(section.text, weights, room - tokens.estimate(head + hint))}\n\n{hint}"


def _headline(section: Section) -> str:
    return f"{'#' * section.level} {section.heading}\n\n"


def measurements(chapter: Chapter, section: Section) -> tuple[Measurement, ...]:
    """Those of the section, else the first of its chapter for each tool that its heading speaks of."""
    if section.measurements:
        return tuple(section.measurements)
    heading = set(tokens.terms(section.heading))
    fitting: dict[str, Measurement] = {}
    for other in chapter.sections:
        for measurement in other.measurements:
            if heading & set(tokens.terms(measurement.tool)):
                fitting.setdefault(measurement.tool, measurement)
    return tuple(fitting.values())


def _result(chapter: Chapter, section: Section, score: float, text: str, truncated: bool) -> Result:
    return Result(
        id=section.id,
        chapter=chapter.title,
        heading=section.heading,
        path=tuple(section.path),
        text=text,
        score=round(score, 5),
        sources=tuple(section.sources),
        reviewed=section.reviewed,
        measurements=measurements(chapter, section),
        truncated=truncated,
    )
