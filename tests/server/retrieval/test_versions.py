from pathlib import Path

import pytest

from clusterwright.retrieval import versions


@pytest.fixture
def index(data: Path) -> Path:
    versions.folder(data).mkdir()
    return versions.folder(data)


def names(index: Path) -> set[str]:
    return {path.name for path in index.iterdir() if path.is_dir()}


def test_there_is_no_version_at_first(data: Path) -> None:
    assert versions.current(data) is None


def test_a_switch_names_the_new_version_and_keeps_the_one_before(data: Path, index: Path) -> None:
    first, second, third = (versions.create(data, "abc") for _ in range(3))
    assert len({first, second, third}) == 3
    for version in (first, second, third):
        versions.switch(data, version)
        assert versions.current(data) == version
    versions.prune(data)
    assert names(index) == {second.name, third.name}


def test_a_version_that_is_named_but_gone_is_none(data: Path, index: Path) -> None:
    (index / "current").write_text("abc-0\n")
    assert versions.current(data) is None


def test_debris_is_removed_unless_a_reader_holds_it(data: Path, index: Path) -> None:
    read, debris = versions.create(data, "abc"), versions.create(data, "abc")
    (debris / "in-use").unlink()
    (debris / "half.npy").touch()
    with versions.hold(read):
        versions.prune(data)
        assert names(index) == {read.name}
    versions.prune(data)
    assert names(index) == set()


def test_two_readers_hold_one_version(data: Path, index: Path) -> None:
    version = versions.create(data, "abc")
    with versions.hold(version), versions.hold(version):
        versions.prune(data)
        assert version.is_dir()


def test_a_version_that_is_gone_cannot_be_held(data: Path) -> None:
    with pytest.raises(FileNotFoundError):
        versions.hold(data / "index/abc-0")
