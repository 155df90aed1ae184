import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright_tools.report import Report

RUN = [sys.executable, "-m", "clusterwright_tools"]
QUICK = ["matmul-flops", "--shapes", "64x64x64", "--seconds", "2"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *arguments], capture_output=True, text=True, timeout=120, env=os.environ | environment, check=False
    )


def test_a_measurement_from_start_to_report(tmp_path: Path) -> None:
    done = run(*QUICK, "--json", str(tmp_path / "r.json"))
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith("matmul-flops: UNKNOWN")
    report = Report.from_dict(json.loads((tmp_path / "r.json").read_text()))
    assert report.command == "clusterwright_tools matmul-flops --seconds 2.0 --shapes 64x64x64"
    assert report.started.endswith("Z") and report.seconds > 0
    assert report.parameters["dtype"] == "bfloat16"
    assert {one.code for one in report.findings} >= {"cpu-only"}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["no-such-tool"], "clusterwright: unknown tool 'no-such-tool'; there are: "),
        (["matmul-flops", "--secconds", "3"], "clusterwright: No such option"),
        (["matmul-flops", "--seconds", "1e9"], "clusterwright: seconds: 1e9 is out of range; give 2 to 3600 s"),
        (
            ["matmul-flops", "--dtype", "float8_e4m3fn"],
            "clusterwright: dtype: float8_e4m3fn: measured on accelerators only",
        ),
        (["matmul-flops", "--json", "/no/such/folder/r.json"], "clusterwright: cannot write /no/such/folder/r.json"),
    ],
)
def test_bad_input_is_one_line_and_code_2(arguments: list[str], line: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(line) and done.stderr.count("\n") == 1 and done.stdout == ""


def test_missing_torch_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')")
    done = run(*QUICK, PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith("clusterwright: PyTorch does not import here") and done.stderr.count("\n") == 1


def test_help_needs_no_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('imported')")
    done = run("matmul-flops", "--help", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0 and "--seconds" in done.stdout


def test_interrupt_gives_the_results_so_far(tmp_path: Path) -> None:
    command = [*RUN, "matmul-flops", "--seconds", "600", "--json", str(tmp_path / "r.json")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "shapes, the best" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    assert process.returncode == 3
    assert Report.from_dict(json.loads((tmp_path / "r.json").read_text())).metrics
