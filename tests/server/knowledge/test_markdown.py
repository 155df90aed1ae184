import pytest

from clusterwright.knowledge import markdown


def headings(text: str) -> list[markdown.Heading]:
    return markdown.headings(markdown.parser().parse(text))


@pytest.mark.parametrize(
    ("heading", "slug"),
    [
        ("What is `NCCL_IB_GID_INDEX`?", "what-is-nccl_ib_gid_index"),
        ("Xid 79: off the bus", "xid-79-off-the-bus"),
        ("A - B", "a---b"),
        ("Q&amp;A, *twice*", "qa-twice"),
        ("A [link](x.md)", "a-link"),
        ("显存不足?", "显存不足"),
    ],
)
def test_slugs_are_those_of_github(heading: str, slug: str) -> None:
    (found,) = headings(f"## {heading}\n")
    assert found.slug == slug


def test_headings_that_repeat_are_numbered_without_clashes() -> None:
    assert [one.slug for one in headings("## A\n## A\n## A-1\n## A\n")] == ["a", "a-1", "a-1-1", "a-2"]


def test_paths_follow_the_levels() -> None:
    found = headings("### Early\n## One\n### Two\n#### Three\n## Four\n### Five\n")
    assert [one.path for one in found] == [
        ("Early",),
        ("One",),
        ("One", "Two"),
        ("One", "Two", "Three"),
        ("Four",),
        ("Four", "Five"),
    ]


def test_only_headings_of_the_text_itself_count() -> None:
    assert headings("> ## quoted\n\n- ## listed\n\n```\n## code\n```\n\n<!--\n## comment\n-->\n") == []


@pytest.mark.parametrize(
    "hidden", ["\x00", "\x1b", "\x85", "\xad", "\u200b", "\u200f", "\u202e", "\u2066", "\ufeff", "\ufe0f", "\U000e0041"]
)
def test_what_nobody_sees_is_taken_out(hidden: str) -> None:
    assert markdown.visible(f"a{hidden}b\tc\nd 显存 é ≥") == "ab\tc\nd 显存 é ≥"


def test_fences_with_their_lines() -> None:
    ((fence, first, last),) = markdown.fences(markdown.parser().parse("a\n\n```bash title=x\nls\n```\nb\n"))
    assert (markdown.language(fence), fence.content, first, last) == ("bash", "ls\n", 2, 5)
