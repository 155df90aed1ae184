from clusterwright.retrieval.passages import passage

TEXT = """The codes say what to do.

| code | meaning |
| --- | --- |
| 79 | fell off the bus |
| 63 | row remapping |
| 94 | contained error |

Run this:

```bash
dcgmi diag -r 1

dcgmi health --check
```

- drain the node
- replace the riser
- call the vendor

Nothing else is needed."""


def test_rows_that_match_come_with_the_head_of_their_table() -> None:
    table = "| code | meaning |\n| --- | --- |\n| 63 | row remapping |\n| 94 | contained error |"
    assert passage(TEXT, {"63": 2.0, "94": 1.0}, 1000) == f"The codes say what to do.\n\n{table}"


def test_the_best_rows_are_kept_in_the_order_of_the_table() -> None:
    assert "| 79 |" not in passage(TEXT, {"63": 1.0, "94": 2.0, "79": 0.5}, 35)
    assert passage(TEXT, {"63": 1.0, "94": 2.0}, 35).index("| 63 |") < passage(TEXT, {"63": 1.0, "94": 2.0}, 35).index(
        "| 94 |"
    )


def test_a_fence_is_kept_whole_or_left_out() -> None:
    assert passage(TEXT, {"dcgmi": 1.0}, 1000).endswith("```bash\ndcgmi diag -r 1\n\ndcgmi health --check\n```")
    assert "```" not in passage(TEXT, {"dcgmi": 1.0}, 15)


def test_items_that_follow_each_other_stay_one_list() -> None:
    assert passage(TEXT, {"drain": 1.0, "riser": 1.0}, 1000).endswith("\n\n- drain the node\n- replace the riser")


def test_where_nothing_matches_it_is_the_beginning() -> None:
    assert passage(TEXT, {}, 1000) == TEXT
    assert (
        passage(TEXT, {"unknown": 1.0}, 25)
        == "The codes say what to do.\n\n| code | meaning |\n| --- | --- |\n| 79 | fell off the bus |"
    )
