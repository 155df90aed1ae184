from typing import Any

import pytest

from clusterwright.knowledge.chapters import Chapter, Measurement, Section
from clusterwright.retrieval import answer, tokens


def section(id: str, text: str, **other: Any) -> Section:
    fields = {
        "chapter": "network/a",
        "heading": "Heading",
        "path": ("Heading",),
        "level": 2,
        "sources": (),
        "reviewed": "2026-12",
        "measurements": (),
    }
    return Section(id=id, text=text, **fields | other)


def found(*sections: Section) -> list[answer.Found]:
    chapter = Chapter(
        id="network/a",
        title="Collectives",
        summary="",
        tools=("collective-bandwidth",),
        reviewed="2026-12",
        sources=(),
        sections=sections,
        moved={},
    )
    return [(chapter, one, 1.0 / (rank + 1)) for rank, one in enumerate(sections)]


LONG = "\n\n".join(f"Paragraph {n} " + "says something about the network. " * 10 for n in range(20))


def test_fusion_adds_what_each_ranking_gives() -> None:
    fused = answer.fuse([["a", "b"], ["b", "c"]])
    assert [id for id, _ in fused] == ["b", "a", "c"]
    assert dict(fused)["b"] == pytest.approx(1 / 62 + 1 / 61)


def test_whole_sections_are_returned_while_they_fit() -> None:
    results, truncated = answer.fit(found(section("a#1", "One."), section("a#2", "Two.")), {}, 5, 1000)
    assert [result.text for result in results] == ["## Heading\n\nOne.", "## Heading\n\nTwo."]
    assert not truncated
    assert not any(result.truncated for result in results)


def test_the_limit_is_not_a_truncation() -> None:
    results, truncated = answer.fit(found(section("a#1", "One."), section("a#2", "Two.")), {}, 1, 1000)
    assert len(results) == 1
    assert not truncated


def test_a_section_that_does_not_fit_is_cut_and_says_how_to_read_on() -> None:
    results, truncated = answer.fit(
        found(section("a#1", "One."), section("a#long", LONG), section("a#3", "3")), {}, 5, 400
    )
    assert truncated
    assert [result.truncated for result in results] == [False, True]
    _, *kept, hint = results[1].text.split("\n\n")
    assert kept == LONG.split("\n\n")[: len(kept)]
    assert "read a#long" in hint
    assert tokens.estimate("".join(result.text for result in results)) <= 400


def test_of_a_very_long_section_what_matches_is_returned_although_there_is_room() -> None:
    results, truncated = answer.fit(found(section("a#long", LONG), section("a#2", "Two.")), {"17": 1.0}, 5, 30_000)
    assert not truncated
    assert [result.truncated for result in results] == [True, False]
    _, first, matching, _ = results[0].text.split("\n\n")
    assert first.startswith("Paragraph 0 ")
    assert matching.startswith("Paragraph 17 ")


def test_no_crumbs_of_a_section_are_returned() -> None:
    results, truncated = answer.fit(found(section("a#1", "x" * 1100), section("a#long", LONG)), {}, 5, 310)
    assert [result.id for result in results] == ["a#1"]
    assert truncated


def test_a_section_without_a_measurement_borrows_the_one_its_heading_speaks_of() -> None:
    measure = Measurement("collective-bandwidth", {}, "clusterwright run collective-bandwidth", 60, "loads device")
    measured = section("a#1", "One.", measurements=(measure,))
    asks = section("a#2", "Two.", heading="Why is the bandwidth low?")
    asks_other = section("a#3", "Three.", heading="What is a rank?")
    chapter = found(measured, asks, asks_other)[0][0]
    assert answer.measurements(chapter, measured) == (measure,)
    assert answer.measurements(chapter, asks) == (measure,)
    assert answer.measurements(chapter, asks_other) == ()


def test_an_answer_is_plain_json() -> None:
    results, truncated = answer.fit(found(section("a#1", "One.")), {}, 5, 1000)
    record = answer.Answer("q", "lexical", results, truncated).to_dict()
    assert set(record["results"][0]) == {
        "id",
        "chapter",
        "heading",
        "path",
        "text",
        "score",
        "sources",
        "reviewed",
        "measurements",
        "truncated",
    }
