"""Checks of the reference tables: every row has its source, its day, and cells that mean what their column says."""

import csv
import re
from collections.abc import Iterator, Set
from datetime import date
from pathlib import Path

_ABOUT = ("source", "quote", "checked_on")
_NUMERIC = re.compile(
    r".*_(tflops|tops|gb|gb_s|mb|mhz|w|per_unit|per_direction|both_directions|fraction)|value|units|links|xid|announced"
)
# Definitions and conventions of our own need no document; they say so by their basis.
_OWN = ("project convention", "rule of thumb")
_FREE = ("glossary",)


def lint(folder: Path, ids: Set[str]) -> Iterator[tuple[str, int, str]]:
    """File name, line and message of each problem in the tables of a folder; `ids` are the section ids that exist."""
    for file in sorted(folder.glob("*.csv")):
        with file.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            columns = list(reader.fieldnames or ())
            missing = [name for name in _ABOUT if name not in columns]
            if missing:
                yield file.name, 1, f"the columns {', '.join(missing)} are missing"
                continue
            seen: set[str] = set()
            for row in reader:
                line = reader.line_num
                if None in row or None in row.values():
                    yield file.name, line, f"this row has not {len(columns)} cells; quote cells that hold commas"
                    continue
                key = row[columns[0]]
                if not key or key in seen:
                    yield file.name, line, f"the key '{key}' is empty or stands twice"
                seen.add(key)
                yield from ((file.name, line, message) for message in _row(row, ids, file.stem in _FREE))


def _row(row: dict[str, str], ids: Set[str], free: bool) -> Iterator[str]:
    source = row["source"]
    if not (source.startswith(("https://", "measured")) or row.get("basis") in _OWN or free):
        yield "source: give the https address of a primary source, or 'measured …'"
    if not row["quote"] and not (row.get("basis") in _OWN or free):
        yield "quote: give the few words of the source that carry the figures"
    if not _day(row["checked_on"]):
        yield f"checked_on: '{row['checked_on']}' is no day as YYYY-MM-DD"
    for column, cell in row.items():
        if cell and _NUMERIC.fullmatch(column) and not _number(cell):
            yield f"{column}: '{cell}' is no number"
    if (section := row.get("section")) and section not in ids:
        yield f"section: there is no '{section}'"
    if pattern := row.get("device_name_pattern"):
        try:
            re.compile(pattern)
        except re.error as error:
            yield f"device_name_pattern: {error}"


def _number(cell: str) -> bool:
    return bool(re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", cell))


def _day(text: str) -> bool:
    try:
        return bool(re.fullmatch(r"\d{4}-\d{2}-\d{2}", text)) and date.fromisoformat(text) is not None
    except ValueError:
        return False
