"""The launcher that plug-ins and MCP configurations call."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A plug-in's copy of the repository: the files, no environment."""
    (tmp_path / "plugin" / "server").mkdir(parents=True)
    shutil.copy(ROOT / "server" / "launch.sh", tmp_path / "plugin" / "server")
    shutil.copy(ROOT / ".mcp.json", tmp_path / "plugin")
    return tmp_path / "plugin"


def launch(copy: Path, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    import json

    server = json.loads((copy / ".mcp.json").read_text())["mcpServers"]["clusterwright"]
    (tmp_path / "bin").mkdir(exist_ok=True)
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    around = {"PATH": path, "HOME": str(tmp_path), "CLAUDE_PLUGIN_ROOT": str(copy), **environment}
    command = [server["command"], *server["args"]]
    return subprocess.run(command, cwd=tmp_path, env=around, capture_output=True, text=True, timeout=60, check=False)


def test_without_the_package_it_says_what_to_do(copy: Path, tmp_path: Path) -> None:
    done = launch(copy, tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("clusterwright is not installed: run 'pip install clusterwright'")
    assert done.stderr.count("\n") == 1


def program(path: Path) -> Path:
    """A program that tells how it was called."""
    path.write_text('#!/bin/sh\necho "called with $@"\n')
    path.chmod(0o755)
    return path


def test_it_finds_the_command_on_the_path(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin" / "clusterwright")
    assert launch(copy, tmp_path).stdout == "called with serve\n"


def test_it_takes_the_python_that_is_named(copy: Path, tmp_path: Path) -> None:
    python = program(tmp_path / "python")
    assert launch(copy, tmp_path, CLUSTERWRIGHT_PYTHON=str(python)).stdout == "called with -m clusterwright serve\n"


@pytest.mark.parametrize("name", sorted(folder.name for folder in (ROOT / "skills").iterdir() if folder.is_dir()))
def test_skills_are_valid(name: str) -> None:
    validate(ROOT / "skills" / name)


def test_the_root_skill_is_valid(tmp_path: Path) -> None:
    (tmp_path / "clusterwright").mkdir()
    shutil.copy(ROOT / "SKILL.md", tmp_path / "clusterwright")
    validate(tmp_path / "clusterwright")


def validate(folder: Path) -> None:
    command = [str(Path(sys.executable).parent / "agentskills"), "validate", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
