import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterwright_tools import locks, telemetry
from clusterwright_tools.errors import CannotRun

HOLD = """
import sys
from pathlib import Path
from clusterwright_tools import locks
locks._FOLDER = Path(sys.argv[1])
with locks.hold("GPU-1", "matmul-flops"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(locks, "_FOLDER", tmp_path / "locks")
    return tmp_path / "locks"


@pytest.fixture
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", textwrap.dedent(HOLD), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_held_device_is_refused_with_its_holder(holder: subprocess.Popen[str]) -> None:
    with (
        pytest.raises(CannotRun, match=rf"GPU-1 is busy: matmul-flops \(process {holder.pid}\)"),
        locks.hold("GPU-1", "x"),
    ):
        pass


def test_another_device_is_free(holder: subprocess.Popen[str]) -> None:
    with locks.hold("GPU-2", "x"):
        pass


def test_the_lock_ends_with_its_process_however_that_dies(holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait()
    with locks.hold("GPU-1", "x"):
        pass


def test_the_lock_can_be_taken_again() -> None:
    for _ in range(2):
        with locks.hold("GPU-1", "x"):
            pass


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(locks, "_FOLDER", tmp_path / "file" / "locks")
    with pytest.raises(CannotRun, match="cannot open the device lock"), locks.hold("GPU-1", "x"):
        pass


def test_a_device_in_use_is_refused_with_who_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "processes", lambda uuid: [1])
    with pytest.raises(CannotRun, match=r"GPU-1 is in use by process 1 \(.+\); .*--even-if-busy"):
        locks.refuse_if_used("GPU-1")
    monkeypatch.setenv(locks.EVEN_IF_BUSY, "1")
    locks.refuse_if_used("GPU-1")


def test_our_own_process_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setattr(telemetry, "processes", lambda uuid: [os.getpid()])
    locks.refuse_if_used("GPU-1")
