from pathlib import Path

import pytest

from clusterwright import paths
from clusterwright.knowledge import lookup, reference

XID = """xid,name,severity,meaning,section,source,quote,checked_on
79,GPU_HAS_FALLEN_OFF_BUS,replace,The driver cannot reach the GPU.,debugging/xid#what-does-xid-79-mean,https://e.com/xid,lost,2026-12-01
"""
LINKS = """name,gb_s_per_direction,notes,source,quote,checked_on
NVLink 4,450,,"measured 2026-12-01, one node",,2026-11-30
"""


@pytest.fixture
def tables(root: Path) -> Path:
    (root / "tables").mkdir()
    (root / "tables/xid.csv").write_text(XID)
    (root / "tables/interconnects.csv").write_text(LINKS)
    return root


def test_a_row_is_a_section_with_its_source_and_the_section_that_says_more(tables: Path) -> None:
    row = lookup.page(reference.library(tables), "tables/xid#xid-79-gpu_has_fallen_off_bus")
    assert row.heading == "Xid 79: GPU_HAS_FALLEN_OFF_BUS"
    assert "- severity: replace\n- meaning: The driver cannot reach the GPU." in row.text
    assert row.text.endswith("- more: debugging/xid#what-does-xid-79-mean")
    assert row.reviewed == "2026-12"
    assert [(source.title, source.url) for source in row.sources] == [("lost", "https://e.com/xid")]


def test_units_are_told_empty_cells_are_not(tables: Path) -> None:
    row = lookup.page(reference.library(tables), "tables/interconnects#nvlink-4")
    assert row.text == "## NVLink 4\n\n- (GB/s per direction): 450"
    assert row.sources[0].measured.startswith("measured 2026-12-01")


def test_a_folder_without_tables_has_chapters_alone(root: Path) -> None:
    assert [chapter.id for chapter in reference.library(root)] == ["debugging/xid", "network/busbw"]


def test_every_shipped_row_has_an_id_of_its_own() -> None:
    ids = [row.id for table in reference.tables(paths.shipped("knowledge")) for row in table.sections]
    assert len(ids) > 200
    assert len(ids) == len(set(ids))
