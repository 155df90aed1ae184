"""What the command line shows while an index is built: a status line on stderr, on a terminal only."""

import contextlib
from collections.abc import Callable, Iterator

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
    from rich.console import Console

    status = Console(stderr=True).status("")

    def show(stage: str, done: int, total: int) -> None:
        counted = f" {done}/{total}" if total > 1 else ""
        status.update(_SAYS[stage] + counted)
        if stage == "switching":
            status.stop()
        else:
            status.start()

    try:
        yield show
    finally:
        status.stop()
