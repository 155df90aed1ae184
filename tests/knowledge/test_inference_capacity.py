"""The arithmetic of inference/capacity."""

from collections.abc import Callable

import pytest

Says = Callable[..., None]
PAGE = "inference/capacity#"


def kv(layers: int, heads: int, size: int = 128, value: int = 2) -> int:
    """Bytes of K and V of a token."""
    return 2 * layers * heads * size * value


def test_kv_cache(says: Says) -> None:
    token = kv(32, 8)
    says(
        PAGE + "how-many-bytes-of-kv-cache-does-one-token-take-mha-gqa-mqa-mla",
        f"2 x 32 x 8 x 128 x 2 = {token:,} bytes, {token / 1e6:.3f} MB per token",
        f"128 sequences of 1,024 tokens hold {128 * 1024 * token / 1e9:.1f} GB",
        f"32 layers, 32 heads of 128 | {kv(32, 32):,} bytes",
        f"Llama 3.1 8B: 8 | {token:,} bytes",
        f"head size 128 | {kv(32, 1):,} bytes",
        f"| {(512 + 64) * 61 * 2:,} bytes |",
        f"Llama 3.1 8B {token * 1e3 / 1e9:.2f} GB",
        f"8 KV heads {kv(80, 8) * 1e3 / 1e9:.2f} GB, 405B with 126 layers {kv(126, 8) * 1e3 / 1e9:.2f} GB",
    )


def test_sessions(says: Says) -> None:
    free = 80 * 0.9 - 16 - 4
    tokens = free * 1e9 / kv(32, 8)
    says(
        PAGE + "how-many-concurrent-sessions-fit-paged-kv-cache-and-memory-budget",
        f"80 x 0.9 - 16 - 4 = {free:.0f} GB",
        f"that is {round(tokens, -3):,.0f} tokens: {tokens // 8192:.0f} sessions of 8,192 tokens",
        f"or {tokens // 131072:.0f} of 131,072",
        f"gives {141 * 0.9 - 20:.0f} instead of {free:.0f} GB",
    )


def test_one_long_request(says: Says) -> None:
    says(
        PAGE + "the-models-max-seq-len-is-larger-than-the-maximum-number-of-tokens-that-can-be-stored-in-kv-cache",
        f"131,072 tokens x 131,072 bytes = {131_072 * kv(32, 8) / 1e9:.1f} GB",
    )


def test_decoding(says: Says) -> None:
    alone = 16 / 4.36
    cache = 64 * 4096 * kv(32, 8) / 1e9
    step = (16 + cache) / 4.36
    says(
        PAGE + "how-fast-can-decoding-be-tokens-per-second-from-memory-bandwidth",
        f"16 / 4.36 TB/s = {alone:.1f} ms, at most {4360 / 16:.0f} tokens per second",
        f"({cache:.0f} GB of cache) {step:.1f} ms, {round(64 / step * 1e3, -1):,.0f} tokens per second",
        f"{64 * 10 / 1e3:.1f} to {64 * 30 // 1000 + 1} ms per step",
    )


def test_prefill(says: Says) -> None:
    small, large = 2 * 8e9 * 8192, 2 * 70e9 * 8192
    handed = 8192 * kv(32, 8) / 1e9
    says(
        PAGE + "how-long-is-the-time-to-first-token-ttft-prefill-is-compute-bound",
        f"{small / 1e14:.1f}e14 FLOP, at 400 TFLOPS {small / 400e12:.2f} s; 70B on 4 such GPUs {large / 1.6e15:.2f} s",
        f"= {handed:.2f} GB, {handed / 50 * 1e3:.0f} ms at 50 GB/s",
    )


@pytest.mark.parametrize(("words", "seconds"), [(250, "0.16"), (450, "0.089"), (700, "0.057")])
def test_reading_speed(says: Says, words: int, seconds: str) -> None:
    assert float(seconds) == pytest.approx(60 / (words * 1.5), rel=0.01)
    says(
        PAGE + "which-tpot-do-readers-need-and-what-are-sensible-latency-targets",
        f"{words}",
        f"{seconds} s",
        f"({700 * 1.5 / 60} tokens per second)",
    )


def test_speculation(says: Says) -> None:
    says(
        PAGE + "does-speculative-decoding-help-and-what-if-there-is-no-draft-model",
        f"a = 0.7 and k = 4 gives {(1 - 0.7**5) / 0.3:.2f}; a = 0.4 only {(1 - 0.4**5) / 0.6:.2f}",
    )


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("fp32", 4),
        ("bf16, fp16", 2),
        ("MXFP8", 8 / 8 + 1 / 32),
        ("MXFP6", 6 / 8 + 1 / 32),
        ("NVFP4", 4 / 8 + 1 / 16),
        ("MXFP4", 4 / 8 + 1 / 32),
        ("int4 with a 16-bit scale per 128", 4 / 8 + 2 / 128),
    ],
)
def test_bytes_per_parameter(says: Says, name: str, size: float) -> None:
    says(
        PAGE + "how-many-bytes-per-parameter-do-quantised-weights-take-fp8-int4-mxfp4-nvfp4",
        f"| {name} | {size:g} | {70 * size:.0f} GB |",
    )
