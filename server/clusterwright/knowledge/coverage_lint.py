"""Checks of `evals/coverage.csv`: which section answers each topic that a handbook of the field is expected to have."""

import csv
from collections.abc import Iterator, Set
from pathlib import Path

COLUMNS = ["part", "topic", "section"]


def lint(file: Path, ids: Set[str]) -> Iterator[tuple[int, str]]:
    """Line and message of each problem; `ids` are those of sections and of rows of tables."""
    with file.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream, strict=True)
        if reader.fieldnames != COLUMNS:
            yield 1, f"the columns are {', '.join(COLUMNS)}"
            return
        seen: set[tuple[str, str]] = set()
        try:
            for row in reader:
                yield from ((reader.line_num, message) for message in _row(row, ids, seen))
        except csv.Error as error:
            yield reader.line_num + 1, f"broken CSV: {error}"


def _row(row: dict[str, str], ids: Set[str], seen: set[tuple[str, str]]) -> Iterator[str]:
    if None in row or not all(row.values()):
        yield f"a row has {len(COLUMNS)} cells, none of them empty; quote cells that hold commas"
        return
    key = row["part"], row["topic"]
    if key in seen:
        yield f"'{row['topic']}' stands twice in {row['part']}"
    seen.add(key)
    for section in row["section"].split(";"):
        if "#" not in section or section not in ids:
            yield f"there is no section '{section}'"
