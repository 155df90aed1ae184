from pathlib import Path

import pytest

from clusterwright.errors import UserError
from clusterwright.knowledge import chapters, lookup


@pytest.mark.parametrize(
    ("query", "table", "key"),
    [
        ("Xid 79", "xid", "79"),
        ("xid79", "xid", "79"),
        ("79", "xid", "79"),
        ("SXid 12028", "sxid", "12028"),
        ("NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", "xid", "79"),
        ("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress", "sxid", "12028"),
        ("NVIDIA H200", "accelerators", "H200 SXM"),
        ("nccl_ib_timeout", "env_vars", "NCCL_IB_TIMEOUT"),
        ("nvlink4", "interconnects", "NVLink 4"),
        ("boost-clock-fraction", "thresholds", "boost-clock-fraction"),
    ],
)
def test_names_as_people_write_them(query: str, table: str, key: str) -> None:
    first = lookup.rows(query)[0]
    assert (first.table, first.key) == (table, key)
    assert first.source and first.checked_on


def test_an_exact_name_comes_alone() -> None:
    assert len({row.key for row in lookup.rows("Xid 79", 5)}) == 1


def test_the_beginning_of_a_name() -> None:
    keys = [row.key for row in lookup.rows("NCCL_IB_", 5)]
    assert len(keys) == 5 and all(key.startswith("NCCL_IB_") for key in keys)


def test_cells_are_those_that_are_known() -> None:
    row = lookup.rows("Xid 79")[0]
    assert all(row.cells.values()) and not {"source", "quote", "checked_on"} & set(row.cells)


def test_nothing_found_and_nothing_asked() -> None:
    assert lookup.rows("zzz no such thing") == []
    with pytest.raises(UserError, match="an empty name"):
        lookup.rows("  ")


@pytest.fixture
def book(root: Path) -> tuple[chapters.Chapter, ...]:
    file = root / "debugging" / "xid.md"
    text = file.read_text().replace("sources:", "moved: {what-is-xid-79: what-does-xid-79-mean}\nsources:")
    file.write_text(text)
    return chapters.load(root)


def test_a_section(book: tuple[chapters.Chapter, ...]) -> None:
    page = lookup.page(book, "debugging/xid#what-does-xid-79-mean")
    assert page.text.startswith("## What does Xid 79 mean?") and page.sources[0].key == "maker"


def test_a_renamed_section(book: tuple[chapters.Chapter, ...]) -> None:
    assert lookup.page(book, "debugging/xid#what-is-xid-79").id == "debugging/xid#what-does-xid-79-mean"


def test_a_chapter(book: tuple[chapters.Chapter, ...]) -> None:
    page = lookup.page(book, "network/busbw.md")
    assert page.heading == "Collectives" and len(page.sections) == 2 and len(page.measurements) == 1


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("debugging/xids", "unknown chapter 'debugging/xids'; the nearest: debugging/xid"),
        ("debugging/xid#what-does-xid-97-mean", "the nearest: debugging/xid#what-does-xid-79-mean"),
        ("nonsense#x", "unknown section 'nonsense#x'"),
    ],
)
def test_an_unknown_id(book: tuple[chapters.Chapter, ...], id: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        lookup.page(book, id)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("H100", ["H100 SXM", "H100 PCIe", "H100 NVL", "H100 SXM bf16 (MAMF)", "H100 SXM fp8 (MAMF)"]),
        ("h100-pcie", ["H100 PCIe"]),
        ("nvidia h200", ["H200 SXM"]),
        ("timeout ib", ["NCCL_IB_TIMEOUT"]),
    ],
)
def test_what_else_a_name_may_mean(query: str, keys: list[str]) -> None:
    assert [row.key for row in lookup.rows(query)] == keys


def test_numbers_count_whole() -> None:
    assert all(row.table == "xid" and row.key == "9" for row in lookup.rows("Xid 9"))
    assert lookup.rows("H10") == []


def test_words_of_the_text_count_last() -> None:
    rows = lookup.rows("aws efa", 100)
    assert rows and all("efa" in " ".join([row.key, *row.cells.values()]).lower() for row in rows)


def test_the_limit() -> None:
    assert len(lookup.rows("NCCL_IB_", 3)) == 3 and lookup.rows("NCCL_IB_", 0) == []
