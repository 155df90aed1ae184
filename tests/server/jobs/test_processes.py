import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clusterwright.jobs import processes
from clusterwright.jobs.processes import Process

from .conftest import until

_SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


@contextlib.contextmanager
def _process(command: list[str] = _SLEEP, **how: Any) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(command, text=True, **how) as process:
        try:
            yield process
        finally:
            process.kill()


def test_both_ways_to_read_the_process_table_agree() -> None:
    with _process() as child:
        ours, portable = processes.table(), processes.portable_table()
        for table in (ours, portable):
            assert {one.pid: parent for one, parent in table.items()}[child.pid] == os.getpid()
        assert sorted(one.pid for one in processes.descendants(os.getpid())) == [child.pid]


def test_a_zombie_is_not_alive_and_a_reused_pid_is_another_process() -> None:
    with _process() as child:
        found = processes.identify(child.pid)
        assert found is not None
        assert processes.alive(found)
        assert not processes.alive(Process(found.pid, found.start - 1))
        child.kill()
        until(lambda: not processes.alive(found))
        assert child.returncode is None
    assert processes.identify(child.pid) is None


def test_a_signal_goes_to_the_very_process_only() -> None:
    with _process() as child:
        found = processes.identify(child.pid)
        assert found is not None
        processes.send({Process(found.pid, found.start - 1)}, signal.SIGKILL)
        assert child.poll() is None
        processes.send({found}, signal.SIGKILL)
        assert child.wait(30) == -signal.SIGKILL


def test_a_sweep_ends_what_was_recorded_what_is_below_and_what_bears_the_mark(tmp_path: Path) -> None:
    stop, parent_of = (
        tmp_path / "stop",
        "import subprocess, sys; print(subprocess.Popen(sys.argv[1:]).pid, flush=True); input()",
    )
    with (
        _process([sys.executable, "-c", parent_of, *_SLEEP], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent,
        _process(env={"CLUSTERWRIGHT_STOP_FILE": str(stop)}) as marked,
        _process(env={"CLUSTERWRIGHT_STOP_FILE": str(tmp_path / "stop2")}) as other,
    ):
        assert parent.stdout is not None
        below = int(parent.stdout.readline())
        recorded = processes.identify(parent.pid)
        assert recorded is not None
        until(lambda: marked.pid in {one.pid for one in processes.of_job(stop)})
        assert processes.sweep({recorded}, stop) == set()
        assert [processes.identify(pid) for pid in (parent.pid, below, marked.pid)] == [None] * 3
        assert other.poll() is None


def test_here_tells_boots_and_hosts_apart() -> None:
    assert processes.here() == processes.here()
    assert processes.here().count("/") == 2
