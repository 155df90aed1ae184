import pytest

from clusterwright.errors import UserError
from clusterwright.knowledge import front

GOOD = """title: Links
summary: How fast links are.
reviewed: 2026-12
sources:
  maker: {title: Manual, url: "https://example.com"}
  run:
    title: Measured
    measured: 2026-12-01, one H200
"""


def test_values_stay_text() -> None:
    about = front.parse(GOOD.replace("Links", "2026-02-30"), "x.md")
    assert (about.title, about.sources["run"].measured) == ("2026-02-30", "2026-12-01, one H200")
    assert (about.tools, about.moved) == ((), {})


def test_body_and_front_matter_are_parted() -> None:
    assert front.split("---\ntitle: a\n---\nb\u200b\n---\nc", "x.md") == ("title: a\n", "b\n---\nc", 3)
    assert front.split("---\ntitle: a\n---", "x.md") == ("title: a\n", "", 2)


def test_hidden_characters_cannot_be_written_as_escapes_either() -> None:
    assert front.parse(GOOD.replace("Links", '"Li\\u200bnks\\e[31m"'), "x.md").title == "Links[31m"


def test_where_a_key_stands() -> None:
    assert (front.line(GOOD, "sources", "run"), front.line(GOOD, "sources", "no")) == (7, 5)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title: Links\n", "", "line 1: front matter: title is missing"),
        ("title: Links", "title: ''", "line 2: front matter: title is empty"),
        ("title: Links", "title: a: b", "line 2: front matter: mapping values are not allowed here; quote values"),
        ("title: Links", "title: [a]", "line 2: front matter: title: input should be a valid string"),
        ("reviewed:", "reviewd:", "line 4: front matter: unknown key 'reviewd'; did you mean 'reviewed'?"),
        (
            "reviewed:",
            "licence: MIT\nreviewed:",
            "line 4: front matter: unknown key 'licence'; it takes title, summary",
        ),
        ("2026-12\n", "last year\n", "line 4: front matter: reviewed: write the month as YYYY-MM"),
        ("2026-12\n", "2026-13\n", "line 4: front matter: reviewed: write the month as YYYY-MM"),
        ("2026-12\n", "2026-12\ntools: preflight\n", "line 5: front matter: tools: write a list: [a, b]"),
        ("2026-12\n", "2026-12\nmoved: [a]\n", "line 5: front matter: moved: write 'key: value' pairs"),
        ("2026-12\n", "2026-12\ntitle: Again\n", "line 5: front matter: 'title' is given twice; keep one"),
        ("  run:", "  maker:", "line 7: front matter: 'maker' is given twice; keep one"),
        ("    measured", "    meassured", "line 9: front matter: unknown key 'sources.run.meassured'; did you mean"),
        ("    measured", "    url: x\n    measured", "line 7: front matter: sources.run: give either url or measured"),
        (
            ", url: ",
            ", link: ",
            "line 6: front matter: unknown key 'sources.maker.link'; it takes title, url, measured",
        ),
        ("{title: Manual", "{", "line 6: front matter: "),
        (GOOD, "", "line 1: front matter: it is empty; give title, summary, reviewed"),
        (GOOD, "- a\n", "line 1: front matter: write 'key: value' pairs"),
        (GOOD, "a: &a [*a]\n", "line 2: front matter: "),
    ],
)
def test_what_is_wrong_is_told_in_one_line(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(UserError) as caught:
        front.parse(GOOD.replace(old, new, 1), "knowledge/x.md")
    assert str(caught.value).startswith(f"knowledge/x.md: {message}") and "\n" not in str(caught.value)
