"""A server over a small knowledge folder, with no model and no build."""

from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import Client

from clusterwright import paths
from clusterwright.mcp.app import App
from clusterwright.mcp.server import Server, build
from clusterwright.retrieval.search import Searcher


class NeverDone:
    """A build that goes on and on."""

    def poll(self) -> None:
        return None


@pytest.fixture
def make(root: Path, data: Path, embedder: object, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Server]:
    """Builds a server; keywords are those of `App`."""
    shipped = paths.shipped
    monkeypatch.setattr(paths, "shipped", lambda name: root if name == "knowledge" else shipped(name))
    monkeypatch.setenv("CLUSTERWRIGHT_DATA", str(data))

    def made(**options: object) -> Server:
        app = App(**options)  # type: ignore[arg-type]
        searcher = Searcher(root=root, data=data, embedder=embedder, start_build=lambda _: NeverDone())  # type: ignore[arg-type]
        vars(app)["searcher"] = searcher
        return build(app)

    return made


@pytest.fixture(params=["auto", "legacy"])
def client(request: pytest.FixtureRequest, make: Callable[..., Server]) -> Callable[..., Client]:
    """A client of either protocol era; keywords are those of `App`."""
    return lambda **options: Client(make(**options), mode=request.param)
