"""The reference tables: every ceiling, threshold and catalogue entry that a measurement compares with.

They live in `knowledge/tables/` of a checkout and travel inside this package in the wheel and in the zipapp.
"""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Row = Mapping[str, str]


def folder() -> Traversable:
    """Where the tables are: inside the package, else the checkout around it."""
    packaged = resources.files("clusterwright_tools") / "_data" / "tables"
    if packaged.is_dir():
        return packaged
    return Path(__file__).parents[2] / "knowledge" / "tables"


def names() -> list[str]:
    """The names of all tables."""
    return sorted(item.name[:-4] for item in folder().iterdir() if item.name.endswith(".csv"))


@functools.cache
def rows(name: str) -> tuple[Row, ...]:
    """All rows of a table; each maps column to text, '' where the cell is unknown."""
    with (folder() / f"{name}.csv").open(encoding="utf-8") as stream:
        return tuple(csv.DictReader(stream))


def number(row: Row, column: str) -> float | None:
    """A cell as a number, None where it is empty."""
    return float(row[column]) if row.get(column) else None


def accelerator(device_name: str) -> Row | None:
    """The row of `accelerators.csv` for a device as its driver names it, or None."""
    for row in rows("accelerators"):
        if row["device_name_pattern"] and re.fullmatch(row["device_name_pattern"], device_name):
            return row
    return None


def threshold(id: str) -> float:
    """A value of `thresholds.csv`. A missing id is a bug of the caller, hence KeyError."""
    for row in rows("thresholds"):
        if row["id"] == id:
            return float(row["value"])
    raise KeyError(id)
