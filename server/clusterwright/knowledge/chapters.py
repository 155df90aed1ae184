"""Chapters: Markdown with front matter, read into sections that answer one question each."""

import functools
import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pydantic
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from clusterwright.errors import UserError
from clusterwright.knowledge import directive
from clusterwright_tools import params, registry
from clusterwright_tools.errors import CannotRun

_FRONT = re.compile(r"\A---\n(.*?\n)---\n", re.DOTALL)
# Control and zero-width characters can hide text from people and show it to models.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_MARK = re.compile(r"\[\^([A-Za-z0-9_.-]+)\]")


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


class _Front(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    title: str = pydantic.Field(min_length=1)
    summary: str = pydantic.Field(min_length=1)
    reviewed: str = pydantic.Field(pattern=r"^\d{4}-\d{2}$")
    tools: tuple[str, ...] = ()
    sources: dict[str, dict[str, str]] = pydantic.Field(default_factory=dict)
    moved: dict[str, str] = pydantic.Field(default_factory=dict)


@dataclass
class _Heading:
    text: str
    level: int
    line: int
    slug: str = ""
    path: tuple[str, ...] = field(default=())


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
        UserError: it cannot be read as UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: not UTF-8 at byte {error.start}; save it as UTF-8") from error


def parse(text: str, id: str) -> Chapter:
    """Read one chapter.

    Raises:
        UserError: broken front matter or a broken table directive; the message begins with the chapter's file.
    """
    front, body, offset = _front(text, id)
    sources = {key: _source(key, value, id) for key, value in front.sources.items()}
    lines = _HIDDEN.sub("", body).split("\n")
    tokens = _markdown().parse("\n".join(lines))
    sections = []
    headings = _headings(tokens, front.title)
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        end = following.line if following else len(lines)
        start = heading.line + (1 if heading.level else 0)
        own, measurements = _expand(tokens, lines, start, end, id, offset)
        if not heading.level and not own:
            continue
        marks = dict.fromkeys(_MARK.findall(own))
        sections.append(
            Section(
                id=f"{id}#{heading.slug}" if heading.level else id,
                chapter=id,
                heading=heading.text,
                path=heading.path,
                level=heading.level or 1,
                text=own,
                sources=tuple(sources[mark] for mark in marks if mark in sources),
                reviewed=front.reviewed,
                measurements=measurements,
                line=offset + heading.line + 1,
            )
        )
    return Chapter(
        id,
        front.title,
        front.summary,
        front.tools,
        front.reviewed,
        tuple(sources.values()),
        tuple(sections),
        front.moved,
    )


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


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


def _front(text: str, id: str) -> tuple[_Front, str, int]:
    match = _FRONT.match(text)
    if not match:
        raise UserError(f"{id}.md: line 1: no front matter; begin the file with '---', title, summary, reviewed, '---'")
    try:
        front = _Front.model_validate(yaml.safe_load(match[1]))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark else 1
        problem = getattr(error, "problem", None) or "not YAML"
        raise UserError(f"{id}.md: line {line}: front matter: {problem}; quote values that hold ': ' or '#'") from error
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "front matter"
        raise UserError(f"{id}.md: front matter: {key}: {first['msg'].lower()}") from error
    return front, text[match.end() :], match[0].count("\n")


def _source(key: str, value: Mapping[str, str], id: str) -> Source:
    unknown = set(value) - {"title", "url", "measured"}
    if unknown or "title" not in value or ("url" in value) == ("measured" in value):
        raise UserError(f"{id}.md: front matter: sources.{key}: give title, and either url or measured")
    return Source(key, **value)


@functools.cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


def _headings(tokens: list[Token], title: str) -> list[_Heading]:
    """The headings in order; the first stands for the text before any heading (level 0)."""
    found = [_Heading(title, 0, 0)]
    seen: dict[str, int] = {}
    for opening, inline in itertools.pairwise(tokens):
        if opening.type == "heading_open" and opening.map is not None and opening.level == 0:
            plain = "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))
            heading = _Heading(plain, int(opening.tag[1]), opening.map[0], slug(plain))
            count = seen.get(heading.slug, 0)
            seen[heading.slug] = count + 1
            heading.slug += f"-{count}" if count else ""
            above = next((one for one in reversed(found) if one.level < heading.level), found[0])
            heading.path = (*above.path, plain)
            found.append(heading)
    return found


def _expand(
    tokens: list[Token], lines: list[str], start: int, end: int, id: str, offset: int
) -> tuple[str, tuple[Measurement, ...]]:
    """A section's Markdown with its directives carried out: tables drawn, measurements taken out."""
    kept, made = list(lines[start:end]), []
    for token, first, last in _fences(tokens, start, end):
        info = token.info.strip()
        if info == "table":
            try:
                drawn = directive.draw(token.content)
            except directive.DirectiveError as error:
                raise UserError(f"{id}.md: line {offset + first + 1}: {error}") from error
            kept[first - start : last - start] = [drawn] + [""] * (last - first - 1)
        elif info == "measure":
            kept[first - start : last - start] = [""] * (last - first)
            made += list(_measurements(token.content))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return text, tuple(made)


def _fences(tokens: list[Token], start: int, end: int) -> Iterator[tuple[Token, int, int]]:
    for token in tokens:
        if token.type == "fence" and token.map is not None and start <= token.map[0] < end:
            yield token, token.map[0], token.map[1]


def _measurements(content: str) -> Iterator[Measurement]:
    for line in content.splitlines():
        if line.strip():
            try:
                yield measurement(line)
            except (CannotRun, ValueError):
                continue  # told by lint; a chapter stays readable without it
