"""The arithmetic of insights/what-decides."""

import math
from collections.abc import Callable

import pytest

Says = Callable[..., None]
PAGE = "insights/what-decides#"


@pytest.mark.parametrize(
    ("recipe", "size"),
    [
        ("AdamW, float32 gradients", 18),
        ("AdamW, bf16 gradients", 16),
        ("8-bit moments, bf16 gradients", 10),
        ("Muon (one momentum in float32), bf16 gradients", 12),
        ("LoRA on frozen bf16 weights", 2),
        ("QLoRA, 4-bit base", 0.5),
    ],
)
def test_training_gpus(says: Says, recipe: str, size: float) -> None:
    small, large = (math.ceil(80 * size * 1.25 / memory) for memory in (80, 141))
    says(
        PAGE + "how-many-gpus-does-training-need-the-instant-formula",
        f"| {recipe} | {size} | {small} | {large} |",
        f"80 x 18 x 1.25 / 80 = {80 * 18 * 1.25 / 80}",
        f"671 x 18 x 1.25 / 80 = {math.ceil(671 * 18 * 1.25 / 80)} GPUs",
    )


def test_inference_gpus(says: Says) -> None:
    token = 2 * 80 * 8 * 128 * 2
    cache = 64 * 8192 * token / 1e9
    says(
        PAGE + "how-many-gpus-does-inference-need-the-instant-formula",
        f"80 x 2 x 1.25 / 80 = {80 * 2 * 1.25 / 80}",
        f"that is {token:,} bytes; 64 sessions of 8,192 tokens hold 64 x 8,192 x {token:,} = {cache:.0f} GB",
        f"(140 + {cache:.0f}) / {0.9 * 141:.0f} = {(140 + cache) / (0.9 * 141):.1f}",
        f"140 GB / (4 x 4.8 TB/s) = {140 / (4 * 4.8):.1f} ms",
        f"at most {1000 / (140 / (4 * 4.8)):.0f} tokens/s",
        f"8,192 tokens x 140e9 = {8192 * 140e9 / 1e15:.1f} PFLOP",
        f"on 4 GPUs at 400 TFLOPS each {8192 * 140e9 / 1.6e15:.1f} s",
    )


def test_run_time_and_cost(says: Says) -> None:
    flop = 6 * 70e9 * 2e12
    rate = 512 * 989e12 * 0.40
    seconds = flop / rate
    days = seconds / 86400
    real = days / 0.95
    hours = 512 * 24 * real
    says(
        PAGE + "how-long-does-a-training-run-take-and-what-does-it-cost",
        f"6 x 70e9 x 2e12 = {flop:.1e}".replace("e+", "e"),
        f"512 x 989e12 x 0.40 = {rate:.2e}".replace("e+", "e"),
        f"{seconds / 1e6:.2f}e6 s = {days:.0f} days, with 95% goodput {int(real)} days",
        f"512 x 24 x {real:.1f} h = {round(hours, -4):,.0f} GPU-hours = {hours * 2.5 / 1e6:.1f} million $",
        f"at 30% MFU the same takes {real * 4 / 3:.0f} days; with 1,024 GPUs {int(real / 2)} days",
        f"One percent of MFU is worth about {round(hours * 2.5 / 40, -4):,.0f} $",
        f"15.6 trillion tokens ({15.6e12 / 405e9:.0f} per parameter)",
        f"624 TFLOP in 4 s is {624 // 4} TFLOPS, {156 / 312:.0%}",
    )


def test_growth(says: Says) -> None:
    says(
        PAGE + "what-must-be-fast-besides-the-gpus-the-order-of-spending",
        f"grew {2250 // 125} times (125 to 2,250 TFLOPS), NVLink {900 // 150} times (150 to 900 GB/s",
        f"10% waiting on 512 GPUs is {int(51.2)} GPUs",
    )


def test_break_even_of_buying(says: Says) -> None:
    hours = 300_000 / (8 * 2.5 - 8)
    says(
        PAGE + "rent-apply-for-a-grant-or-buy-which-way-to-get-compute",
        f"300,000 / 12 = {hours:,.0f} hours, {hours / 730:.0f} months",
        f"0.6 x 20 - 8 = {0.6 * 20 - 8:.0f} $ per hour are saved, and it takes {300_000 / 4 / 730:.0f} months",
    )
