import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterwright.config import Config, Measure
from clusterwright.errors import UserError
from clusterwright.jobs import devices, launch
from clusterwright_tools.params import param
from clusterwright_tools.progress import Progress
from clusterwright_tools.registry import Impact, Launch, Tool, tool
from clusterwright_tools.report import Report


@dataclass(frozen=True)
class Params:
    ops: tuple[str, ...] = param(("a",), "operations")
    quick: bool = param(False, "less")


def _tool(kind: Launch) -> Tool:
    @tool(name="fake", area="test", launch=kind, impact=Impact.OBSERVE, seconds=1, chapters=())
    def fake(params: Params, progress: Progress) -> Report | None:
        """Measure nothing."""
        raise NotImplementedError

    return fake


@pytest.mark.parametrize(
    ("kind", "wanted", "found", "ranks", "cpu"),
    [
        (Launch.SINGLE, None, 8, 1, False),
        (Launch.SINGLE, 1, 8, 1, False),
        (Launch.PER_DEVICE, None, 8, 8, False),
        (Launch.PER_DEVICE, None, 1, 1, False),
        (Launch.PER_DEVICE, None, 0, 1, False),
        (Launch.PER_DEVICE, 2, 8, 2, False),
        (Launch.DISTRIBUTED, None, 8, 8, False),
        (Launch.DISTRIBUTED, None, 1, 2, True),
        (Launch.DISTRIBUTED, None, 0, 2, True),
        (Launch.DISTRIBUTED, 1, 1, 1, False),
        (Launch.DISTRIBUTED, 4, 2, 4, True),
    ],
)
def test_ranks(kind: Launch, wanted: int | None, found: int, ranks: int, cpu: bool) -> None:
    assert launch.spread(_tool(kind), wanted, found) == (ranks, cpu)


def test_ranks_that_cannot_be_are_refused() -> None:
    with pytest.raises(UserError, match="runs as one process"):
        launch.spread(_tool(Launch.SINGLE), 2, 8)
    with pytest.raises(UserError, match="0 ranks cannot run"):
        launch.spread(_tool(Launch.DISTRIBUTED), 0, 8)


def _plan(
    monkeypatch: pytest.MonkeyPatch, kind: Launch, found: int, around: dict[str, str], **how: bool
) -> launch.Plan:
    monkeypatch.setattr(devices, "count", lambda environment: found)
    parameters = Params(ops=("-x", "b"), quick=True)
    return launch.plan(_tool(kind), parameters, Path("/b.pyz"), Path("/job"), Measure(), around=around, **how)


def test_one_process_is_started_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan(monkeypatch, Launch.PER_DEVICE, 1, {"PYTHONPATH": "/evil"})
    call = ("/b.pyz", "fake", "--ops", "-x", "--ops", "b", "--quick", "--json", "/job/report.json")
    assert plan.argv == (sys.executable, *call)
    assert "PYTHONPATH" not in plan.environment
    assert "CLUSTERWRIGHT_DEVICE" not in plan.environment


def test_several_ranks_are_started_by_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan(monkeypatch, Launch.DISTRIBUTED, 4, {"OMP_NUM_THREADS": "3"})
    assert plan.argv[:3] == (sys.executable, "-m", "torch.distributed.run")
    assert plan.argv[plan.argv.index("--nproc-per-node") + 1] == "4"
    assert plan.argv[plan.argv.index("/b.pyz") + 1] == "fake"
    assert plan.environment["OMP_NUM_THREADS"] == "3"
    assert "CLUSTERWRIGHT_DEVICE" not in plan.environment


def test_ranks_without_devices_run_on_the_cpu_over_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan(monkeypatch, Launch.DISTRIBUTED, 1, {"GLOO_SOCKET_IFNAME": "eth0"}, even_if_busy=True)
    assert (plan.ranks, plan.cpu) == (2, True)
    assert plan.environment["CLUSTERWRIGHT_DEVICE"] == "cpu"
    assert plan.environment["GLOO_SOCKET_IFNAME"].startswith("lo")
    assert plan.environment["CLUSTERWRIGHT_EVEN_IF_BUSY"] == "1"


def _program(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_an_interpreter_that_cannot_measure_is_told_in_one_line(tmp_path: Path) -> None:
    cases = {
        "/no/such/python": "there is no program /no/such/python",
        _program(tmp_path / "old", "echo 3 9; echo True"): "old is Python 3.9, measurements need 3.10",
        _program(tmp_path / "no", "echo hello"): "no does not work as a Python interpreter",
        _program(tmp_path / "bad", "exit 1"): "bad does not work as a Python interpreter",
    }
    for named, message in cases.items():
        with pytest.raises(UserError, match=message) as caught:
            launch.find_interpreter(named, {})
        assert "measure.python in config.toml" in str(caught.value)


def test_an_interpreter_is_taken_as_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = _program(tmp_path / "python", "echo 3 10; echo False")
    link = tmp_path / "link"
    link.symlink_to(named)
    assert launch.find_interpreter(str(link), {}) == launch.Interpreter(str(link), (3, 10), False)
    assert launch.find_interpreter("python", {"PATH": str(tmp_path)}).path == named
    monkeypatch.setenv("HOME", str(tmp_path))
    assert launch.find_interpreter("~/python", {}).path == named
    assert launch.find_interpreter("", {}).path == sys.executable
    config = Config(measure=Measure(python=named))
    assert (
        launch.describe_interpreter(config) == f"{named} (Python 3.10, without PyTorch, which most measurements need)"
    )


def test_ranks_need_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "count", lambda environment: 0)
    measure = Measure(python=_program(tmp_path / "python", "echo 3 12; echo False"))
    with pytest.raises(UserError, match="python has no PyTorch"):
        launch.plan(_tool(Launch.DISTRIBUTED), Params(), Path("/b"), Path("/job"), measure, around={})
    plan = launch.plan(_tool(Launch.PER_DEVICE), Params(), Path("/b"), Path("/job"), measure, around={})
    assert plan.argv[0] == measure.python
