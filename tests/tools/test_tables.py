import pytest

from clusterwright_tools import tables


def test_every_table_is_found() -> None:
    assert {"accelerators", "interconnects", "xid", "env_vars", "thresholds", "glossary"} <= set(tables.names())


def test_a_device_is_found_as_its_driver_names_it() -> None:
    row = tables.accelerator("NVIDIA H200")
    assert row is not None
    assert tables.number(row, "memory_gb") == 141
    assert tables.accelerator("NVIDIA H200 of another world") is None


def test_an_empty_cell_is_no_number() -> None:
    assert tables.number({"x": ""}, "x") is None
    assert tables.number({"x": "1.5"}, "x") == 1.5


def test_thresholds() -> None:
    assert 0.9 < tables.threshold("boost-clock-fraction") <= 1
    with pytest.raises(KeyError):
        tables.threshold("no-such-threshold")


@pytest.mark.parametrize(
    "row", [row for row in tables.rows("accelerators") if row["peak_clock_mhz"]], ids=lambda row: row["name"]
)
def test_peaks_follow_from_clock_and_units(row: tables.Row) -> None:
    """The vendor's dense bf16 peak is units x FLOP per clock and unit x the clock that it is quoted at."""
    units, per_clock = tables.number(row, "units"), tables.number(row, "bf16_flop_per_clock_per_unit")
    clock, peak = tables.number(row, "peak_clock_mhz"), tables.number(row, "bf16_dense_tflops")
    if units and per_clock and clock and peak:
        assert units * per_clock * clock / 1e6 == pytest.approx(peak, rel=0.01)
