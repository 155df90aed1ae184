"""What the server's tools share: the configuration, the searcher, and what this server may do.

What answers is imported on first use: a client waits for the handshake, and that needs none of it.
"""

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterwright import paths
from clusterwright.config import Config
from clusterwright.errors import UserError

if TYPE_CHECKING:
    from clusterwright.knowledge.chapters import Chapter
    from clusterwright.knowledge.lookup import Page
    from clusterwright.retrieval.search import Searcher

TOOLSETS = ("knowledge", "jobs", "measure")


@dataclass(frozen=True)
class App:
    """One server's state. `toolsets` names what is offered; `read_only` leaves out everything that starts work."""

    config: Config = field(default_factory=Config)
    toolsets: tuple[str, ...] = TOOLSETS
    read_only: bool = False

    @functools.cached_property
    def book(self) -> "tuple[Chapter, ...]":
        """The chapters."""
        from clusterwright.knowledge import chapters

        return chapters.load(paths.shipped("knowledge"))

    @functools.cached_property
    def searcher(self) -> "Searcher":
        """The index, with whatever of it is ready."""
        from clusterwright.retrieval.search import Searcher

        return Searcher(self.config)

    def page(self, id: str) -> "Page":
        """A section, a chapter or a row of a table by its id.

        Raises:
            UserError: there is none.
        """
        from clusterwright.knowledge import lookup

        return lookup.page((*self.book, *self._tables), id)

    @functools.cached_property
    def _tables(self) -> "tuple[Chapter, ...]":
        """The rows of the reference tables, as sections."""
        from clusterwright.knowledge import reference

        return reference.tables(paths.shipped("knowledge"))


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
