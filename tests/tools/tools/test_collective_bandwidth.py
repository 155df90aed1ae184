import json
import signal

import pytest

from clusterwright_tools.errors import CannotRun
from clusterwright_tools.progress import Progress
from clusterwright_tools.report import Report, Status
from clusterwright_tools.tools.collective_bandwidth import CollectiveParams, collective_bandwidth

SMALL = ["collective-bandwidth", "--max-bytes", "64KiB", "--factor", "32", "--iterations", "4", "--warmup", "1"]


def report(tmp_path):
    return Report.from_dict(json.loads((tmp_path / "report.json").read_text()))


def test_one_rank_is_refused_with_the_reason(monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(CannotRun, match=r"one rank has nobody to talk to.*torchrun --nproc-per-node 2"):
        collective_bandwidth.run(CollectiveParams(), Progress(quiet=True))


def test_two_ranks_on_the_cpu(worlds, tmp_path):
    argv = [*SMALL, "--ops", "all_reduce", "--ops", "all_gather", "--json", str(tmp_path / "report.json")]
    first, second = worlds.start(argv, size=2)
    assert [first.wait(), second.wait()] == [3, 0]
    assert second.stdout == ""
    told = report(tmp_path)
    assert told.status is Status.UNKNOWN
    assert [finding.code for finding in told.findings] == ["cpu-gloo"]
    assert any("no GPU link" in one.reason for one in told.skipped)
    largest = {metric.at["op"]: metric for metric in told.metrics if metric.name == "busbw"}
    assert {op: metric.at["bytes"] for op, metric in largest.items()} == {"all_reduce": 65536, "all_gather": 65536}
    for metric in largest.values():
        assert metric.spread.samples == 4
        assert 0 < metric.spread.min <= metric.value <= metric.spread.max
        assert metric.percent_of_wire_rate is None
    points = {one.name: one.points for one in told.series}
    assert [x for x, _ in points["all_reduce busbw"]] == [8, 256, 8192, 65536]
    assert [x for x, _ in points["all_gather busbw"]] == [32, 256, 8192, 65536]
    assert [one["rank"] for one in told.environment["ranks"]] == [0, 1]
    assert "64KiB over 2 ranks on 1 node, gloo on the CPU" in told.summary


def test_an_interrupt_gives_the_results_so_far(worlds, tmp_path):
    argv = ["collective-bandwidth", "--ops", "all_reduce", "--ops", "broadcast", "--iterations", "600"]
    first, second = worlds.start([*argv, "--max-bytes", "4MiB", "--json", str(tmp_path / "report.json")], size=2)
    first.seen("all_reduce 16B")
    first.kill(signal.SIGINT)
    assert [first.wait(), second.wait()] == [3, 0]
    told = report(tmp_path)
    assert any(one.reason == "stopped" for one in told.skipped)
    assert {metric.at["op"] for metric in told.metrics} == {"all_reduce"}


def test_a_rank_that_stops_in_the_middle_is_named_and_the_rest_reported(worlds, tmp_path):
    argv = ["collective-bandwidth", "--max-bytes", "4MiB", "--iterations", "500", "--deadline", "2"]
    argv += ["--json", str(tmp_path / "report.json")]
    script = f"from clusterwright_tools import main, world\nworld.GRACE = 1.5\nmain.main({argv})\n"
    ranks = worlds.start(size=3, script=script)
    ranks[0].seen("all_reduce 16B")
    ranks[2].kill(signal.SIGSTOP)
    assert [ranks[0].wait(), ranks[1].wait()] == [1, 0]
    told = report(tmp_path)
    assert told.status is Status.FAIL
    (failed,) = [finding for finding in told.findings if finding.code == "collective-incomplete"]
    assert "no answer from rank 2 (host" in failed.evidence
    assert any(metric.name == "busbw" for metric in told.metrics)
