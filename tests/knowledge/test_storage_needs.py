"""The arithmetic of storage/io-needs."""

from collections.abc import Callable

import pytest

Says = Callable[..., None]
MODELS = {"8B": 8e9, "70B": 70e9, "405B": 405e9, "1T": 1e12}
BYTES = 2 + 4 + 4 + 4
NEEDS = "storage/io-needs#"


def size(count: float) -> str:
    """As the chapter writes it: GB below 1 TB, three digits."""
    return (
        f"{count / 1e9:.0f} GB"
        if count < 1e12
        else f"{count / 1e12:.2f} TB"
        if count < 1e13
        else f"{count / 1e12:.1f} TB"
    )


def rate(count: float) -> str:
    """GB/s with two digits below 10, none above."""
    return f"{count / 1e9:.1f} GB/s" if count < 1e10 else f"{count / 1e9:.0f} GB/s"


def test_data_loader(says: Says) -> None:
    says(
        NEEDS + "how-many-bytes-per-second-does-the-data-loader-need-for-text-images-and-video",
        f"64 GPUs x 12,000 tokens/s x 4 bytes = {64 * 12_000 * 4 / 1e6:.1f} MB/s",
        f"8 GPUs x 2,500 images/s x 150 KB = {8 * 2500 * 150e3 / 1e9:.1f} GB/s",
        f"8 GPUs x 60 images/s x 150 KB = {8 * 60 * 150e3 / 1e6:.0f} MB/s",
        f"8 GPUs x 0.5 samples/s x 140 MB = {8 * 0.5 * 140:.0f} MB/s per node; 16 nodes together {16 * 0.56:.1f} GB/s",
        f"8 GPUs x 4 clips/s x 5 MB = {8 * 4 * 5} MB/s",
    )


@pytest.mark.parametrize("model", MODELS)
def test_checkpoint_size(says: Says, model: str) -> None:
    weights = MODELS[model] * 2
    short = "2.0 TB" if model == "1T" else size(weights)
    given = {"8B": "105 GB", "70B": "912 GB", "405B": "5.29 TB", "1T": "18 TB"}[model]
    says(
        NEEDS + "how-large-is-a-training-checkpoint-8b-70b-405b",
        f"| {model} | {size(MODELS[model] * BYTES)} | {given} | {short} |",
        f"A 671B model has {671e9 * BYTES / 1e12:.1f} TB",
        f"2.3 TB each time, {2.3e12 / 176e9:.0f} bytes per parameter",
        f"BLOOM made {2.3 * 24 / 3:.1f} TB a day",
    )


@pytest.mark.parametrize("model", ["8B", "70B", "405B"])
def test_write_bandwidth(says: Says, model: str) -> None:
    full = MODELS[model] * BYTES
    needs = [rate(full / (share * minutes * 60)) for minutes, share in ((30, 0.01), (60, 0.01), (60, 0.05))]
    says(
        NEEDS + "how-fast-must-storage-write-so-that-checkpoints-cost-less-than-1-of-the-time",
        f"| {model} | {size(full)} | " + " | ".join(needs) + " |",
        f"may take {0.01 * 1800:.0f} s and needs {rate(980e9 / 18)}",
        f"every 3 hours {0.01 * 10800:.0f} s and {rate(980e9 / 108)}",
        f"2.3 TB in 40 s ({2300 / 40} GB/s)",
        f"{40 / 10800:.2%} of the time",
    )


def test_asynchronous_checkpoint(says: Says) -> None:
    each = 980 / 64
    says(
        NEEDS + "what-does-asynchronous-checkpointing-need-of-storage-and-memory",
        f"980 GB / 64 = {each:.1f} GB a GPU, at 20 GB/s per GPU a stall of {each / 20:.1f} s",
        f"980 GB / 900 s = {980 / 900:.1f} GB/s instead of {980 / 18:.0f}",
        f"8 x 15.3 GB = {8 * 15.3:.0f} GB a node",
    )


