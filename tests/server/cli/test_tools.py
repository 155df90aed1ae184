import json
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from clusterwright.cli import cli
from clusterwright_tools import params, registry
from clusterwright_tools.errors import BadParameter


def test_listing() -> None:
    done = CliRunner().invoke(cli, ["tools", "list"])
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(registry.tools())
    told = json.loads(CliRunner().invoke(cli, ["tools", "list", "--json"]).stdout)
    for tool, one in zip(registry.tools().values(), told, strict=True):
        assert (one["name"], one["impact"], one["seconds"]) == (tool.name, tool.impact.value, tool.seconds)
        assert list(one["parameters"]) == [field.name for field in params.fields(tool.params)]


def test_describing() -> None:
    done = CliRunner().invoke(cli, ["tools", "describe", "matmul-flops"])
    tool = registry.find("matmul-flops")
    assert tool.summary in done.stdout
    assert all(field.option in done.stdout for field in params.fields(tool.params))
    assert all(f"clusterwright read {chapter}" in done.stdout for chapter in tool.chapters)
    told = json.loads(CliRunner().invoke(cli, ["tools", "describe", "matmul-flops", "--json"]).stdout)
    assert told["chapters"] == list(tool.chapters)
    assert isinstance(CliRunner().invoke(cli, ["tools", "describe", "no-such"]).exception, BadParameter)


def test_bundling(tmp_path: Path) -> None:
    path = tmp_path / "tools.pyz"
    assert CliRunner().invoke(cli, ["tools", "bundle", "-o", str(path)]).exit_code == 0
    shown = subprocess.run([sys.executable, "-I", "-S", path, "--help"], capture_output=True, text=True, check=True)
    assert "matmul-flops" in shown.stdout
