"""The arithmetic of insights/upgrading-gpus."""

from collections.abc import Callable

import pytest

Says = Callable[..., None]
PAGE = "insights/upgrading-gpus#"
RATIOS = (2.2, 1.67, 2.0, 1.0, 1.0)
STEPS = ((75, 15, 5, 3, 2), (40, 20, 10, 20, 10), (5, 80, 5, 0, 10))


def test_ratios_of_the_data_sheets(says: Says) -> None:
    says(
        PAGE + "how-is-it-decided-whether-to-upgrade-from-one-gpu-generation-to-the-next",
        f"bf16 {2250 / 989:.2f} (989 to 2,250",
        f"memory bandwidth {8.0 / 4.8:.2f} (4.8 to 8.0",
        f"power {1000 / 700:.2f} (700 to 1,000 W)",
    )


def test_measured_ratios(says: Says) -> None:
    says(
        PAGE + "how-much-faster-is-a-b200-than-an-h200-in-real-training",
        f"a ratio of {1745 / 794.5:.2f}; fp8 1,453 and 3,433, {3432.5 / 1453.4:.2f}",
        f"461 against 778 TFLOPS, {778 / 461:.2f} times",
        f"256K tokens made of 8K samples have 1/{256 // 8} of its FLOPs",
    )


def test_amdahl(says: Says) -> None:
    assert all(sum(step) == 100 for step in STEPS)
    gains = [100 / sum(share / ratio for share, ratio in zip(step, RATIOS, strict=True)) for step in STEPS]
    says(
        PAGE + "amdahls-law-for-a-gpu-upgrade-what-is-the-whole-steps-speed-up",
        "| **speed-up** | " + " | ".join(f"{gain:.2f}" for gain in gains) + " |",
        f"its old step would be {100 / 80:.2f} times as fast",
    )


def test_flop_per_token(says: Says) -> None:
    dense = 6 * 8.0e9
    short, long = (6 * 32 * 4096 * tokens for tokens in (8192, 131_072))
    says(
        PAGE + "how-do-i-count-flops-per-token-for-dense-layers-and-causal-attention",
        f"6 x 8.0e9 = {dense / 1e10:.1f}e10",
        f"= {short / 1e9:.1f}e9 FLOP per token, {short / (short + dense):.0%} of the sum",
        f"attention at 131,072: {long / 1e11:.2f}e11, {long / (long + dense):.0%}",
    )


@pytest.mark.parametrize("gain", [1.2, 1.6, 2.0])
def test_cost_per_token(says: Says, gain: float) -> None:
    changes = [price / gain - 1 for price in (1.5, 1.8, 2.0)]
    cells = [f"{change:+.0%}" if abs(change) > 1e-9 else "0%" for change in changes]
    cells[0] += " cost per token" if gain == 1.2 else ""
    says(
        PAGE + "is-a-faster-gpu-cheaper-per-token-the-break-even-price",
        f"| {gain} | " + " | ".join(cells) + " |",
        f"at 1.69 times the speed is {1000 / 700 / 1.69:.2f} of the energy",
    )


def test_inference(says: Says) -> None:
    says(
        PAGE + "does-the-upgrade-pay-for-inference",
        f"{4.8 / 3.35:.2f} times the bandwidth and {141 / 80:.2f} times the memory",
        f"288 against 180 GB ({288 / 180})",
        f"leaves {141 - 70} GB on an H200 and {180 - 70} GB on a B200, {110 / 71:.2f} times",
    )
