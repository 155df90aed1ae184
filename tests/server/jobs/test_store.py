import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright import jobs
from clusterwright.errors import UserError
from clusterwright.jobs import State, files, processes, store
from clusterwright.jobs.launch import Plan

from .conftest import Begin

_STARTER = """
import os, signal, sys
from clusterwright.jobs import store
from clusterwright.jobs.launch import Plan
plan = Plan((sys.executable, sys.argv[1]), dict(os.environ), 1, False)
job = store.create(store.new_folder("fake"), "fake", {}, plan, 60)
print(job.id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def _record(id: str, state: dict[str, object], **spec: object) -> Path:
    """A job's folder as an earlier process left it."""
    folder = store.new_folder("fake").with_name(id)
    folder.mkdir()
    told = {"tool": "fake", "parameters": {}, "argv": [], "ranks": 1, "cpu": False, "limit": 60, "grace": 10}
    files.write(folder / files.SPEC, {**told, "here": processes.here(), "created": time.time(), **spec})
    files.write(folder / files.STATE, state)
    (folder / files.TROUBLE).touch()
    return folder


def test_a_job_survives_the_death_of_its_starter(tmp_path: Path) -> None:
    script, go = tmp_path / "script.py", tmp_path / "go"
    script.write_text(f"import pathlib\nwhile not pathlib.Path({str(go)!r}).exists(): pass\nprint('survived')\n")
    started = subprocess.run([sys.executable, "-c", _STARTER, str(script)], stdout=subprocess.PIPE, text=True)
    assert started.returncode == -9
    id = started.stdout.strip()
    assert not jobs.get(id).finished
    go.touch()
    jobs.wait(id, 30)
    assert jobs.log(id) == "survived\n"
    assert [job.id for job in jobs.listed()] == [id]


@pytest.mark.parametrize(
    "id", ["fake-2222222222", "../jobs/fake-2222222222", "..", "", "/etc/passwd", "fake-222222222\n"]
)
def test_an_unknown_id_is_refused_in_one_line(id: str) -> None:
    for look in (jobs.get, jobs.cancel, jobs.log, jobs.report):
        with pytest.raises(UserError, match="unknown job") as caught:
            look(id)
        assert "\n" not in str(caught.value)


def test_ids_name_the_measurement_and_differ() -> None:
    found = {store.new_folder("matmul-flops").name for _ in range(50)}
    assert len(found) == 50
    assert all(store._ID.fullmatch(id) and id.startswith("matmul-flops-") for id in found)


def test_waiting_ends_when_the_time_is_up(begin: Begin) -> None:
    job = begin("until(STOP.exists)")
    assert not jobs.wait(job.id, 0).finished
    with pytest.raises(jobs.NoReport, match=r"has no report: it is (queued|running)"):
        jobs.report(job.id)
    jobs.cancel(job.id)
    assert jobs.wait(job.id, 30).finished


def test_a_finished_job_stays_as_it_is_when_cancelled(begin: Begin) -> None:
    job = jobs.wait(begin("report()").id, 30)
    assert jobs.cancel(job.id, force=True) == job


def test_a_job_can_be_cancelled_before_its_supervisor_is_up() -> None:
    folder = _record("fake-aaaaaaaaaa", {"state": State.QUEUED})
    assert jobs.cancel(folder.name).stopping


def test_a_supervisor_that_never_came_up_makes_the_job_lost() -> None:
    folder = _record("fake-aaaaaaaaaa", {"state": State.QUEUED}, created=time.time() - 31)
    (folder / files.TROUBLE).write_text("Traceback:\nModuleNotFoundError: psutil\n")
    job = jobs.get(folder.name)
    assert (job.state, job.reason) == (State.LOST, "its supervisor did not start (ModuleNotFoundError: psutil)")


def test_a_job_of_another_host_is_lost_only_when_it_fell_silent() -> None:
    # The pid is taken here, by a process that has nothing to do with the job.
    state = {"state": State.RUNNING, "supervisor": processes.identify(1), "started": time.time() - 1000}
    folder = _record("fake-aaaaaaaaaa", state, here="elsewhere/boot/pid:[1]")
    files.write(folder / files.PROCESSES, [])
    assert jobs.get(folder.name).state is State.RUNNING
    assert jobs.get(folder.name).host == "elsewhere"
    silent = time.time() - 200
    os.utime(folder / files.PROCESSES, (silent, silent))
    job = jobs.get(folder.name)
    assert (job.state, job.reason) == (State.LOST, "no sign of life from elsewhere any more")


def test_a_reused_pid_is_not_the_supervisor() -> None:
    me = processes.identify(1)
    assert me is not None
    state = {"state": State.RUNNING, "supervisor": (me.pid, me.start - 1), "started": time.time()}
    assert jobs.get(_record("fake-aaaaaaaaaa", state).name).state is State.LOST


def test_the_oldest_finished_jobs_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "KEPT", 2)
    for age, letter in enumerate("abcd"):
        _record(f"fake-{letter * 10}", {"state": State.DONE}, created=time.time() - age)
    store._prune()
    assert [job.id for job in jobs.listed()] == ["fake-aaaaaaaaaa", "fake-bbbbbbbbbb"]


def test_no_variable_of_the_environment_reaches_the_disk(tmp_path: Path) -> None:
    plan = Plan((sys.executable, "-c", "pass"), {"PATH": "/usr/bin", "NCCL_SECRET": "hush-hush"}, 1, False)
    job = jobs.wait(store.create(store.new_folder("fake"), "fake", {}, plan, 60).id, 30)
    assert all(b"hush-hush" not in path.read_bytes() for path in job.folder.iterdir())
    assert job.folder.stat().st_mode & 0o077 == 0


def test_a_full_or_forbidden_data_folder_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "data" / "jobs").mkdir(parents=True)
    plan = Plan((sys.executable,), {}, 1, False)
    with pytest.raises(UserError, match="cannot start a job in"):
        store.create(tmp_path / "data" / "jobs" / "missing" / "fake-aaaaaaaaaa", "fake", {}, plan, 60)


def test_a_report_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    for text in ('{"schema": "clusterwright.report/99"}', "[]", "no json"):
        path.write_text(text)
        with pytest.raises(UserError, match="no report that this version can read"):
            jobs.load_report(path)
    with pytest.raises(UserError, match=r"cannot read .*: No such file"):
        jobs.load_report(tmp_path / "missing.json")
