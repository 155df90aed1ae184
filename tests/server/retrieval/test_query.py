import pytest

from clusterwright.errors import UserError
from clusterwright.retrieval import query

GLOSSARY = (
    {
        "term": "OOM",
        "aliases": "out of memory;CUDA OOM",
        "expands_to": "allocator;memory usage",
        "chinese": "显存不足;爆显存",
    },
    {"term": "MFU", "aliases": "model FLOPs utilization", "expands_to": "throughput", "chinese": ""},
)


@pytest.fixture(autouse=True)
def glossary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterwright_tools.tables.rows", lambda name: GLOSSARY)
    query._glossary.cache_clear()


@pytest.fixture(autouse=True, scope="module")
def forget() -> object:
    yield
    query._glossary.cache_clear()


def test_a_term_of_the_trade_is_expanded_apart_from_the_words_typed() -> None:
    asked = query.understand("OOM at step 3")
    assert "oom" in asked.terms
    assert {"memory", "allocator"} <= set(asked.expansion)
    assert not set(asked.terms) & set(asked.expansion)


def test_an_alias_is_found_as_a_phrase_only() -> None:
    assert "throughput" in query.understand("what model flops utilization is good").expansion
    assert query.understand("which model has good utilization").expansion == ()


def test_chinese_terms_are_looked_up_in_english() -> None:
    asked = query.understand("训练时显存不足怎么办")
    assert "oom" in asked.terms
    assert asked.text.endswith("OOM")


def test_a_model_that_reads_english_is_not_given_chinese() -> None:
    asked = query.understand("NCCL 初始化 timeout 怎么办")
    assert asked.english == "NCCL timeout"
    assert query.understand("怎么办").english == "怎么办"


def test_a_kernel_line_with_an_xid_is_the_xid() -> None:
    line = "[Tue Dec  1 10:00:00 2026] NVRM: Xid (PCI:0000:65:00): 79, pid='<unknown>', GPU has fallen off the bus."
    asked = query.understand(line)
    assert "xid79" in asked.terms
    assert not {"0000", "65", "2026"} & set(asked.terms)


@pytest.mark.parametrize(
    "noise",
    [
        "2026-12-01T10:31:07.123Z",
        "2026-12-01 10:31:07,123",
        "Dec  1 10:31:07",
        "10.148.3.247:56821",
        "10.148.3.247<56821>",
        "0x7f3a5c0012ab",
        "GPU-4f1c9d2e-1111-2222-3333-444455556666",
        "0000:65:00.0",
        "[12345.678901]",
    ],
)
def test_what_differs_from_run_to_run_is_stripped(noise: str) -> None:
    assert query.condense(f"{noise} connection refused").replace("GPU-", "").strip() == "connection refused"


def test_a_path_is_reduced_to_its_file() -> None:
    assert query.condense('File "/home/me/venv/lib/python3.11/site-packages/torch/cuda.py"') == 'File "cuda.py"'


def test_of_a_long_paste_the_question_and_the_lines_of_trouble_are_kept() -> None:
    chatter = [
        f"2026-12-01 10:00:{n:02d} step {n} loss 2.{n} tokens per second 1000 and more words here" for n in range(40)
    ]
    pasted = "\n".join(["my job dies, why?", *chatter, "RuntimeError: NCCL communicator was aborted", *chatter, "end"])
    kept = query.condense(pasted)
    assert kept.startswith("my job dies, why?")
    assert "NCCL communicator was aborted" in kept
    assert len(kept.split()) <= 110
    assert kept.count("loss") <= 8


def test_lines_that_differ_in_numbers_only_count_once() -> None:
    assert query.condense("rank 1 timed out\nrank 2 timed out\nrank 3 timed out") == "rank 1 timed out"


def test_an_empty_query_is_refused() -> None:
    with pytest.raises(UserError, match="the query is empty"):
        query.understand(" \n ")


def test_a_query_of_noise_alone_is_looked_up_as_it_is() -> None:
    assert query.understand("0x7f3a5c0012ab").text == "0x7f3a5c0012ab"


def test_an_endless_query_is_cut_and_says_so() -> None:
    asked = query.understand("error " * 10_000)
    assert asked.note == "only the first 20,000 characters of the query were read"
