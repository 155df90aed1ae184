from pathlib import Path

import pytest

from clusterwright.knowledge import table_lint

HEAD = "name,memory_gb,section,source,quote,checked_on"
GOOD = "A,80,a/b#c,https://x,80 GB,2026-12-01"


def problems(folder: Path, text: str, name: str = "parts") -> list[tuple[str, int, str]]:
    (folder / f"{name}.csv").write_text(text, newline="")
    return list(table_lint.lint(folder, {"a/b#c"}))


@pytest.mark.parametrize(
    "row",
    [
        "B,,,measured 2026-12-01: one H200,80 GB,2026-12-01",
        "B,-1.5e3,,https://x,q,2026-12-01",
        'B,1,,https://x,"with, comma",2026-12-01',
    ],
)
def test_good_rows(tmp_path: Path, row: str) -> None:
    assert problems(tmp_path, f"{HEAD}\n{GOOD}\n{row}\n") == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("A,1,,https://x,q,2026-12-01", "the key 'A' is empty or stands twice"),
        (",1,,https://x,q,2026-12-01", "the key '' is empty or stands twice"),
        ("B,many,,https://x,q,2026-12-01", "memory_gb: 'many' is no number"),
        ("B,nan,,https://x,q,2026-12-01", "memory_gb: 'nan' is no number"),
        ("B, 1,,https://x,q,2026-12-01", "memory_gb: ' 1' begins or ends with a space"),
        ("B,1,gone/gone,https://x,q,2026-12-01", "section: there is no 'gone/gone'"),
        ("B,1,,http://x,q,2026-12-01", "source: give the https address"),
        ("B,1,,,q,2026-12-01", "source: give the https address"),
        ("B,1,,https://x,,2026-12-01", "quote: give the few words"),
        ("B,1,,https://x,q,2026-13-01", "checked_on: '2026-13-01' is no day"),
        ("B,1,,https://x,q,20261201", "checked_on: '20261201' is no day"),
        ("B,1,,https://x,q,", "checked_on: '' is no day"),
        ("B,1,,https://x,q", "this row has not 6 cells"),
        ("B,1,,https://x,q,with,2026-12-01", "this row has not 6 cells"),
    ],
)
def test_bad_rows(tmp_path: Path, row: str, message: str) -> None:
    ((file, line, told),) = problems(tmp_path, f"{HEAD}\n{GOOD}\n{row}\n")
    assert (file, line) == ("parts.csv", 3) and told.startswith(message)


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("memory", "80", "memory: the figures have no unit"),
        ("value", "80", "value: the figures have no unit; add a column 'unit'"),
        ("memory_gib", "80", ""),
        ("memory", "80 or 96", ""),
        ("memory", "", ""),
        ("links", "18", ""),
        ("gb_s_per_direction", "450", ""),
        ("announced", "2022", ""),
        ("announced", "soon", "announced: 'soon' is no whole number"),
        ("xid", "79.5", "xid: '79.5' is no whole number"),
        ("xid", "79", ""),
        ("device_name_pattern", "NVIDIA (H200", "device_name_pattern: missing )"),
        ("device_name_pattern", "NVIDIA H200.*", ""),
    ],
)
def test_columns(tmp_path: Path, column: str, cell: str, message: str) -> None:
    found = problems(tmp_path, f"name,{column},source,quote,checked_on\nA,{cell},https://x,q,2026-12-01\n")
    assert [told.startswith(message) for _, _, told in found] == ([True] if message else [])


def test_values_have_their_unit_in_a_column(tmp_path: Path) -> None:
    head = "id,value,unit,basis,source,quote,checked_on"
    assert problems(tmp_path, f"{head}\na,1,s,rule of thumb,,,2026-12-01\n") == []
    assert "no number" in problems(tmp_path, f"{head}\na,x,s,rule of thumb,,,2026-12-01\n")[0][2]


def test_only_definitions_of_our_own_need_no_source(tmp_path: Path) -> None:
    text = "term,basis,source,quote,checked_on\na,{},,,2026-12-01\n"
    assert problems(tmp_path, text.format("project convention")) == []
    assert len(problems(tmp_path, text.format("hearsay"))) == 2
    (tmp_path / "parts.csv").unlink()
    assert problems(tmp_path, text.format("hearsay"), "glossary") == []


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("name\nA\n", 1, "the columns source, quote, checked_on are missing"),
        ("", 1, "the columns source, quote, checked_on are missing"),
        ("name,name,source,quote,checked_on\n", 1, "the columns name stand twice"),
        (f"{HEAD}\n{GOOD}\r\n", 2, "a carriage return"),
    ],
)
def test_files(tmp_path: Path, text: str, line: int, message: str) -> None:
    ((_, found, told),) = problems(tmp_path, text)
    assert found == line and told.startswith(message)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "parts.csv").write_bytes(b"name\n\xff")
    assert list(table_lint.lint(tmp_path, set())) == [("parts.csv", 2, "not UTF-8; save it as UTF-8")]


def test_a_folder_without_tables(tmp_path: Path) -> None:
    assert list(table_lint.lint(tmp_path / "none", set())) == []
