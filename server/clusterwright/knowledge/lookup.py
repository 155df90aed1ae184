"""Rows of the reference tables by name, and pages of the chapters by id."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from clusterwright.errors import UserError
from clusterwright.knowledge.chapters import Chapter, Measurement, Section, Source
from clusterwright_tools import tables
from clusterwright_tools.tables import Row

_ABOUT = ("source", "quote", "checked_on")
# The line of a log as it is pasted: "NVRM: Xid (PCI:0000:41:00): 79, pid=…", "nvswitch3: SXid (PCI:…): 12028, …".
_LOGGED = re.compile(r"\b(S?Xid) \([^)]*\): (\d+)", re.IGNORECASE)
# A device pattern is for programs; the rest of a row is for people.
_HIDDEN = (*_ABOUT, "device_name_pattern")


@dataclass(frozen=True)
class TableRow:
    """A row of a reference table: its cells that are known, and where they come from."""

    table: str
    key: str
    cells: Mapping[str, str]
    source: str
    quote: str
    checked_on: str

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Page:
    """A section, or a whole chapter with the ids of its sections."""

    id: str
    heading: str
    text: str
    reviewed: str
    sections: tuple[str, ...]
    sources: tuple[Source, ...]
    measurements: tuple[Measurement, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


def rows(query: str, limit: int = 5) -> list[TableRow]:
    """The rows that a name means, best first: exact key or alias, then beginnings, then contained words.

    Case, spaces, hyphens and underscores do not count: `Xid 79`, `nccl_ib_timeout`, `nvlink4`. An exact key comes
    alone; with an alias come the names that begin with it, for `H100` is also the beginning of `H100 PCIe`.
    A pasted line of the kernel's log means the Xid or SXid in it.

    Raises:
        UserError: the query is empty.
    """
    if logged := _LOGGED.search(query):
        query = " ".join(logged.groups())
    wanted = _plain(query)
    if not wanted:
        raise UserError("an empty name; give a GPU, a link, an Xid, a variable, a threshold or a term")
    scored = [(_fit(table, row, query, wanted), table, row) for table in tables.names() for row in tables.rows(table)]
    found = sorted((one for one in scored if one[0]), key=lambda one: -one[0])
    best = found[0][0] if found else 0
    # What merely resembles the answer would only blur it.
    least = next(least for least in (_KEY, _BEGINNING, _NAMES, _TEXT) if best >= least) if found else 0
    return [_row(table, row) for score, table, row in found if score >= least][: max(limit, 0)]


def page(book: Sequence[Chapter], id: str) -> Page:
    """A section or a chapter by its id; ids of sections that were renamed still work.

    Raises:
        UserError: there is no such section or chapter; the message names the nearest ids.
    """
    name, _, slug = id.strip().removesuffix(".md").partition("#")
    chapters = {chapter.id: chapter for chapter in book}
    chapter = chapters.get(name)
    if chapter is not None and not slug:
        return _chapter(chapter)
    if chapter is not None:
        wanted = f"{name}#{chapter.moved.get(slug, slug)}"
        for section in chapter.sections:
            if section.id == wanted:
                return _section(section)
    known = [section.id for section in chapter.sections] if chapter else list(chapters)
    near = difflib.get_close_matches(id, known, 3, 0.3) or known[:3]
    kind = "section" if slug else "chapter"
    raise UserError(f"unknown {kind} '{id}'; the nearest: {', '.join(near)} ('clusterwright search' finds ids)")


_KEY, _ALIAS, _TERM, _BEGINNING, _NAMES, _TEXT = 60, 50, 40, 30, 20, 10


def _fit(table: str, row: Row, query: str, wanted: str) -> int:
    key = next(iter(row.values()))
    names = [key, *_split(row.get("aliases", "")), *_split(row.get("chinese", ""))]
    if coded := table in ("xid", "sxid"):
        names += [f"{table} {key}"]
    plain = [_plain(name) for name in names if name]
    pattern = row.get("device_name_pattern", "")
    if wanted == plain[0] or (coded and wanted == plain[-1]):
        return _KEY
    if wanted in plain or (pattern and re.fullmatch(pattern, query.strip(), re.IGNORECASE)):
        # A term of the glossary only points to what the other tables say in full.
        return _TERM if table == "glossary" else _ALIAS
    if any(_begins(name, wanted) for name in plain):
        return _BEGINNING
    words = set(_words(query))
    if words and words <= set(_words(" ".join([*names, row.get("name", "")]))):
        return _NAMES
    # A bare number stands in any row.
    told = [cell for column, cell in row.items() if column not in _ABOUT]
    return _TEXT if not wanted.isdecimal() and words and words <= set(_words(" ".join(told))) else 0


def _begins(name: str, wanted: str) -> bool:
    """Whether a name begins so, its numbers being whole: `xid 7` does not begin `xid 79`."""
    rest = name.removeprefix(wanted)
    return rest != name and not (wanted[-1].isdecimal() and rest[:1].isdecimal())


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _split(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(";") if part.strip()]


def _plain(text: str) -> str:
    return re.sub(r"[\s_-]+", "", text.strip().lower())


def _row(table: str, row: Row) -> TableRow:
    cells = {column: cell for column, cell in row.items() if cell and column not in _HIDDEN}
    return TableRow(table, next(iter(row.values())), cells, *(row.get(name, "") for name in _ABOUT))


def _section(section: Section) -> Page:
    text = f"{'#' * section.level} {section.heading}\n\n{section.text}"
    return Page(section.id, section.heading, text, section.reviewed, (), section.sources, section.measurements)


def _chapter(chapter: Chapter) -> Page:
    text = f"# {chapter.title}\n\n{chapter.summary}\n\n" + "\n\n".join(_section(one).text for one in chapter.sections)
    return Page(
        chapter.id,
        chapter.title,
        text,
        chapter.reviewed,
        tuple(section.id for section in chapter.sections),
        chapter.sources,
        tuple(_distinct(one for section in chapter.sections for one in section.measurements)),
    )


def _distinct(measurements: Iterable[Measurement]) -> list[Measurement]:
    return list({one.command: one for one in measurements}.values())
