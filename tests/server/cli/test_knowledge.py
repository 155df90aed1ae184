import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from clusterwright import paths
from clusterwright.cli import cli, main
from clusterwright.errors import UserError
from clusterwright_tools import tables

SECTION = "debugging/xid#what-does-xid-79-mean"


@pytest.fixture(autouse=True)
def small(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "shipped", lambda name: root.parent / name)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, catch_exceptions=False)


def test_reading_a_section() -> None:
    shown = run("read", SECTION).stdout
    assert shown.startswith("## What does Xid 79 mean?\n\nXid 79 says that the GPU has fallen off the bus.")
    assert "[^maker] The maker's manual https://example.com/manual" in shown and "Xid 63" not in shown


def test_reading_a_chapter() -> None:
    shown = run("read", "network/busbw").stdout
    assert shown.startswith("# Collectives\n\nWhat collectives reach.")
    assert "## Why is a collective slower on two nodes?" in shown
    assert shown.endswith("measure: clusterwright run collective-bandwidth --ops all_reduce\n")
    record = json.loads(run("read", "network/busbw", "--json").stdout)
    assert record["sections"] == [
        "network/busbw#what-bus-bandwidth-should-an-all-reduce-reach",
        "network/busbw#why-is-a-collective-slower-on-two-nodes",
    ]
    assert record["measurements"][0]["parameters"] == {"ops": ["all_reduce"]}


def test_a_renamed_section(root: Path) -> None:
    file = root / "debugging" / "xid.md"
    file.write_text(file.read_text().replace("sources:", "moved: {xid-79: what-does-xid-79-mean}\nsources:"))
    assert json.loads(run("read", "debugging/xid#xid-79", "--json").stdout)["id"] == SECTION


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["read", "debugging/xids"], "unknown chapter 'debugging/xids'; the nearest: debugging/xid "),
        (["read", "debugging/xid#xid-79-mean"], f"the nearest: {SECTION}"),
        (["lookup", " "], "an empty name; give a GPU"),
    ],
)
def test_what_is_not_there(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["clusterwright", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    assert ended.value.code == 2 and message in told and told.count("\n") == 1


def test_a_broken_chapter_is_named(root: Path) -> None:
    (root / "network" / "new.md").write_text("---\ntitle: New\n---\n")
    with pytest.raises(UserError, match=r"^knowledge/network/new\.md: line 1: front matter: summary is missing$"):
        run("read", SECTION)


def test_looking_up_a_row() -> None:
    shown = run("lookup", "h200", "--limit", "1").stdout.splitlines()
    row = next(row for row in tables.rows("accelerators") if row["name"] == "H200 SXM")
    assert shown[0] == "accelerators: H200 SXM"
    assert f"  memory (GB): {row['memory_gb']}" in shown and f"  source: {row['source']}" in shown
    record = json.loads(run("lookup", "h200", "--limit", "1", "--json").stdout)["rows"]
    assert [one["key"] for one in record] == ["H200 SXM"]
    assert record[0]["cells"]["memory_gb"] == row["memory_gb"] and record[0]["checked_on"] == row["checked_on"]


def test_cells_are_shown_as_they_stand_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"name": "A", "values": "[red] :warning:", "source": "https://x/" + "y" * 90, "quote": "", "checked_on": ""}
    monkeypatch.setattr(tables, "names", lambda: ["parts"])
    monkeypatch.setattr(tables, "rows", lambda name: (row,))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    shown = run("lookup", "A").stdout
    assert "[red] :warning:" in shown and shown.count("y") == 90


def test_nothing_to_look_up() -> None:
    result = run("lookup", "zzz no such thing")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "no row for 'zzz no such thing'; try: clusterwright search 'zzz no such thing'\n"


def test_a_clean_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in root.glob("*/*.md"):
        file.unlink()
    words = "It is fast enough for all that we do here. " * 10
    (root / "network" / "a.md").write_text(f"---\ntitle: A\nsummary: B\nreviewed: 2026-12\n---\n## Fast?\n\n{words}\n")
    monkeypatch.setattr("clusterwright.knowledge.lint._tools", lambda ids: ())
    assert run("knowledge", "lint").stdout == "the knowledge folder is clean\n"
    assert run("knowledge", "lint", str(root)).exit_code == 0
    assert json.loads(run("knowledge", "lint", "--json").stdout) == {"problems": []}


def test_a_folder_with_problems(root: Path) -> None:
    (root / "network" / "a.md").write_text("---\ntitle: A\nsummary: B\nreviewed: soon\n---\n")
    result = run("knowledge", "lint", str(root))
    told = "front matter: reviewed: write the month as YYYY-MM"
    assert result.exit_code == 1 and f"network/a.md:4: {told}\n" in result.stdout
    problems = json.loads(run("knowledge", "lint", "--json").stdout)["problems"]
    assert {"file": "network/a.md", "line": 4, "message": told, "warning": False} in problems


def test_warnings_do_not_fail(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterwright.knowledge.lint._tools", lambda ids: ())
    result = run("knowledge", "lint")
    assert result.exit_code == 0 and result.stdout.endswith("0 problems, 4 warnings\n")
