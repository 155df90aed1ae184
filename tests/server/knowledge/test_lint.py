import shutil
from pathlib import Path

import pytest

from clusterwright import paths
from clusterwright.errors import UserError
from clusterwright.knowledge import lint
from clusterwright_tools import registry

FRONT = """---
title: Links
summary: How fast links are.
reviewed: 2026-12
sources:
  maker: {title: Manual, url: "https://example.com"}
---
"""
SECTION = "## How fast?\n\n" + "It is fast enough for all that we do here. [^maker] " * 10 + "\n"


@pytest.fixture(autouse=True)
def no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chapters of these tests are not those that the tools name."""
    monkeypatch.setattr(lint, "_tools", lambda ids: ())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "k" / "network").mkdir(parents=True)
    return tmp_path / "k"


def problems(root: Path, text: str) -> list[str]:
    (root / "network" / "links.md").write_text(text)
    return [str(problem) for problem in lint.lint(root)]


def test_a_clean_chapter(root: Path) -> None:
    assert problems(root, FRONT + SECTION) == []


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("\n# Title\n\ntext\n", "network/links.md:12: a '#' heading"),
        ("\n#### Deep\n\ntext\n", "network/links.md:12: a '####' heading: write '##', and '###' below one"),
        ("\n## ???\n\ntext\n", "network/links.md:12: a heading without words"),
        ("\nA claim. [^other]\n", "network/links.md:12: source mark [^other] is not defined"),
        ("\n[^maker]: https://example.com\n", "network/links.md:12: a source is defined in the text"),
        ("\n[x](gone.md)\n", "network/links.md:12: link to gone.md: there is no such file"),
        ("\n[x](#gone)\n", "network/links.md:12: link to #gone: there is no section 'gone'"),
        ("\n```bash\nfor x in\n```\n", "network/links.md:13: bash: "),
        ("\n```measure\npreflight --deadlin 3\n```\n", "network/links.md:13: measure: "),
        ("\n```table\nfrom: gone\n```\n", "network/links.md:12: table 'gone' does not exist"),
        ("\n" + "word " * 700, "network/links.md:8: section of 8"),
    ],
)
def test_each_kind_of_problem(root: Path, added: str, message: str) -> None:
    found = problems(root, FRONT + SECTION + added)
    assert any(one.startswith(message) for one in found), found


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("reviewed: 2026-12\n", "", "1: front matter: reviewed is missing"),
        (
            "reviewed: 2026-12\n",
            "reviewed: 2026-12\ntools: [gone]\n",
            "5: front matter: tool 'gone' does not exist; there",
        ),
        (
            "reviewed: 2026-12\n",
            "reviewed: 2026-12\nmoved: {a: b}\n",
            "5: front matter: moved.a: there is no section 'b'",
        ),
        (
            "reviewed: 2026-12\n",
            "reviewed: 2026-12\nmoved: {how-fast: how-fast}\n",
            "5: front matter: moved.how-fast: that section still exists",
        ),
        ("https://example.com", "http://example.com", "6: front matter: source 'maker': the address is not https"),
    ],
)
def test_front_matter(root: Path, old: str, new: str, message: str) -> None:
    (found,) = problems(root, (FRONT + SECTION).replace(old, new, 1))
    assert found.startswith(f"network/links.md:{message}")


def test_a_heading_of_the_third_level_needs_one_above(root: Path) -> None:
    assert problems(root, FRONT + "#" + SECTION) == [
        "network/links.md:8: a '###' heading: write '##', and '###' below one"
    ]


def test_text_before_the_first_heading_is_a_section(root: Path) -> None:
    assert problems(root, FRONT + SECTION.partition("\n\n")[2]) == []


def test_rows_of_tables_do_not_count_as_words(root: Path) -> None:
    assert problems(root, FRONT + SECTION + "\n| a |\n|---|\n" + "| many words in a row |\n" * 200) == []


def test_a_chapter_that_would_not_be_read(root: Path) -> None:
    (root / "notes.md").write_text("x")
    assert problems(root, FRONT + SECTION) == ["notes.md:1: not read: a chapter is <part>/<name>.md"]


def test_a_chapter_that_is_no_text(root: Path) -> None:
    (root / "network" / "a.md").write_bytes(b"\n\xff")
    assert problems(root, FRONT + SECTION) == ["network/a.md:2: not UTF-8 at byte 1; save it as UTF-8"]


def test_a_short_section_is_a_warning(root: Path) -> None:
    found = problems(root, FRONT + SECTION + "\n## Another\n\nShort.\n")
    assert len(found) == 1 and "warning: section of 1 words" in found[0]
    assert lint.failures(lint.lint(root)) == []


def test_a_broken_chapter_does_not_hide_the_others(root: Path) -> None:
    (root / "network" / "a.md").write_text("nothing")
    found = problems(root, FRONT + SECTION + "\nA claim. [^other]\n")
    assert found[0].startswith("network/a.md:1: ") and any("links.md" in one for one in found)


def test_no_chapters(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no chapters in"):
        lint.lint(tmp_path)


def test_tables_are_checked_with_the_chapters(root: Path) -> None:
    (root / "tables").mkdir()
    (root / "tables" / "parts.csv").write_text("name\nA\n")
    assert problems(root, FRONT + SECTION) == ["tables/parts.csv:1: the columns source, quote, checked_on are missing"]


def test_the_shipped_knowledge_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert [str(problem) for problem in lint.failures(lint.lint(paths.shipped("knowledge")))] == []


def test_a_tool_that_names_a_missing_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    copy = tmp_path / "copy"
    shutil.copytree(paths.shipped("knowledge") / "debugging", copy / "debugging")
    found = [problem.message for problem in lint.lint(copy) if problem.file == "tools"]
    named = {section for tool in registry.tools().values() for section in tool.chapters}
    assert found and all(any(section in message for section in named) for message in found)


def test_the_map_of_topics_beside_the_chapters_is_checked(root: Path) -> None:
    (root.parent / "evals").mkdir()
    (root.parent / "evals" / "coverage.csv").write_text("part,topic,section\nnetwork,speed,network/links#how-slow\n")
    assert problems(root, FRONT + SECTION) == ["evals/coverage.csv:2: there is no section 'network/links#how-slow'"]
    (root.parent / "evals" / "coverage.csv").write_text("part,topic,section\nnetwork,speed,network/links#how-fast\n")
    assert problems(root, FRONT + SECTION) == []
