import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from clusterwright.errors import UserError
from clusterwright.jobs import bundle
from clusterwright_tools import registry, tables

_LOOK = """
import sys
sys.path.insert(0, sys.argv[1])
import click, clusterwright_tools
from clusterwright_tools import tables
assert sys.argv[1] in click.__file__ and sys.argv[1] in clusterwright_tools.__file__
assert "clusterwright" not in sys.modules
print(",".join(tables.names()), len(tables.rows("accelerators")))
"""


def _isolated(*arguments: str, cwd: Path) -> str:
    """Run Python without site-packages, environment or this checkout."""
    command = [sys.executable, "-I", "-S", *arguments]
    return subprocess.run(command, cwd=cwd, env={}, capture_output=True, text=True, check=True).stdout


def test_it_runs_with_the_standard_library_alone(tmp_path: Path) -> None:
    path = bundle.cached()
    listed = _isolated(str(path), "--help", cwd=tmp_path)
    assert all(name in listed for name in registry.tools())
    assert "--seconds" in _isolated(str(path), "matmul-flops", "--help", cwd=tmp_path)


def test_the_tables_are_inside(tmp_path: Path) -> None:
    names = ",".join(tables.names())
    assert _isolated("-c", _LOOK, str(bundle.cached()), cwd=tmp_path).split() == [
        names,
        str(len(tables.rows("accelerators"))),
    ]


def test_it_holds_no_server_and_the_licences() -> None:
    names = zipfile.ZipFile(bundle.cached()).namelist()
    assert {name.split("/")[0] for name in names} == {"__main__.py", "clusterwright_tools", "click", "licences"}
    assert any(name.startswith("licences/click/") for name in names)
    assert any(name.startswith("licences/clusterwright/") for name in names)


def test_the_same_content_is_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = bundle.cached()
    data, made = first.read_bytes(), first.stat().st_ino
    assert bundle.cached() == first
    assert first.stat().st_ino == made
    first.unlink()
    assert bundle.cached().read_bytes() == data
    monkeypatch.setattr(bundle, "_MAIN", b"pass\n")
    assert bundle.cached() != first


def test_bundles_that_nobody_uses_any_more_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    old, recent = bundle.cached(), 0.0
    os.utime(old, (recent, recent))
    monkeypatch.setattr(bundle, "_MAIN", b"pass\n")
    new = bundle.cached()
    assert list(new.parent.iterdir()) == [new]


def test_saving(tmp_path: Path) -> None:
    path = tmp_path / "tools.pyz"
    bundle.save(path)
    assert path.read_bytes() == bundle.cached().read_bytes()
    assert os.access(path, os.X_OK)
    with pytest.raises(UserError, match=r"cannot write .*: No such file or directory"):
        bundle.save(tmp_path / "missing" / "tools.pyz")
