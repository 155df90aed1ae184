import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright_tools import locks
from clusterwright_tools.errors import BadParameter, CannotRun
from clusterwright_tools.progress import Progress
from clusterwright_tools.report import Report, Status
from clusterwright_tools.tools.matmul_flops import MatmulParams, matmul_flops


def run(**changed: object) -> Report:
    report = matmul_flops.run(MatmulParams(**changed), Progress(quiet=True))  # type: ignore[arg-type]
    assert report is not None
    return report


def test_exact_shapes() -> None:
    report = run(shapes=("64x64x64", "32x64x96"), seconds=2.0, dtype="float32")
    assert report.status is Status.UNKNOWN
    assert [(one.name, one.at["shape"]) for one in report.metrics] == [
        ("best_rate", "64x64x64"),
        ("sustained_rate", "64x64x64"),
        ("best_rate", "32x64x96"),
        ("sustained_rate", "32x64x96"),
    ]
    assert all(one.percent_of_vendor_peak is None for one in report.metrics)


def test_search() -> None:
    report = run(seconds=2.0, k=128)
    best = report.metrics[0]
    assert best.at["shape"].endswith("x128") and "shapes tried" in best.remark
    assert best.spread is not None and best.spread.samples >= 3


def test_a_models_layers_are_named() -> None:
    report = run(model="hidden_size=64,intermediate_size=96,num_attention_heads=4", tokens=32, seconds=2.0)
    assert {one.at["layer"] for one in report.metrics} == {"qkv", "attention-out", "gate-up", "down"}


def test_on_a_cpu_it_says_what_the_figure_is_worth() -> None:
    report = run(shapes=("64x64x64",), seconds=2.0)
    assert "nothing about an accelerator" in next(one for one in report.findings if one.code == "cpu-only").action
    assert {one.check for one in report.skipped} == {"comparison with the vendor's peak", "clocks, power, throttling"}


@pytest.mark.parametrize("dtype", ["float16", "tf32", "float8_e4m3fn"])
def test_a_dtype_that_the_device_has_not(dtype: str) -> None:
    with pytest.raises(BadParameter, match=f"dtype: {dtype}: measured on accelerators only"):
        run(dtype=dtype)


def test_every_dtype_that_it_has() -> None:
    assert {one.at["dtype"] for one in run(dtype="all", seconds=2.0, shapes=("64x64x64",)).metrics} == {
        "float32",
        "bfloat16",
    }


def test_two_runs_on_one_device_do_not_overlap() -> None:
    with locks.hold("cpu", "another"), pytest.raises(CannotRun, match="cpu is busy: another"):
        run(shapes=("64x64x64",), seconds=2.0)


def test_two_ranks_are_compared_on_one_shape(tmp_path: Path) -> None:
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "--log-dir",
        str(tmp_path),
    ]
    command = [
        *launch,
        "-m",
        "clusterwright_tools",
        "matmul-flops",
        "--seconds",
        "2",
        "--json",
        str(tmp_path / "r.json"),
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
    report = Report.from_dict(json.loads((tmp_path / "r.json").read_text()))
    assert done.returncode != 0  # unknown on a CPU; torchrun turns it into its own code
    best = [one for one in report.metrics if one.name == "best_rate"]
    assert [one.at["rank"] for one in best] == [0, 1] and len({one.at["shape"] for one in best}) == 1
    assert [one["rank"] for one in report.environment["ranks"]] == [0, 1]
