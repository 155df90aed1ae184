"""The versions of the index in a data folder.

    index/lock            one builder at a time
    index/current         two lines: the version in use and the one before
    index/<version>/      corpus, `lexical/`, `chroma/`, and `in-use`, which every reader holds a shared lock on

A version becomes current when it is complete. Whatever else lies there is a replaced version or debris of a killed
build; the next build removes it unless a reader still holds it.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from clusterwright.retrieval import corpus


def folder(data: Path) -> Path:
    """Where the versions of a data folder are."""
    return data / "index"


def current(data: Path) -> Path | None:
    """The version in use, None if there is none."""
    names = _names(data)
    return folder(data) / names[0] if names and (folder(data) / names[0]).is_dir() else None


def fresh(version: Path, knowledge: str, model: str) -> bool:
    """Whether a version was made of these chapters with this model."""
    found = corpus.manifest(version)
    return found is not None and found.knowledge == knowledge and found.model == model


def create(data: Path, knowledge: str) -> Path:
    """Make the folder of a new version."""
    taken = {path.name for path in folder(data).iterdir()}
    number = next(n for n in range(len(taken) + 1) if f"{knowledge[:12]}-{n}" not in taken)
    version = folder(data) / f"{knowledge[:12]}-{number}"
    version.mkdir()
    (version / "in-use").touch()
    return version


def switch(data: Path, version: Path) -> None:
    """Make a complete version the current one, atomically; the one before stays."""
    before = current(data)
    names = [version.name] + ([before.name] if before and before != version else [])
    temporary = folder(data) / "current.new"
    temporary.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    temporary.replace(folder(data) / "current")


def prune(data: Path) -> None:
    """Remove every version but the current, the one before, and those that a reader holds. Call it under the lock."""
    keep = set(_names(data))
    for path in folder(data).iterdir():
        if path.is_dir() and path.name not in keep:
            with contextlib.suppress(BlockingIOError), _held(path, fcntl.LOCK_EX, os.O_CREAT):
                shutil.rmtree(path)


def hold(version: Path) -> contextlib.ExitStack:
    """Keep a version from being removed until the result is closed, or this process ends.

    Raises:
        FileNotFoundError: it has been removed already.
    """
    stack = contextlib.ExitStack()
    stack.enter_context(_held(version, fcntl.LOCK_SH))
    return stack


@contextlib.contextmanager
def _held(version: Path, how: int, create: int = 0) -> Iterator[None]:
    descriptor = os.open(version / "in-use", os.O_RDONLY | os.O_CLOEXEC | create, 0o600)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _names(data: Path) -> list[str]:
    try:
        return (folder(data) / "current").read_text(encoding="utf-8").split()
    except FileNotFoundError:
        return []
