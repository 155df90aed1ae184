"""Checks of chapters and tables: everything that a reader or a tool relies on, one line for each problem."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clusterwright.errors import UserError
from clusterwright.knowledge import (
    chapters,
    coverage_lint,
    fence_lint,
    front,
    link_lint,
    markdown,
    reference,
    table_lint,
)
from clusterwright.knowledge.chapters import Chapter, Section
from clusterwright.knowledge.front import Broken
from clusterwright_tools import registry

_SHORT, _LONG, _TOO_LONG = 80, 400, 600


@dataclass(frozen=True, order=True)
class Problem:
    """Something to mend. A `warning` does not fail the check."""

    file: str
    line: int
    message: str
    warning: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {'warning: ' if self.warning else ''}{self.message}"


def lint(root: Path) -> list[Problem]:
    """Every problem of the chapters and tables below `root`, in order of file and line.

    Raises:
        UserError: there are no chapters at all, or bash is missing.
    """
    files = sorted(root.glob("*/*.md"))
    if not files:
        raise UserError(f"no chapters in {root}; name the folder that holds the parts (hardware, network, …)")
    found = [
        Problem(file.relative_to(root).as_posix(), 1, "not read: a chapter is <part>/<name>.md")
        for file in set(root.rglob("*.md")).difference(files)
    ]
    book: dict[Path, tuple[Chapter, str]] = {}
    for file in files:
        try:
            text = chapters.read(file)
            book[file] = chapters.parse(text, chapters.chapter_id(file, root)), text
        except Broken as error:
            found.append(Problem(file.relative_to(root).as_posix(), error.line, error.reason))
    known = [chapter for chapter, _ in book.values()]
    ids = {section.id for chapter in known for section in chapter.sections} | {chapter.id for chapter in known}
    for file, (chapter, text) in book.items():
        name = file.relative_to(root).as_posix()
        found += (Problem(name, line, message) for line, message in _chapter(file, root, chapter, text, ids))
        found += (Problem(name, one.line, message, mild) for one in chapter.sections for message, mild in _section(one))
    found += (Problem(f"tables/{name}", line, message) for name, line, message in table_lint.lint(root / "tables", ids))
    found += (Problem("tools", 1, message) for message in _tools(ids))
    if (coverage := root.parent / "evals" / "coverage.csv").is_file():  # a checkout; the wheel has no evaluations
        rows = {section.id for table in _readable_tables(root, found) for section in table.sections}
        found += (Problem("evals/coverage.csv", line, text) for line, text in coverage_lint.lint(coverage, ids | rows))
    return sorted(found)


def failures(problems: Sequence[Problem]) -> list[Problem]:
    """Those that fail the check."""
    return [problem for problem in problems if not problem.warning]


def _readable_tables(root: Path, found: Sequence[Problem]) -> tuple[Chapter, ...]:
    broken = any(problem.file.startswith("tables/") and not problem.warning for problem in found)
    return () if broken else reference.tables(root)


def _chapter(file: Path, root: Path, chapter: Chapter, text: str, ids: set[str]) -> Iterator[tuple[int, str]]:
    matter, body, offset = front.split(text, str(file))
    env: dict[str, Any] = {}
    tokens = markdown.parser().parse(body, env)
    for label, defined in env.get("references", {}).items():
        if label.startswith("^"):
            yield offset + defined["map"][0] + 1, "a source is defined in the text; define it in the front matter"
    for name in chapter.tools:
        if name not in registry.tools():
            there = ", ".join(registry.tools())
            yield front.line(matter, "tools"), f"front matter: tool '{name}' does not exist; there are: {there}"
    for old, new in chapter.moved.items():
        line = front.line(matter, "moved", old)
        if f"{chapter.id}#{new}" not in ids:
            yield line, f"front matter: moved.{old}: there is no section '{new}'"
        if f"{chapter.id}#{old}" in ids:
            yield line, f"front matter: moved.{old}: that section still exists"
    yield from ((offset + line, message) for line, message in fence_lint.lint(tokens, body.split("\n")))
    yield from link_lint.marks(tokens, offset, chapter.sources, matter)
    yield from link_lint.links(tokens, offset, file, root, ids)


def _section(section: Section) -> Iterator[tuple[str, bool]]:
    """Message, and whether it is a mere warning."""
    inside = section.id != section.chapter
    if inside and section.level == 1:
        yield "a '#' heading: the title is in the front matter; begin sections with '##'", False
    if section.level > 3 or (section.level == 3 and len(section.path) < 2):
        yield f"a '{'#' * section.level}' heading: write '##', and '###' below one", False
    if inside and not section.id.partition("#")[2].strip("-"):
        yield "a heading without words gives no id; write the question", False
    # Rows of a table are looked up, not read through.
    count = sum(len(line.split()) for line in section.text.splitlines() if not line.startswith("|"))
    if count > _TOO_LONG:
        yield f"section of {count} words: split it into questions of their own (at most {_LONG})", False
    elif not _SHORT <= count <= _LONG:
        yield f"section of {count} words; {_SHORT} to {_LONG} read best", True


def _tools(ids: Iterable[str]) -> Iterator[str]:
    known = set(ids)
    for tool in registry.tools().values():
        for section in tool.chapters:
            if section not in known:
                yield f"{tool.name}: its chapter section '{section}' does not exist"
