"""Checks of chapters and tables: everything that a reader or a tool relies on, one line for each problem."""

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from clusterwright.errors import UserError
from clusterwright.knowledge import chapters, table_lint
from clusterwright.knowledge.chapters import Chapter, Section
from clusterwright_tools import registry
from clusterwright_tools.errors import CannotRun

_SHORT, _LONG, _TOO_LONG = 60, 400, 600
_UNVERIFIED = "unverified"
_MARK = re.compile(r"\[\^([^\]]+)\]")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


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
        UserError: there are no chapters at all.
    """
    files = sorted(root.glob("*/*.md"))
    if not files:
        raise UserError(f"no chapters in {root}; name the folder that holds the parts (hardware, network, …)")
    found: list[Problem] = []
    book: dict[str, tuple[Path, Chapter]] = {}
    for file in files:
        name = file.relative_to(root).as_posix()
        try:
            text = chapters.read(file)
            chapter = chapters.parse(text, chapters.chapter_id(file, root))
        except UserError as error:
            line = re.search(r"line (\d+)", str(error))
            found.append(Problem(name, int(line[1]) if line else 1, str(error).split(".md: ", 1)[-1]))
            continue
        book[chapter.id] = (file, chapter)
        found += (Problem(name, line, message, warning) for line, message, warning in _chapter(chapter, text))
    ids = {section.id for _, chapter in book.values() for section in chapter.sections} | set(book)
    for file, chapter in book.values():
        name = file.relative_to(root).as_posix()
        found += (Problem(name, line, message) for line, message in _links(file, chapter, root, ids))
    found += (Problem(f"tables/{name}", line, message) for name, line, message in table_lint.lint(root / "tables", ids))
    found += (Problem("tools", 1, message) for message in _tools(ids))
    return sorted(found)


def _chapter(chapter: Chapter, text: str) -> Iterator[tuple[int, str, bool]]:
    for name in chapter.tools:
        if name not in registry.tools():
            yield 1, f"front matter: tool '{name}' does not exist; there are: {', '.join(registry.tools())}", False
    yield from ((line, message, False) for line, message in _fences(text))
    yield from ((line, message, False) for line, message in _marks(chapter, text))
    for old, new in chapter.moved.items():
        if f"{chapter.id}#{new}" not in {section.id for section in chapter.sections}:
            yield 1, f"front matter: moved.{old}: there is no section '{new}'", False
    for section in chapter.sections:
        yield from _section(section)


def _section(section: Section) -> Iterator[tuple[int, str, bool]]:
    if section.level == 1 and section.id != section.chapter:
        yield section.line, "a '#' heading: the title is in the front matter; begin sections with '##'", False
    count = len(section.text.split())
    if count > _TOO_LONG and "|---|" not in section.text.replace(" ", ""):
        yield section.line, f"section of {count} words: split it into questions of their own (at most {_LONG})", False
    elif not _SHORT <= count <= _LONG and "| --- |" not in section.text:
        yield section.line, f"section of {count} words; 80 to {_LONG} read best", True


def _fences(text: str) -> Iterator[tuple[int, str]]:
    """Shell, Python and measurement fences; the language has to be named."""
    body = text.split("---\n", 2)[-1]
    offset = text[: len(text) - len(body)].count("\n")
    for token in MarkdownIt("commonmark").parse(body):
        if token.type != "fence" or token.map is None:
            continue
        line, language = offset + token.map[0] + 1, token.info.strip().split(" ")[0]
        if not language:
            yield line, "a fence without a language; name it (bash, python, text, …)"
        elif language == "bash":
            yield from ((line, message) for message in _bash(token.content))
        elif language == "python":
            yield from ((line, message) for message in _python(token.content))
        elif language == "measure":
            yield from ((line + 1 + number, message) for number, message in _measure(token.content))


def _bash(content: str) -> Iterator[str]:
    checked = subprocess.run(["bash", "-n"], input=content, capture_output=True, text=True, timeout=20, check=False)
    if checked.returncode:
        yield f"bash: {checked.stderr.strip().splitlines()[0].removeprefix('bash: ')}"


def _python(content: str) -> Iterator[str]:
    try:
        ast.parse(content)
    except SyntaxError as error:
        yield f"python: line {error.lineno} of the fence: {error.msg}"


def _measure(content: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(content.splitlines()):
        if line.strip():
            try:
                chapters.measurement(line)
            except (CannotRun, ValueError) as error:
                yield number, f"measure: {error}"


def _marks(chapter: Chapter, text: str) -> Iterator[tuple[int, str]]:
    known = {source.key for source in chapter.sources}
    used = set()
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        for mark in () if fenced else _MARK.findall(re.sub(r"`[^`]*`", "", line)):
            used.add(mark)
            if mark not in known and mark != _UNVERIFIED:
                yield number, f"source mark [^{mark}] is not defined in the front matter"
    for source in chapter.sources:
        if source.key not in used:
            yield 1, f"front matter: source '{source.key}' is not used"
        if source.url and not source.url.startswith("https://"):
            yield 1, f"front matter: source '{source.key}': the address is not https"
        if source.measured and not re.match(r"\d{4}-\d{2}-\d{2}, \S", source.measured):
            yield 1, f"front matter: source '{source.key}': say 'YYYY-MM-DD, on what, with which versions'"


def _links(file: Path, chapter: Chapter, root: Path, ids: Iterable[str]) -> Iterator[tuple[int, str]]:
    known = set(ids)
    for section in chapter.sections:
        for target in _LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", section.text, flags=re.DOTALL)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            linked = (file.parent / path).resolve() if path else file.resolve()
            if not linked.is_file() or root.resolve() not in linked.parents:
                yield section.line, f"link to {target}: there is no such file in the knowledge folder"
            elif anchor and f"{chapters.chapter_id(linked, root.resolve())}#{anchor}" not in known:
                yield section.line, f"link to {target}: there is no section '{anchor}'"


def _tools(ids: Iterable[str]) -> Iterator[str]:
    known = set(ids)
    for tool in registry.tools().values():
        for section in tool.chapters:
            if section not in known:
                yield f"{tool.name}: its chapter section '{section}' does not exist"


def failures(problems: Sequence[Problem]) -> list[Problem]:
    """Those that fail the check."""
    return [problem for problem in problems if not problem.warning]
