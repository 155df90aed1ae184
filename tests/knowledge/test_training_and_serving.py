"""The arithmetic of the chapters on precision, reproducibility, fine-tuning, serving and testing."""

from collections.abc import Callable

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing._comparison import default_tolerances
from torch.utils.flop_counter import FlopCounterMode

Says = Callable[..., None]


def test_tolerances_are_those_of_torch(says: Says) -> None:
    def row(name: str, dtype: torch.dtype) -> str:
        relative, absolute = default_tolerances(dtype)
        text = [f"{value:.1e}".replace(".0e", "e").replace("e-0", "e-") for value in (relative, absolute)]
        return f"| {name} | {text[0]} | {text[1]} |"

    says(
        "testing/pytest-for-ml#which-tolerance-should-be-used-per-dtype",
        row("float64", torch.float64),
        row("float32", torch.float32),
        row("float16", torch.float16),
        row("bfloat16", torch.bfloat16),
    )


def test_bytes_per_parameter(says: Says) -> None:
    adam = 4 + 4
    says(
        "training/mixed-precision#how-many-bytes-per-parameter-does-each-recipe-take",
        f"| fp32 | 4 | 4 | 8 | {4 + 4 + adam} |",
        f"| mixed, fp32 master and fp32 gradients | 2 + 4 | 4 | 8 | {2 + 4 + 4 + adam} |",
        f"| mixed, 8-bit Adam | 2 + 4 | 4 | 2 | {2 + 4 + 4 + 2} |",
        f"| pure bf16 | 2 | 2 | 4 | {2 + 2 + 4} |",
        f"| pure bf16 with Kahan compensation | 2 + 2 | 2 | 4 | {2 + 2 + 2 + 4} |",
    )


def test_kahan_summation_keeps_small_updates(says: Says) -> None:
    one, update = torch.tensor(1.0, dtype=torch.bfloat16), torch.tensor(1e-3, dtype=torch.bfloat16)
    plain, kahan, rest = one, one, torch.zeros_like(one)
    for _ in range(100):
        plain = plain + update
        wanted = update + rest
        kahan, before = kahan + wanted, kahan
        rest = wanted - (kahan - before)
    says(
        "training/mixed-precision#pure-bf16-training-with-bf16-optimizer-states-what-keeps-tiny-updates-from-vanishing",
        f"# {plain.item()} against {kahan.item():.4f} (exact: 1.1)",
    )


def test_mean_of_means_is_not_the_token_mean(says: Says) -> None:
    losses = [torch.full((10,), 2.0), torch.full((100,), 3.0)]
    means = torch.stack([part.mean() for part in losses]).mean().item()
    tokens = torch.cat(losses).mean().item()
    says(
        "training/reproducibility#"
        "gradient-accumulation-gives-another-loss-curve-than-the-same-global-batch-in-one-go-is-it-a-bug",
        f"# {means} against {tokens:.3f}",
    )


def test_lora_parameters(says: Says) -> None:
    with torch.device("meta"):
        layer = [torch.nn.Linear(4096, out) for out in (4096, 1024, 1024, 4096, 14336, 14336)]
        layer.append(torch.nn.Linear(14336, 4096))
        pairs = [
            (torch.nn.Linear(each.in_features, 16, bias=False), torch.nn.Linear(16, each.out_features, bias=False))
            for each in layer
        ]
    count = 32 * sum(matrix.weight.numel() for pair in pairs for matrix in pair)
    says("training/fine-tuning#lora-or-full-fine-tuning-which-with-which-settings", f"# {count / 1e6:.1f}")


def test_weights_for_rollouts(says: Says) -> None:
    size = 70e9 * 2
    says(
        "training/fine-tuning#rl-training-how-are-rollout-and-training-placed-on-gpus-and-how-do-weights-get-across",
        f"is {size / (8 * 50e9):.2f} s at best",
        f"one NIC {size / 50e9:.1f} s",
    )


def test_image_tokens(says: Says) -> None:
    says(
        "training/fine-tuning#vision-language-models-how-many-tokens-is-an-image-and-what-does-it-cost",
        f"= {(336 // 14) ** 2}",
        f"gives some {round((round(1024 / 28) ** 2), -1):,}",
    )


def test_disaggregation(says: Says) -> None:
    cache = torch.empty(2, 80, 8, 128, 8192, dtype=torch.bfloat16, device="meta")
    size = cache.numel() * cache.element_size()
    says(
        "inference/serving#prefill-and-decode-on-separate-gpus-disaggregation-when-does-it-pay",
        f"{size / 8192 / 2**10:.0f} KiB per token",
        f"8192 tokens are {size / 2**30:.1f} GiB, {size / 50e9 * 1e3:.0f} ms at 50 GB/s",
        f"{size / 450e9 * 1e3:.0f} ms at 450 GB/s",
    )


def test_recomputing_a_prefix(says: Says) -> None:
    flop = 2 * 70e9 * 8192
    says(
        "inference/serving#prefix-caching-paged-kv-and-tiered-kv-what-do-they-save",
        f"about {flop / 1e15:.1f} PFLOP",
        f"some {flop / 600e12:.0f} s on one H100",
    )


def test_flops_of_a_training_step(says: Says) -> None:
    hidden, length, heads = 64, 32, 4
    layers = [torch.nn.Linear(hidden, hidden, bias=False) for _ in range(4)]
    layers += [torch.nn.Linear(hidden, 4 * hidden, bias=False), torch.nn.Linear(4 * hidden, hidden, bias=False)]
    query, key, value, out, up, down = layers
    tokens = torch.randn(1, length, hidden, requires_grad=True)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        split = [each(tokens).view(1, length, heads, -1).transpose(1, 2) for each in (query, key, value)]
        mixed = torch.nn.functional.scaled_dot_product_attention(*split).transpose(1, 2).reshape(1, length, hidden)
        down(up(out(mixed))).sum().backward()
    dense = 6 * sum(layer.weight.numel() for layer in layers) * length
    attention = 12 * hidden * length * length
    assert counter.get_total_flops() == dense + attention
    says(
        "training/mixed-precision#mfu-and-hfu-how-are-they-counted",
        "6 FLOPs per parameter and token for dense layers",
        "plus 12 × layers × hidden × sequence per token for attention",
    )
