"""Worked examples of the chapters are computed again here, so that a wrong figure fails."""

import re
from collections.abc import Callable

import pytest

from clusterwright import paths
from clusterwright.knowledge import chapters


@pytest.fixture(scope="session")
def sections() -> dict[str, str]:
    """The text of every section by its id, spaces and line ends as one space, source marks left out."""
    book = chapters.load(paths.shipped("knowledge"))
    strip = re.compile(r"\[\^[^\]]+\]")
    return {one.id: " ".join(strip.sub("", one.text).split()) for chapter in book for one in chapter.sections}


@pytest.fixture
def says(sections: dict[str, str]) -> Callable[..., None]:
    """Assert that a section holds every one of some texts."""

    def check(id: str, *texts: str) -> None:
        missing = [text for text in texts if text not in sections[id]]
        assert not missing, f"{id} does not say: {missing}"

    return check
