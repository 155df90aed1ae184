import pytest

from clusterwright_tools.errors import BadParameter
from clusterwright_tools.gemm import Bench, Shape, Timing, parse_shape
from clusterwright_tools.report import Clocks
from clusterwright_tools.telemetry import Device, Reading

SMALL = Shape(64, 128, 96)


@pytest.fixture(params=["float32", "bfloat16"])
def bench(request: pytest.FixtureRequest) -> Bench:
    made = Bench("cpu", request.param, Device(""))
    made.reserve([SMALL])
    return made


def test_shape() -> None:
    assert parse_shape("64X128x96") == SMALL
    assert SMALL.flop == 2 * 64 * 128 * 96
    assert str(SMALL) == "64x128x96"


@pytest.mark.parametrize("text", ["64x128", "64x128xk", "0x1x1", "64 128 96", ""])
def test_bad_shapes(text: str) -> None:
    with pytest.raises(BadParameter, match="is not MxNxK"):
        parse_shape(text)


def test_rate_is_work_over_time() -> None:
    timing = Timing(Shape(1000, 1000, 1000), (0.001, 0.003), 1, Clocks(0))
    assert timing.rates == [pytest.approx(2.0), pytest.approx(2 / 3)]
    assert timing.rate == pytest.approx(1.0)


def test_boost_times_each_product(bench: Bench) -> None:
    timing = bench.boost(SMALL, 1, 4)
    assert len(timing.seconds) == 4 and min(timing.seconds) > 0


def test_sustained_counts_the_products_of_a_window(bench: Bench) -> None:
    timing = bench.sustained(SMALL, 0.2)
    assert timing.per_sample >= 1 and timing.seconds


def test_the_product_is_right(bench: Bench) -> None:
    assert bench.error(SMALL) < 0.03


def test_a_wrong_product_is_seen(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    product = bench._product(SMALL)
    monkeypatch.setattr(bench, "_product", lambda shape: (lambda: product[1].fill_(1.0), *product[1:]))
    assert bench.error(SMALL) > 0.1
    monkeypatch.setattr(bench, "_product", lambda shape: (lambda: None, *product[1:]))
    assert not bench.error(SMALL) < 0.1  # never written: NaN


def test_smaller_shapes_use_the_same_memory(bench: Bench) -> None:
    before = bench._pools["a"].data_ptr()
    bench.reserve([Shape(32, 32, 32)])
    assert bench._pools["a"].data_ptr() == before
    assert bench.error(Shape(32, 32, 32)) < 0.03


def test_rest_waits_for_the_clock(bench: Bench) -> None:
    clocks = iter([1200.0, 1500.0, 1975.0])
    bench._telemetry.read = lambda: Reading(next(clocks), 500.0, 60.0, 4, 1980.0, 700.0)
    assert bench.rest()
    assert next(clocks, None) is None


def test_rest_gives_up(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterwright_tools.gemm.REST_LIMIT", 0.0)
    bench._telemetry.read = lambda: Reading(1200.0, 500.0, 60.0, 4, 1980.0, 700.0)
    assert not bench.rest()
