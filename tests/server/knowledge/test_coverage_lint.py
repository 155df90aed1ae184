from pathlib import Path

import pytest

from clusterwright.knowledge import coverage_lint

IDS = {"network/links", "network/links#how-fast", "tables/xid#xid-79"}
HEAD = "part,topic,section\n"


def problems(tmp_path: Path, text: str) -> list[tuple[int, str]]:
    (tmp_path / "coverage.csv").write_text(text)
    return list(coverage_lint.lint(tmp_path / "coverage.csv", IDS))


def test_topics_that_sections_and_rows_answer(tmp_path: Path) -> None:
    rows = "network,speed,network/links#how-fast\nnetwork,lost GPU,network/links#how-fast;tables/xid#xid-79\n"
    assert problems(tmp_path, HEAD + rows) == []


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("topic,section\n", 1, "the columns are part, topic, section"),
        (HEAD + "network,speed,network/links#gone\n", 2, "there is no section 'network/links#gone'"),
        (HEAD + "network,speed,network/links\n", 2, "there is no section 'network/links'"),
        (HEAD + "network,speed,\n", 2, "a row has 3 cells, none of them empty"),
        (HEAD + "network,speed,links,and so on\n", 2, "a row has 3 cells"),
        (HEAD + "a,b,network/links#how-fast\na,b,network/links#how-fast\n", 3, "'b' stands twice in a"),
        (HEAD + 'a,"b"x,network/links#how-fast\n', 2, "broken CSV"),
    ],
)
def test_each_kind_of_problem(tmp_path: Path, text: str, line: int, message: str) -> None:
    [(where, found)] = problems(tmp_path, text)
    assert where == line
    assert found.startswith(message)
