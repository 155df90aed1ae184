"""The reference tables as chapters, one section a row, so that a search finds them and `read` shows them."""

import csv
from collections.abc import Mapping
from pathlib import Path

from clusterwright.knowledge import chapters, markdown
from clusterwright.knowledge.chapters import Chapter, Section, Source
from clusterwright.knowledge.directive import label

# The glossary serves to understand queries, and thresholds to judge measurements: neither answers a question.
TITLES = {
    "accelerators": "Table of accelerators",
    "cloud_networks": "Table of cloud instances and their networks",
    "env_vars": "Table of environment variables",
    "file_systems": "Table of file systems and object stores",
    "interconnects": "Table of interconnects",
    "matmul_rates": "Table of measured matmul rates",
    "memory_types": "Table of accelerator memory types",
    "nics": "Table of network cards",
    "pcie": "Table of PCIe generations",
    "switches": "Table of network switches",
    "sxid": "Table of SXid codes of NVSwitch",
    "throttle_reasons": "Table of throttle reasons",
    "xid": "Table of Xid codes of the NVIDIA driver",
}
_CODES = {"xid": "Xid", "sxid": "SXid"}
_NOT_SHOWN = ("source", "quote", "checked_on", "section", "device_name_pattern")


def library(root: Path) -> tuple[Chapter, ...]:
    """All chapters, then all tables.

    Raises:
        UserError: there is no chapter, or one of them is broken.
    """
    return (*chapters.load(root), *tables(root))


def tables(root: Path) -> tuple[Chapter, ...]:
    """The tables of a knowledge folder, as far as it has them."""
    files = {name: root / "tables" / f"{name}.csv" for name in TITLES}
    return tuple(_table(name, file) for name, file in files.items() if file.is_file())


def _table(name: str, file: Path) -> Chapter:
    with file.open(encoding="utf-8", newline="") as stream:
        sections = tuple(_section(name, row) for row in csv.DictReader(stream))
    reviewed = max((section.reviewed for section in sections), default="")
    return Chapter(f"tables/{name}", TITLES[name], "", (), reviewed, (), sections, {})


def _section(table: str, row: Mapping[str, str]) -> Section:
    first, *others = row
    heading = f"{_CODES[table]} {row[first]}: {row['name']}" if table in _CODES else row[first]
    shown = [column for column in others if row[column] and column not in _NOT_SHOWN]
    lines = [f"- {label(column)}: {row[column]}" for column in shown]
    if row.get("section"):
        lines.append(f"- more: {row['section']}")
    address = row["source"]
    where = {"url" if address.startswith("http") else "measured": address}
    return Section(
        id=f"tables/{table}#{markdown.slug(heading)}",
        chapter=f"tables/{table}",
        heading=heading,
        path=(heading,),
        level=2,
        text="\n".join(lines),
        sources=(Source(table, row["quote"] or TITLES[table], **where),) if address else (),
        reviewed=row["checked_on"][:7],
        measurements=(),
    )
