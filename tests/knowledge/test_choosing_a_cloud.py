"""The arithmetic of insights/choosing-a-cloud."""

import re
from collections.abc import Callable

import pytest

Says = Callable[..., None]
PAGE = "insights/choosing-a-cloud#"


def test_the_weights_sum_to_100(sections: dict[str, str]) -> None:
    text = sections[PAGE + "a-questionnaire-for-gpu-clouds-that-can-be-scored"]
    weights = [int(weight) for weight in re.findall(r"\| (\d+) \|", text)]
    assert len(weights) == 13
    assert sum(weights) == 100


def test_availability(says: Says) -> None:
    says(
        PAGE + "which-clauses-belong-in-a-contract-for-rented-gpus-sla-slo-credits-exit",
        f"99.5% of a month allow {0.005 * 720:.1f} hours",
        f"60 usable of 64 nodes is {60 / 64:.0%}",
    )


@pytest.mark.parametrize("gpus", [64, 512, 2048, 16_384])
def test_failures(says: Says, gpus: int) -> None:
    per_day = 419 / (54 * 16_384)
    week, between = gpus * per_day * 7, 1 / (gpus * per_day)
    texts = {64: f"{between:.0f} days", 512: f"{between:.1f} days", 2048: f"{between:.1f} days"}
    rate = f"{week:.0f}" if week >= 10 else f"{week:.1f}"
    says(
        PAGE + "how-often-do-rented-gpus-fail-and-how-many-spare-nodes-are-needed",
        f"419 / (54 x 16,384) = {per_day:.1e}".replace("e-0", "e-"),
        f"one interruption per {1 / per_day:,.0f} GPU-days",
        f"| {gpus:,} | {rate} | {texts.get(gpus, f'{24 * between:.1f} hours')} |",
        f"have {1 * 0.5 * 3} nodes away",
    )


def test_moving_data(says: Says) -> None:
    says(
        PAGE + "what-should-be-asked-about-storage-before-renting",
        f"500 TB at 10 GB/s are {500e3 / 10 / 3600:.0f} hours, at 1 GB/s six days",
    )
    assert round(500e3 / 86400) == 6


def test_spot(says: Says) -> None:
    share = 1 - (15 / 2 + 5) / 240
    says(
        PAGE + "spot-on-demand-reserved-capacity-blocks-which-form-of-gpu-rental-fits",
        f"1 - {15 / 2 + 5}/240 = {share:.0%}",
        f"at a discount of 60% that is {0.4 / share:.2f} of the price",
    )
