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
        ("\nA claim. [^other]\n", "network/links.md:12: source mark [^other] is not defined"),
        ("\n[x](gone.md)\n", "link to gone.md: there is no such file"),
        ("\n[x](../../../etc/passwd)\n", "there is no such file in the knowledge folder"),
        ("\n[x](links.md#gone)\n", "link to links.md#gone: there is no section 'gone'"),
        ("\n```bash\nfor x in\n```\n", "network/links.md:12: bash: "),
        ("\n```python\ndef f(:\n```\n", "network/links.md:12: python: line 1 of the fence: "),
        ("\n```\nx\n```\n", "network/links.md:12: a fence without a language"),
        ("\n```measure\npreflight --deadlin 3\n```\n", "network/links.md:13: measure: "),
        ("\n```measure\nno-tool\n```\n", "measure: unknown tool 'no-tool'"),
        ("\n```table\nfrom: gone\n```\n", "table 'gone' does not exist"),
        ("\n" + "word " * 700, "network/links.md:8: section of 8"),
    ],
)
def test_each_kind_of_problem(root: Path, added: str, message: str) -> None:
    found = problems(root, FRONT + SECTION + added)
    assert any(message in one for one in found), found


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("reviewed: 2026-12\n", "", "front matter: reviewed: field required"),
        ("reviewed: 2026-12\n", "reviewed: 2026-12\ntools: [gone]\n", "tool 'gone' does not exist; there are: "),
        ("reviewed: 2026-12\n", "reviewed: 2026-12\nmoved: {a: b}\n", "moved.a: there is no section 'b'"),
        ("https://example.com", "http://example.com", "source 'maker': the address is not https"),
        ('url: "https://example.com"', 'measured: "last week"', "source 'maker': say 'YYYY-MM-DD"),
        ("---\n## ", "---\n## ", ""),
    ],
)
def test_front_matter(root: Path, old: str, new: str, message: str) -> None:
    found = problems(root, (FRONT + SECTION).replace(old, new, 1))
    assert any(message in one for one in found) if message else not found


def test_an_unused_source(root: Path) -> None:
    assert "source 'maker' is not used" in problems(root, FRONT + SECTION.replace("[^maker]", ""))[0]


def test_marks_in_code_do_not_count(root: Path) -> None:
    assert problems(root, FRONT + SECTION + "\n`[^a-z]`\n\n```bash\ngrep '[^0-9]' file\n```\n") == []


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


TABLE = "name,memory_gb,section,source,quote,checked_on\nA,80,,https://x,80 GB,2026-12-01\n"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("A,1,,https://x,q,2026-12-01", "the key 'A' is empty or stands twice"),
        ("B,many,,https://x,q,2026-12-01", "memory_gb: 'many' is no number"),
        ("B,1,gone/gone,https://x,q,2026-12-01", "section: there is no 'gone/gone'"),
        ("B,1,,somebody,q,2026-12-01", "source: give the https address"),
        ("B,1,,https://x,,2026-12-01", "quote: give the few words"),
        ("B,1,,https://x,q,2026-13-01", "checked_on: '2026-13-01' is no day"),
        ("B,1,,https://x,q", "this row has not 6 cells"),
        ("B,1,,https://x,q,with,2026-12-01", "this row has not 6 cells"),
    ],
)
def test_tables(root: Path, row: str, message: str) -> None:
    (root / "tables").mkdir()
    (root / "tables" / "parts.csv").write_text(TABLE + row + "\n")
    found = problems(root, FRONT + SECTION)
    assert any(one.startswith("tables/parts.csv:3: ") and message in one for one in found), found


def test_a_table_without_sources(root: Path) -> None:
    (root / "tables").mkdir()
    (root / "tables" / "parts.csv").write_text("name\nA\n")
    assert "the columns source, quote, checked_on are missing" in problems(root, FRONT + SECTION)[0]


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
