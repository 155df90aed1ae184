"""Chapters: Markdown with front matter, read into sections that answer one question each."""

import contextlib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it.token import Token

from clusterwright.errors import UserError
from clusterwright.knowledge import directive, front, markdown
from clusterwright.knowledge.front import Broken
from clusterwright.knowledge.markdown import Heading, visible
from clusterwright_tools import params, registry
from clusterwright_tools.errors import CannotRun

_MARK = re.compile(r"\[\^([^\]\s]+)\]")


@dataclass(frozen=True)
class Source:
    """Where a claim comes from: a document (`url`), or a measurement made for this project (`measured`)."""

    key: str
    title: str
    url: str = ""
    measured: str = ""


@dataclass(frozen=True)
class Measurement:
    """A measurement that settles a section's question: `parameters` as JSON values, `seconds` its usual duration."""

    tool: str
    parameters: Mapping[str, Any]
    command: str
    seconds: float
    impact: str


@dataclass(frozen=True)
class Section:
    """One section. `path` is the chain of headings from the top, `text` its own Markdown with tables drawn in."""

    id: str
    chapter: str
    heading: str
    path: tuple[str, ...]
    level: int
    text: str
    sources: tuple[Source, ...]
    reviewed: str
    measurements: tuple[Measurement, ...]
    line: int = 0


@dataclass(frozen=True)
class Chapter:
    """A chapter. `moved` maps slugs of sections that were renamed to those of today."""

    id: str
    title: str
    summary: str
    tools: tuple[str, ...]
    reviewed: str
    sources: tuple[Source, ...]
    sections: tuple[Section, ...]
    moved: Mapping[str, str]


def load(root: Path) -> tuple[Chapter, ...]:
    """Every chapter below `root`, by id.

    Raises:
        UserError: there is none, or one of them is broken (the message names the file).
    """
    files = sorted(root.glob("*/*.md"))
    if not files:
        raise UserError(f"no chapters in {root}; reinstall clusterwright, or name the folder that holds them")
    return tuple(parse(read(file), chapter_id(file, root)) for file in files)


def chapter_id(file: Path, root: Path) -> str:
    """`knowledge/network/links.md` is `network/links`."""
    return file.relative_to(root).with_suffix("").as_posix()


def read(file: Path) -> str:
    """The text of a chapter's file.

    Raises:
        Broken: it cannot be read as UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise Broken(str(file), line, f"not UTF-8 at byte {error.start}; save it as UTF-8") from error


def parse(text: str, id: str) -> Chapter:
    """Read one chapter.

    Raises:
        Broken: front matter or a table directive that cannot be read; the message begins with the chapter's file.
    """
    file = f"knowledge/{id}.md"
    matter, body, offset = front.split(text, file)
    about = front.parse(matter, file)
    sources = {key: Source(key, one.title, one.url, one.measured) for key, one in about.sources.items()}
    lines = body.split("\n")
    tokens = markdown.parser().parse(body)
    headings = [Heading(about.title, 0, 0, 0, "", ()), *markdown.headings(tokens)]
    ends = [*(heading.line for heading in headings[1:]), len(lines)]
    sections = []
    for heading, end in zip(headings, ends, strict=True):
        fences = [one for one in markdown.fences(tokens) if heading.end <= one[1] < end]
        own = _expand(lines, heading.end, end, fences, file, offset)
        if not heading.level and not own:
            continue
        used = dict.fromkeys(_MARK.findall(own))
        sections.append(
            Section(
                id=f"{id}#{heading.slug}" if heading.level else id,
                chapter=id,
                heading=heading.text,
                path=heading.path,
                level=heading.level or 1,
                text=own,
                sources=tuple(sources[key] for key in used if key in sources),
                reviewed=about.reviewed,
                measurements=tuple(_measurements(fences)),
                line=offset + heading.line + 1,
            )
        )
    return Chapter(
        id=id,
        title=about.title,
        summary=about.summary,
        tools=about.tools,
        reviewed=about.reviewed,
        sources=tuple(sources.values()),
        sections=tuple(sections),
        moved=about.moved,
    )


def measurement(line: str) -> Measurement:
    """A line of a `measure` fence, checked against the tool's own parameters.

    Raises:
        CannotRun: unknown tool, unknown parameter or a value out of bounds.
        ValueError: quotes that do not close.
    """
    name, *argv = shlex.split(line)
    tool = registry.find(name)
    named = params.from_argv(tool.params, argv)
    parsed: object = params.parse(tool.params, named)
    given = {key: getattr(parsed, key) for key in named}
    given = {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}
    return Measurement(name, given, shlex.join(["clusterwright", "run", name, *argv]), tool.seconds, tool.impact.value)


def _expand(
    lines: Sequence[str], start: int, end: int, fences: Sequence[tuple[Token, int, int]], file: str, offset: int
) -> str:
    """A section's Markdown with its directives carried out: tables drawn, measurements taken out."""
    kept = list(lines[start:end])
    for fence, first, last in reversed(fences):
        if fence.info.strip() == "table":
            try:
                drawn = directive.draw(fence.content)
            except directive.DirectiveError as error:
                raise Broken(file, offset + first + 1, str(error)) from error
            kept[first - start : last - start] = visible(drawn).split("\n")
        elif fence.info.strip() == "measure":
            blank = last < end and not lines[last].strip()
            kept[first - start : last - start + blank] = []
    return "\n".join(kept).strip()


def _measurements(fences: Sequence[tuple[Token, int, int]]) -> Iterator[Measurement]:
    for fence, _, _ in fences:
        for line in fence.content.splitlines() if fence.info.strip() == "measure" else ():
            # What cannot be read is told by the check; a chapter stays readable without it.
            with contextlib.suppress(CannotRun, ValueError):
                if line.strip():
                    yield measurement(line)
