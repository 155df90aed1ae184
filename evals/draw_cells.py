"""Draw table cells to be looked up again by somebody who did not write them, e.g. `python evals/draw_cells.py 100`.

The draw is seeded with the git tree hash of `knowledge/tables`, so that it cannot be chosen, and is another one after
every change. It prints JSON lines. The key and the source of a row say where to look, and are not drawn; nor are
definitions and conventions of our own, which have no source that could carry them.
"""

import csv
import json
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_DRAWN = {"source", "quote", "checked_on", "section", "device_name_pattern", "aliases"}
OWN = {"project convention", "rule of thumb"}


def cells() -> list[dict[str, str]]:
    """Every cell that can be drawn, in the order of the tables."""
    found = []
    for file in sorted((ROOT / "knowledge" / "tables").glob("*.csv")):
        if file.stem == "glossary":
            continue
        with file.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                key, *columns = row
                if row.get("basis") in OWN:
                    continue
                about = {name: row[name] for name in ("source", "quote", "notes") if row.get(name)}
                found += [
                    {"table": file.stem, "row": row[key], "column": column, "value": row[column], **about}
                    for column in columns
                    if row[column] and column not in NOT_DRAWN
                ]
    return found


def main() -> None:
    """Print the draw."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    tree = subprocess.run(
        ["git", "rev-parse", "HEAD:knowledge/tables"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    everything = cells()
    print(json.dumps({"tree": tree, "cells": len(everything), "drawn": count}))
    for cell in random.Random(tree).sample(everything, count):
        print(json.dumps(cell, ensure_ascii=False))


if __name__ == "__main__":
    main()
