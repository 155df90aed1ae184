"""The arithmetic of insights/cost."""

from collections.abc import Callable

import pytest

Says = Callable[..., None]
PAGE = "insights/cost#"
PRICE = 2.50


def gpu_hours(parameters: float) -> float:
    """For a trillion tokens at 40% of 989 TFLOPS, before goodput."""
    return 6 * parameters * 1e12 / (989e12 * 0.40 * 3600)


@pytest.mark.parametrize("billions", [1, 8, 37, 70, 405])
def test_training(says: Says, billions: int) -> None:
    hours = gpu_hours(billions * 1e9) / 0.95
    money = hours * PRICE
    shown = f"{round(hours, -3):,.0f}" if hours > 1e6 else f"{round(hours, -2):,.0f}"
    cost = f"{round(money, -4):,.0f}" if money > 1e6 else f"{round(money, -3):,.0f}"
    says(
        PAGE + "what-does-training-cost-per-trillion-tokens",
        f"| {billions}B | {shown} | {cost} |",
        f"{round(gpu_hours(8e9), -2):,.0f} GPU-hours, with goodput",
        f"= {989e12 * 0.4 * 3600:.2e} FLOP per GPU-hour".replace("e+", "e"),
    )


@pytest.mark.parametrize("used", [1.0, 0.6, 0.3, 0.1])
def test_serving(says: Says, used: float) -> None:
    full = 4 * PRICE / (3000 * 3600) * 1e6
    says(
        PAGE + "what-does-serving-cost-per-million-tokens",
        f"{4 * PRICE:.0f} $ per hour / {3000 * 3600 / 1e6:.1f} million tokens = {full:.2f} $",
        f"| {used:.0%} | {full / used:.2f} |",
    )


def test_energy(says: Says) -> None:
    energy = 620_000 * 1.2 / 1e3
    token = 4 * 1200 / 3000
    says(
        PAGE + "how-much-energy-does-a-training-run-or-a-token-take",
        f"{10.2 / 8:.3f} kW per GPU",
        f"{energy:.0f} MWh, at 0.10 $ per kWh {energy * 100 / 1e3:.0f},000 $",
        f"000 $, {energy * 100 / (620_000 * PRICE):.0%} of the rent",
        f"{token:.1f} J per token, {token * 1e6 / 3.6e6:.2f} kWh per million tokens, {token / 36:.2f} $",
        f"about {705 / 692:.1f} and {1216 / 692:.1f} TFLOPS per watt",
        f"are {energy * 0.4:.0f} t at 400 g and {energy * 0.05:.0f} t at 50 g",
    )


def test_owning(says: Says) -> None:
    capital = 37_500 * 1.1 / (4 * 8760)
    hour = capital + 0.12 + 0.30 + 0.25
    says(
        PAGE + "is-owning-gpus-cheaper-than-renting-the-break-even",
        f"37,500 x 1.1 / {4 * 8760:,} h = {capital:.2f} $",
        f"{hour:.2f} $ per hour of existence",
        f"at 90% use {hour / 0.9:.2f} $ per used hour, at 60% {hour / 0.6:.2f}, at 30% {hour / 0.3:.2f}",
        f"the break-even is a use of {hour / PRICE:.0%}",
        f"Against 4 $ on demand it is {hour / 4:.0%}",
        f"about {37_500 * 1.1 * 0.08 / 2 / 8760:.2f} $ more per hour",
    )


def test_losses(says: Says) -> None:
    month = 512 * PRICE * 720
    good = 0.958 * 0.98 * 0.984 * 0.958
    says(
        PAGE + "what-do-idle-gpus-failures-and-waiting-cost",
        f"({512 * PRICE:,.0f} $ per hour)",
        f"| {1 - 35 / 40:.1%} of the work | {month / 8:,.0f} |",
        f"| {1 / 24:.1%} | {month / 24:,.0f} |",
        f"| 2% | {month * 0.02:,.0f} |",
        f"| {1 / 64:.1%} | {month / 64:,.0f} |",
        f"0.958 x 0.98 x 0.984 x 0.958 = {good:.1%}",
    )


def test_spot(says: Says) -> None:
    lost = 16 / 360
    says(
        PAGE + "spot-or-reserved-what-does-an-hour-of-useful-work-cost",
        f"16 minutes of 360, {lost:.1%}",
        f"1.60 / {1 - lost:.3f} = {1.6 / (1 - lost):.2f} $ per useful hour",
        f"takes {1 / (0.7 * (1 - lost)):.2f} times as long",
        f"stopped every {360 / 16:.0f} minutes",
        f"2.50 / 4 = {2.5 / 4:.0%}",
    )


def test_other_costs(says: Says) -> None:
    says(
        PAGE + "which-costs-besides-gpus-are-forgotten-egress-storage-network-people",
        f"500 TB at 0.05 $ per GB are {500e3 * 0.05:,.0f} $",
        f"for 500 TB is {500 * 100:,} $ a month, as much as {500 * 100 / (PRICE * 720):.0f} GPUs",
        f"thousand are {1280 * 0.0004:.2f} $",
        f"thousand {1280 * 0.005:.2f} $",
    )
