"""Progress of a measurement: lines on stderr, a small file for whoever watches the job, and the wish to stop."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

PROGRESS_FILE = "CLUSTERWRIGHT_PROGRESS_FILE"
STOP_FILE = "CLUSTERWRIGHT_STOP_FILE"


class Progress:
    """What a measurement uses to say how far it is, and to learn that it should wind up.

    `stop` is set by Ctrl-C, or by the job's supervisor through a file. A measurement looks at `stopped` between its
    steps and returns the results so far; ranks of one world have to agree first (see `distributed.World.any`).
    """

    def __init__(self, quiet: bool = False, rank: int = 0) -> None:
        self._quiet = quiet or rank != 0
        self._file = Path(os.environ[PROGRESS_FILE]) if PROGRESS_FILE in os.environ and rank == 0 else None
        self._stop_file = Path(os.environ[STOP_FILE]) if STOP_FILE in os.environ else None
        self._begin = time.monotonic()
        self._stop = False

    def stop(self) -> None:
        """Ask the measurement to wind up."""
        self._stop = True

    @property
    def stopped(self) -> bool:
        """Whether it should wind up."""
        return self._stop or (self._stop_file is not None and self._stop_file.exists())

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._begin

    def say(self, message: str, fraction: float | None = None) -> None:
        """Tell a person and a watching job where the measurement stands; `fraction` is 0 to 1."""
        if not self._quiet:
            share = "" if fraction is None else f" {fraction:4.0%}"
            print(f"[{self.seconds:5.1f} s{share}] {message}", file=sys.stderr, flush=True)
        if self._file is not None:
            partial = self._file.with_name(self._file.name + ".part")
            partial.write_text(json.dumps({"message": message, "fraction": fraction, "seconds": self.seconds}))
            partial.replace(self._file)
