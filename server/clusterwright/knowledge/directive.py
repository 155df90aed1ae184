"""The `table` directive: a Markdown table drawn from a reference table, so that chapter and verdict never disagree."""

import re
from collections.abc import Callable, Iterable

import yaml

from clusterwright_tools import tables
from clusterwright_tools.tables import Row

UNITS = {
    "gb_s_per_direction": "(GB/s per direction)",
    "gb_s_both_directions": "(GB/s both directions)",
    "gbit_s_per_link_per_direction": "per link and direction (Gbit/s)",
    "gbit_s_per_pin": "per pin (Gbit/s)",
    "gbit_s_per_port": "per port (Gbit/s)",
    "gbit_s_per_nic": "per NIC (Gbit/s)",
    "gt_s_per_lane": "per lane (GT/s)",
    "gb_s_per_stack": "per stack (GB/s)",
    "gb_per_stack": "per stack (GB)",
    "kb_per_unit": "per unit (KB)",
    "gbit_s": "(Gbit/s)",
    "tbit_s": "(Tbit/s)",
    "gb_s": "(GB/s)",
    "tflops": "TFLOPS",
    "tops": "TOPS",
    "mhz": "(MHz)",
    "gb": "(GB)",
    "mb": "(MB)",
    "gib": "(GiB)",
    "w": "(W)",
    "c": "(C)",
    "s": "(s)",
}
_CONDITION = re.compile(r"\s*(\w+)\s*(!=|=|\bin\b)\s*(.+?)\s*")


class DirectiveError(ValueError):
    """What is wrong with a directive, in one line."""


def draw(text: str) -> str:
    """The Markdown table that a directive's body asks for.

    Raises:
        DirectiveError: no such table or column, a condition that cannot be read, or no row that fits.
    """
    asked = _options(text)
    name = asked.pop("from")
    if name not in tables.names():
        raise DirectiveError(f"table '{name}' does not exist; there are: {', '.join(tables.names())}")
    found = list(tables.rows(name))
    known = list(found[0]) if found else []
    columns = [part.strip() for part in asked.get("columns", ",".join(known)).split(",")]
    for column in columns:
        _check(name, column, known)
    for condition in filter(str.strip, asked.get("where", "").split(";")):
        found = list(filter(_condition(name, condition, known), found))
    if sort := asked.get("sort"):
        column = sort.lstrip("-")
        _check(name, column, known)
        found.sort(key=lambda row: _order(row[column]), reverse=sort.startswith("-"))
        found.sort(key=lambda row: not row[column])  # unknown cells come last in either order
    if not found:
        raise DirectiveError(f"table '{name}': no row fits 'where: {asked.get('where', '')}'")
    shown = [column for column in columns if any(row[column] for row in found)]
    source = [*shown, "source"] if "source" not in shown and "source" in known else shown
    lines = [_line(label(column) for column in source), _line("---" for _ in source)]
    lines += [_line(_cell(column, row) for column in source) for row in found]
    return "\n".join(lines)


def label(column: str) -> str:
    """A column's heading: `memory_bandwidth_gb_s` is `memory bandwidth (GB/s)`."""
    for suffix, unit in UNITS.items():
        if column.endswith("_" + suffix) or column == suffix:
            return f"{column[: -len(suffix)].strip('_').replace('_', ' ')} {unit}".strip()
    return column.replace("_", " ")


def _options(text: str) -> dict[str, str]:
    try:
        asked = yaml.load(text, Loader=yaml.BaseLoader)  # every value stays text
    except yaml.YAMLError as error:
        raise DirectiveError("table directive: write lines of 'key: value' (from, columns, where, sort)") from error
    if not isinstance(asked, dict) or "from" not in asked:
        raise DirectiveError("table directive: 'from: TABLE' is missing")
    for key in asked:
        if key not in ("from", "columns", "where", "sort"):
            raise DirectiveError(f"table directive: unknown key '{key}'; it takes from, columns, where, sort")
        if not isinstance(asked[key], str):
            raise DirectiveError(f"table directive: write '{key}' as text, parts parted by ',' or ';'")
    return dict(asked)


def _check(table: str, column: str, known: list[str]) -> None:
    if column not in known:
        raise DirectiveError(f"table '{table}' has no column '{column}'; it has: {', '.join(known)}")


def _condition(table: str, text: str, known: list[str]) -> Callable[[Row], bool]:
    match = _CONDITION.fullmatch(text)
    if not match:
        raise DirectiveError(f"table '{table}': cannot read the condition '{text.strip()}'; write column = value")
    column, operator, value = match.groups()
    _check(table, column, known)
    wanted = {part.strip() for part in value.split("|")} if operator == "in" else {value}
    return lambda row: (row[column] in wanted) != (operator == "!=")


def _order(cell: str) -> tuple[float, str]:
    try:
        return float(cell), ""
    except ValueError:
        return 0.0, cell


def _cell(column: str, row: Row) -> str:
    value = row[column].replace("|", "\\|").replace("\n", " ")
    return f"[source]({value})" if column == "source" and value.startswith("http") else value


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
