"""Checks of the reference tables: every row has its source, its day, and cells that mean what their column says."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import date
from pathlib import Path

from clusterwright.knowledge.directive import UNITS

_ABOUT = ("source", "quote", "checked_on")
# Shares and rates per something are units, too, but need no other words in a heading.
_UNITS = (*UNITS, "fraction", "per_unit")
_COUNTS = ("units", "links", "ports", "nics", "accelerators", "bits_per_stack")
# Figures that are names or years; what a `value` is in stands in the column `unit`.
_NAMES = ("xid", "sxid", "bit", "year", "announced", "since", "default", "values", "value")
# Definitions and conventions of our own need no document; they say so by their basis.
_OWN = ("project convention", "rule of thumb")
_FREE = ("glossary",)


def lint(folder: Path, ids: Set[str]) -> Iterator[tuple[str, int, str]]:
    """File name, line and message of each problem in the tables of a folder; `ids` are the section ids that exist."""
    for file in sorted(folder.glob("*.csv")):
        try:
            text = file.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            yield file.name, error.object[: error.start].count(b"\n") + 1, "not UTF-8; save it as UTF-8"
            continue
        if "\r" in text:
            yield file.name, text[: text.index("\r")].count("\n") + 1, "a carriage return; end lines with '\\n' alone"
        yield from ((file.name, line, message) for line, message in _table(text, ids, file.stem in _FREE))


def _table(text: str, ids: Set[str], free: bool) -> Iterator[tuple[int, str]]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    columns = list(reader.fieldnames or ())
    missing = [name for name in _ABOUT if name not in columns]
    twice = {name for name in columns if columns.count(name) > 1}
    if missing or twice:
        yield 1, f"the columns {', '.join(missing or sorted(twice))} {'are missing' if missing else 'stand twice'}"
        return
    seen: set[str] = set()
    rows = []
    for row in reader:
        line = reader.line_num
        if None in row or None in row.values():
            yield line, f"this row has not {len(columns)} cells; quote cells that hold commas"
            continue
        key = row[columns[0]]
        if not key or key in seen:
            yield line, f"the key '{key}' is empty or stands twice"
        seen.add(key)
        rows.append(row)
        yield from ((line, message) for message in _row(row, ids, free))
    yield from ((1, message) for message in _columns(columns, rows))


def _columns(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for column in columns:
        cells = [row[column] for row in rows if row[column]]
        if cells and all(map(_number, cells)) and column not in _NAMES and not _measured(column):
            yield f"{column}: the figures have no unit; end the name with one, e.g. {column}_gb"
    if "value" in columns and "unit" not in columns:
        yield "value: the figures have no unit; add a column 'unit'"


def _row(row: Mapping[str, str], ids: Set[str], free: bool) -> Iterator[str]:
    own = free or row.get("basis") in _OWN
    if not (own or row["source"].startswith(("https://", "measured"))):
        yield "source: give the https address of a primary source, or 'measured …'"
    if not (own or row["quote"]):
        yield "quote: give the few words of the source that carry the figures"
    if not _day(row["checked_on"]):
        yield f"checked_on: '{row['checked_on']}' is no day as YYYY-MM-DD"
    for column, cell in row.items():
        if cell != cell.strip():
            yield f"{column}: '{cell}' begins or ends with a space"
        elif cell and (_measured(column) or column == "value") and not _number(cell):
            yield f"{column}: '{cell}' is no number"
        elif cell and column in ("xid", "sxid", "year", "announced") and not cell.isdecimal():
            yield f"{column}: '{cell}' is no whole number"
    if (section := row.get("section")) and section not in ids:
        yield f"section: there is no '{section}'"
    if pattern := row.get("device_name_pattern"):
        try:
            re.compile(pattern)
        except re.error as error:
            yield f"device_name_pattern: {error}"


def _measured(column: str) -> bool:
    return column in _COUNTS or any(column == unit or column.endswith(f"_{unit}") for unit in _UNITS)


def _number(cell: str) -> bool:
    return bool(re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", cell))


def _day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
