from pathlib import Path

import pytest

from clusterwright.knowledge import link_lint, markdown
from clusterwright.knowledge.chapters import Source

MATTER = """title: Links
sources:
  maker: {title: Manual, url: "https://example.com"}
"""
MAKER = Source("maker", "Manual", "https://example.com")


def marks(text: str, *sources: Source) -> list[tuple[int, str]]:
    return list(link_lint.marks(markdown.parser().parse(text), 10, sources or (MAKER,), MATTER))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside.md").touch()
    (tmp_path / "k" / "network").mkdir(parents=True)
    (tmp_path / "k" / "network" / "links.md").touch()
    (tmp_path / "k" / "network" / "busbw.md").touch()
    return tmp_path / "k"


def links(root: Path, text: str) -> list[tuple[int, str]]:
    ids = {"network/links", "network/busbw", "network/busbw#what-is-it", "network/links#显存不足"}
    file = root / "network" / "links.md"
    return list(link_lint.links(markdown.parser().parse(text), 10, file, root, ids))


def test_good_marks() -> None:
    assert marks("A [^maker] and\n[^unverified].\n") == []
    assert marks("| a |\n|---|\n| b [^maker] |\n") == []


def test_marks_in_code_do_not_count() -> None:
    assert marks("x [^maker] `[^a-z]`\n\n```bash\ngrep '[^0-9]' file\n```\n\n~~~text\n[^b]\n~~~\n") == []


def test_marks_without_a_source() -> None:
    assert marks("A [^maker].\n\nOne\ntwo [^a] [^b]\n\n## C [^c]\n") == [
        (14, "source mark [^a] is not defined in the front matter"),
        (14, "source mark [^b] is not defined in the front matter"),
        (16, "source mark [^c] is not defined in the front matter"),
    ]


def test_a_mark_in_code_is_no_use_of_its_source() -> None:
    assert marks("`[^maker]`\n") == [(4, "front matter: source 'maker': is not used")]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Source("maker", "M", url="http://example.com"), "the address is not https"),
        (Source("maker", "M", measured="last week"), "say 'YYYY-MM-DD, on what, with which versions'"),
        (Source("maker", "M", measured="2026-12-01"), "say 'YYYY-MM-DD, on what, with which versions'"),
        (Source("maker", "M", measured="2026-12-01, one H200"), ""),
    ],
)
def test_sources(source: Source, message: str) -> None:
    assert marks("[^maker]", source) == ([(4, f"front matter: source 'maker': {message}")] if message else [])


@pytest.mark.parametrize(
    "text",
    [
        "[a](busbw.md) [b](../network/busbw.md#what-is-it) [c](#显存不足)",
        '[a](busbw.md#what-is-it "title")',
        "[a][b]\n\n[b]: busbw.md",
        "<https://example.com> [a](https://example.com/x#y) [b](mailto:a@b.c)",
        "`[a](gone.md)`\n\n```text\n[a](gone.md)\n```",
    ],
)
def test_good_links(root: Path, text: str) -> None:
    assert links(root, text) == []


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("gone.md", "there is no such file in the knowledge folder"),
        ("../../outside.md", "there is no such file in the knowledge folder"),
        ("/etc/passwd", "there is no such file in the knowledge folder"),
        ("../network", "there is no such file in the knowledge folder"),
        ("busbw.md#gone", "there is no section 'gone'"),
        ("#gone", "there is no section 'gone'"),
    ],
)
def test_bad_links(root: Path, target: str, message: str) -> None:
    told = [(13, f"link to {target}: {message}")]
    assert links(root, f"a\n\n[x]({target})\n") == told
    assert links(root, f"a\n\n![x]({target})\n") == told
    assert links(root, f'a\nb\n[x]({target} "t")\n') == told
