"""What the command line shows while an index is built: a status line on stderr, on a terminal only."""

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

_SAYS = {
    "waiting": "another process is building the index; waiting for it",
    "cutting": "reading the chapters",
    "embedding": "embedding the chapters (once)",
    "indexing": "writing the index",
    "switching": "",
}


@contextlib.contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """A progress for `build`."""
    status: Status | None = None

    def show(stage: str, done: int, total: int) -> None:
        nonlocal status
        if status is None:
            from rich.console import Console

            status = Console(stderr=True).status("")
        counted = f" {done}/{total}" if total > 1 else ""
        status.update(_SAYS[stage] + counted)
        if stage == "switching":
            status.stop()
        else:
            status.start()

    try:
        yield show
    finally:
        if status:
            status.stop()