def test_restart(says: Says) -> None:
    says(
        NEEDS + "how-fast-must-storage-read-for-a-restart-and-what-happens-when-every-node-reads-the-weights-at-once",
        f"32 nodes that each read 140 GB of weights pull {32 * 140 / 1e3:.1f} TB",
        f"at 20 GB/s that is {32 * 140 / 20:.0f} s",
        f"{32 * 8} GPUs wait",
        f"it is {140 / 20:.0f} s for the read and {140 / 50:.1f} s at 50 GB/s",
        f"at 100 GB/s take {5670 / 100:.0f} s, on one client at 5 GB/s {5670 / 5 / 60:.0f} minutes",
        f"1,024 ranks x 200 files are {1024 * 200:,} opens",
        f"At 5 failures a day 4 minutes each are {5 * 4 / 1440:.1%} of the time",
    )


def test_cold_start(says: Says) -> None:
    says(
        NEEDS + "how-long-does-it-take-to-load-a-model-for-inference-cold-start-and-what-makes-it-faster",
        f"{140 / 55:.1f} s from page cache",
        f"{140 / 7:.0f} s from an NVMe drive at 7 GB/s",
        f"{140 / (25 / 8):.0f} s over a 25 Gbit/s network",
        f"{140e3 / 90 / 60:.0f} minutes over one stream of 90 MB/s",
    )


def test_kv_cache(says: Says) -> None:
    token = 2 * 80 * 8 * 128 * 2
    prompt = token * 32_768 / 1e9
    again = 2 * 70e9 * 32_768 / (8 * 400e12)
    says(
        NEEDS + "does-kv-cache-offload-to-cpu-memory-or-nvme-pay",
        f"{token:,} bytes",
        f"32,768 tokens has {prompt:.1f} GB",
        f"| 55 GB/s | {prompt / 55:.1f} s |",
        f"| 7 GB/s | {prompt / 7:.1f} s |",
        f"| 12.5 GB/s | {prompt / 12.5:.1f} s |",
        f"computed again on 8 GPUs | | {again:.1f} s |",
        f"without attention = {2 * 70e9 * 32_768 / 1e15:.1f}e15",
        f"{prompt:.1f} GB / {again:.1f} s = {prompt / again:.1f} GB/s",
    )


def test_files(says: Says) -> None:
    says(
        NEEDS + "how-many-files-and-inodes-does-a-dataset-make-and-when-is-it-too-many",
        f"1.28 million opens at 0.5 ms each are {1.28e6 * 0.5e-3:.0f} s",
        f"the same {1.28e6 * 150e3 / 1e9:.0f} GB are {1.28e6 * 150e3 / 1e9:.0f} files",
        f"takes {16 * 2**20 // 2**10:,} times its size",
    )


def test_staging(says: Says) -> None:
    says(
        NEEDS + "should-the-dataset-be-copied-to-the-local-nvme-of-each-node",
        f"one copy at 5 GB/s per node brings 10 TB in {10_000 / 5 / 60:.0f} minutes",
        f"64 nodes x 5 GB/s = {64 * 5} GB/s",
    )


def test_sizing(says: Says) -> None:
    full = [MODELS[model] * BYTES for model in ("8B", "70B", "405B")]
    weights = [MODELS[model] * 2 for model in ("8B", "70B", "405B")]
    kept = [(3 * one + 10 * two) / 1e12 for one, two in zip(full, weights, strict=True)]
    quarter = [one / 1800 / 1e9 for one in full]
    restart = [one / 60 for one in full]
    says(
        NEEDS + "how-much-storage-should-be-bought-for-a-cluster-of-8-64-or-512-gpus",
        "| checkpoint | " + " | ".join(map(size, full)) + " |",
        f"| {kept[0]:.1f} TB | {kept[1]:.1f} TB | {kept[2]:.0f} TB |",
        "| write, hourly, 1% stall | " + " | ".join(rate(one / 36) for one in full) + " |",
        f"| {quarter[0]:.2f} GB/s | {quarter[1]:.1f} GB/s | {quarter[2]:.1f} GB/s |",
        f"| {restart[0] / 1e9:.1f} GB/s | {restart[1] / 1e9:.0f} GB/s | {restart[2] / 1e9:.0f} GB/s |",
        f"400 TB of need are {400 / 0.8:.0f} TB to buy",
    )
