"""The README's table of measurements is what the tools declare. `make readme` brings it up to date."""

import os
from pathlib import Path

from clusterwright_tools import params, registry

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- tools -->\n", "<!-- /tools -->"


def table() -> str:
    lines = ["| name | what it finds | parameters | usual time | impact |", "|---|---|---|---|---|"]
    for tool in registry.tools().values():
        options = ", ".join(f"`{field.option}`" for field in params.fields(tool.params))
        summary = tool.summary.replace("|", "\\|")
        lines.append(f"| `{tool.name}` | {summary} | {options} | {tool.seconds:.0f} s | {tool.impact.value} |")
    return "\n".join(lines) + "\n"


def test_the_table_is_up_to_date() -> None:
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    drawn, after = rest.split(END)
    if os.environ.get("UPDATE_README"):
        README.write_text(before + BEGIN + table() + END + after, encoding="utf-8")
        return
    assert drawn == table()
