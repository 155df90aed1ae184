"""What a search gives back, and how it is fitted into the caller's budget."""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.knowledge.chapters import Chapter, Measurement, Section, Source
from clusterwright.retrieval import tokens

RRF_K = 60
_LEAST_TOKENS = 80

Found = tuple[Chapter, Section, float]


@dataclass(frozen=True)
class Result:
    """A section that answers. `text` is its Markdown; `truncated` says that it was cut to fit the budget."""

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


def fit(found: Sequence[Found], limit: int, max_tokens: int) -> tuple[tuple[Result, ...], bool]:
    """Whole sections in rank order while they fit, then one cut at a paragraph; and whether the budget cut anything."""
    results: list[Result] = []
    room = max_tokens
    for chapter, section, score in found[:limit]:
        size = tokens.estimate(section.text)
        if size > room and results and room < _LEAST_TOKENS:
            return tuple(results), True
        text = section.text if size <= room else cut(section, room)
        results.append(_result(chapter, section, score, text, truncated=size > room))
        room -= size
        if room <= 0:
            return tuple(results), len(results) < len(found[:limit]) or results[-1].truncated
    return tuple(results), False


def cut(section: Section, max_tokens: int) -> str:
    """The beginning of a section, cut after a paragraph that fits (never in a fence), and how to read on."""
    kept: list[str] = []
    fence = False
    best = 1
    for paragraph in section.text.split("\n\n"):
        kept.append(paragraph)
        fence ^= paragraph.count("```") % 2 == 1
        if tokens.estimate("\n\n".join(kept)) > max_tokens:
            break
        if not fence:
            best = len(kept)
    return "\n\n".join((*kept[:best], f"[Cut to the budget. Read on: read {section.id}]"))


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
