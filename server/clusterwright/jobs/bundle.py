"""The zipapp that holds the measurements: tools, tables and click in one file that any Python 3.10 or newer runs."""

import hashlib
import importlib.metadata
import importlib.util
import io
import os
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from clusterwright import paths
from clusterwright.errors import UserError
from clusterwright_tools import tables

_MAIN = b'''"""Measurements of Clusterwright; see --help."""

from clusterwright_tools.main import main

if __name__ == "__main__":
    main()
'''
_SHEBANG = b"#!/usr/bin/env python3\n"
_MODE = 0o644 << 16
_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNUSED_DAYS = 30


def cached() -> Path:
    """The zipapp in the data folder, made when there is none with this content."""
    folder = paths.data_dir() / "bundle"
    content = dict(sorted(_files()))
    path = folder / f"{_digest(content)}.pyz"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        _forget_old(folder)
        _place(path, _archive(content))
    # A job imports from it as it goes: what is in use must not look unused.
    os.utime(path)
    return path


def save(path: Path) -> None:
    """Write the zipapp, executable, to a file of the user's.

    Raises:
        UserError: it cannot be written there.
    """
    try:
        _place(path, _archive(dict(sorted(_files()))))
        path.chmod(0o755)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error


def _files() -> Iterator[tuple[str, bytes]]:
    """Names in the archive with their content."""
    yield "__main__.py", _MAIN
    for package in ("clusterwright_tools", "click"):
        spec = importlib.util.find_spec(package)
        assert spec is not None and spec.origin is not None
        root = Path(spec.origin).parent
        for path in root.rglob("*.py"):
            yield f"{package}/{path.relative_to(root).as_posix()}", path.read_bytes()
    for item in tables.folder().iterdir():
        if item.name.endswith(".csv"):
            yield f"clusterwright_tools/_data/tables/{item.name}", item.read_bytes()
    for distribution in ("clusterwright", "click"):
        yield from _licences(distribution)


def _licences(distribution: str) -> Iterator[tuple[str, bytes]]:
    for path in importlib.metadata.files(distribution) or ():
        if "licenses" in path.parts:
            inside = "/".join(path.parts[path.parts.index("licenses") + 1 :])
            yield f"licences/{distribution}/{inside}", path.read_binary()


def _digest(content: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, data in content.items():
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()[:20]


def _archive(content: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    stream.write(_SHEBANG)
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr, info.compress_type = _MODE, zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return stream.getvalue()


def _place(path: Path, data: bytes) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(data)
    partial.replace(path)


def _forget_old(folder: Path) -> None:
    for path in folder.glob("*.pyz"):
        if path.stat().st_mtime < time.time() - _UNUSED_DAYS * 86400:
            path.unlink(missing_ok=True)
