from pathlib import Path

import pytest

from clusterwright.errors import UserError
from clusterwright.knowledge import chapters
from clusterwright_tools import registry

FRONT = """---
title: Links
summary: How fast links are.
tools: [preflight]
reviewed: 2026-12
sources:
  maker: {title: Manual, url: "https://example.com"}
  run: {title: Measured, measured: "2026-12-01, one H200"}
moved: {old-slug: how-fast-is-nvlink}
---
"""
BODY = """
Before any heading.

## How fast is NVLink?

450 GB/s per direction. [^maker] [^run]

```bash
# not a heading
nvidia-smi nvlink --status
```

### Is it up?

Look. [^maker]

```measure
preflight --deadline 10
no-such-tool
```

## How fast is NVLink?

Twice the same heading, and a hidden\u200b character.

## Boost clock

```table
from: thresholds
columns: id, value
where: id = boost-clock-fraction
```
"""


@pytest.fixture(scope="module")
def chapter() -> chapters.Chapter:
    return chapters.parse(FRONT + BODY, "network/links")


def test_sections_and_ids(chapter: chapters.Chapter) -> None:
    assert [section.id for section in chapter.sections] == [
        "network/links",
        "network/links#how-fast-is-nvlink",
        "network/links#is-it-up",
        "network/links#how-fast-is-nvlink-1",
        "network/links#boost-clock",
    ]
    assert chapter.sections[2].path == ("How fast is NVLink?", "Is it up?")
    assert [section.level for section in chapter.sections] == [1, 2, 3, 2, 2]


def test_text_is_the_sections_own(chapter: chapters.Chapter) -> None:
    first = chapter.sections[1]
    assert first.text.startswith("450 GB/s") and "# not a heading" in first.text and "Is it up" not in first.text


def test_sources_are_those_that_the_section_uses(chapter: chapters.Chapter) -> None:
    assert [source.key for source in chapter.sections[1].sources] == ["maker", "run"]
    assert [source.key for source in chapter.sections[2].sources] == ["maker"]


def test_measurements_leave_the_text(chapter: chapters.Chapter) -> None:
    section = chapter.sections[2]
    assert section.text == "Look. [^maker]"
    (measurement,) = section.measurements
    assert measurement.command == "clusterwright run preflight --deadline 10"
    assert measurement.parameters == {"deadline": 10}


def test_tables_are_drawn(chapter: chapters.Chapter) -> None:
    text = chapter.sections[4].text
    assert text.startswith("| id | value | source |") and "| boost-clock-fraction | 0.98 |" in text


def test_hidden_characters_are_taken_out(chapter: chapters.Chapter) -> None:
    assert "\u200b" not in chapter.sections[3].text


def test_line_numbers_point_into_the_file(chapter: chapters.Chapter) -> None:
    lines = (FRONT + BODY).splitlines()
    assert lines[chapter.sections[2].line - 1] == "### Is it up?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no front matter", "knowledge/a/b.md: line 1: no front matter"),
        (FRONT.replace("reviewed", "reviewd"), "knowledge/a/b.md: line 5: front matter: unknown key 'reviewd'"),
        (FRONT + "## A\n\n```table\nfrom: no\n```\n", "knowledge/a/b.md: line 13: table 'no' does not exist"),
        (
            FRONT + "## A\n\n```table\nfrom: xid\ncolumns: a\n```\n",
            "knowledge/a/b.md: line 13: table 'xid' has no column 'a'",
        ),
    ],
)
def test_broken_chapters_are_told_in_one_line(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        chapters.parse(text, "a/b")
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_directives_leave_code_as_it_is() -> None:
    code = "```python\na = 1\n\n\nb = 2\n```"
    text = (
        f"{FRONT}## A\n\n```measure\npreflight\n```\n\n{code}\n\n```table\nfrom: thresholds\ncolumns: id\n```\n\nEnd.\n"
    )
    (section,) = chapters.parse(text, "a/b").sections
    assert section.text.startswith(f"{code}\n\n| id | source |") and section.text.endswith("|\n\nEnd.")


def test_underlined_headings_are_headings_too() -> None:
    (section,) = chapters.parse(f"{FRONT}How fast?\n---------\n\nFast.\n", "a/b").sections
    assert (section.heading, section.level, section.text) == ("How fast?", 2, "Fast.")


def test_a_chapter_without_sections() -> None:
    assert chapters.parse(FRONT, "a/b").sections == ()


@pytest.mark.parametrize("call", ["preflight --help", "preflight --deadline", "preflight --deadline 'x", "no-such"])
def test_a_measurement_that_cannot_be_read_is_left_out(call: str, capfd: pytest.CaptureFixture[str]) -> None:
    (section,) = chapters.parse(f"{FRONT}## A\n\nText.\n\n```measure\n{call}\n```\n", "a/b").sections
    assert (section.text, section.measurements) == ("Text.", ())
    assert capfd.readouterr() == ("", "")


def test_a_measurement_says_what_it_takes() -> None:
    made = chapters.measurement("collective-bandwidth --ops all_reduce --ops broadcast --max-bytes 1MiB")
    tool = registry.find("collective-bandwidth")
    assert made.parameters == {"ops": ["all_reduce", "broadcast"], "max_bytes": 1 << 20}
    assert (made.seconds, made.impact) == (tool.seconds, tool.impact.value)


def test_a_folder_without_chapters(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no chapters in"):
        chapters.load(tmp_path)


def test_marks_of_editors_on_windows_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.md").write_bytes(("\ufeff" + FRONT + "## A\n\nText.\n").replace("\n", "\r\n").encode())
    (chapter,) = chapters.load(tmp_path)
    assert (chapter.id, chapter.sections[0].text) == ("a/b", "Text.")


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.md").write_bytes(b"---\n\xff")
    with pytest.raises(UserError, match=r"b\.md: line 2: not UTF-8 at byte 4"):
        chapters.load(tmp_path)
