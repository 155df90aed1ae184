import pytest

from clusterwright.knowledge.directive import DirectiveError, draw, label
from clusterwright_tools import tables

ROWS = (
    {"name": "B", "kind": "x", "memory_gb": "80", "notes": "", "source": "https://b"},
    {"name": "A", "kind": "y", "memory_gb": "", "notes": "", "source": "https://a"},
    {"name": "C|D", "kind": "x", "memory_gb": "9", "notes": "", "source": "measured"},
)


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "names", lambda: ["parts"])
    monkeypatch.setattr(tables, "rows", lambda name: ROWS)


def test_columns_are_labelled_and_empty_ones_dropped() -> None:
    assert draw("from: parts\ncolumns: name, memory_gb, notes\n").splitlines() == [
        "| name | memory (GB) | source |",
        "| --- | --- | --- |",
        "| B | 80 | [source](https://b) |",
        "| A |  | [source](https://a) |",
        "| C\\|D | 9 | measured |",
    ]


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("where: kind = x", ["B", "C\\|D"]),
        ("where: kind != x", ["A"]),
        ("where: name in A|B; kind = x", ["B"]),
        ("sort: name", ["A", "B", "C\\|D"]),
        ("sort: -memory_gb", ["B", "C\\|D", "A"]),
        ("sort: memory_gb", ["C\\|D", "B", "A"]),
    ],
)
def test_conditions_and_order(asked: str, names: list[str]) -> None:
    lines = draw(f"from: parts\ncolumns: name\n{asked}\n").splitlines()[2:]
    assert [line[2:].split(" | ")[0] for line in lines] == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("columns: name", "'from: TABLE' is missing"),
        ("from: part", "table 'part' does not exist; there are: parts"),
        ("from: parts\nwhat: x", "unknown key 'what'"),
        ("from: parts\ncolumns: size", "table 'parts' has no column 'size'; it has: name, kind"),
        ("from: parts\nwhere: name > 1", "cannot read the condition 'name > 1'"),
        ("from: parts\nwhere: name = Z", "no row fits"),
        ("from: parts\nsort: size", "has no column 'size'"),
        ("from: parts\ncolumns: [name]", "write 'columns' as text"),
        ("from: parts\nwhere: name = 2026-02-30", "no row fits 'where: name = 2026-02-30'"),
        ("from: [", "write lines of 'key: value'"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(DirectiveError) as caught:
        draw(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("bf16_dense_tflops", "bf16 dense TFLOPS"),
        ("memory_bandwidth_gb_s", "memory bandwidth (GB/s)"),
        ("memory_gb", "memory (GB)"),
        ("int8_dense_tops", "int8 dense TOPS"),
        ("gb_s_per_direction", "(GB/s per direction)"),
        ("power_w", "power (W)"),
        ("name", "name"),
        ("units", "units"),
    ],
)
def test_labels(column: str, text: str) -> None:
    assert label(column) == text
