"""What the server's tools share: the configuration, the searcher, and what this server may do."""

import functools
from dataclasses import dataclass, field

from clusterwright import paths
from clusterwright.config import Config
from clusterwright.errors import UserError
from clusterwright.knowledge import chapters
from clusterwright.knowledge.chapters import Chapter
from clusterwright.retrieval.search import Searcher

TOOLSETS = ("knowledge", "jobs", "measure")


@dataclass(frozen=True)
class App:
    """One server's state. `toolsets` names what is offered; `read_only` leaves out everything that starts work."""

    config: Config = field(default_factory=Config)
    toolsets: tuple[str, ...] = TOOLSETS
    read_only: bool = False

    @functools.cached_property
    def book(self) -> tuple[Chapter, ...]:
        """The chapters, read on first use."""
        return chapters.load(paths.shipped("knowledge"))

    @functools.cached_property
    def searcher(self) -> Searcher:
        """Made on first use, so that the first reply of the server does not wait for it."""
        return Searcher(self.config)


def parse_toolsets(text: str) -> tuple[str, ...]:
    """`knowledge,jobs` as toolsets.

    Raises:
        UserError: one of them is unknown.
    """
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    for name in names:
        if name not in TOOLSETS:
            raise UserError(f"unknown toolset '{name}'; there are: {', '.join(TOOLSETS)}")
    return names or TOOLSETS
