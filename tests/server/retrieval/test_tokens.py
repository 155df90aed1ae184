import pytest

from clusterwright.retrieval import tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NCCL_IB_GID_INDEX", ["ncclibgidindex", "nccl", "ib", "gid", "index"]),
        ("Xid 79", ["xid", "79", "xid79"]),
        ("sm_90", ["sm90", "sm", "90"]),
        ("--gpus-per-node", ["gpuspernod", "gpu", "per", "node"]),
        ("cuda:0", ["cuda0", "cuda", "0"]),
        ("8xH100", ["8x", "h100"]),
        ("8 x H100s", ["8x", "h100"]),
        ("80 GB", ["80", "gb", "80gb"]),
        ("80GB", ["80gb"]),
        ("57,344", ["57344"]),
        ("2.18.3", ["2.18.3"]),
        ("error 0x2d", ["error", "0x2d"]),
        ("GPUDirect", ["gpudirect", "gpu", "direct"]),
        ("bf16", ["bf16"]),
    ],
)
def test_identifiers_are_kept_whole_and_split(text: str, expected: list[str]) -> None:
    assert tokens.terms(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("all-reduce", "allreduce"),
        ("sm_90", "sm90"),
        ("GPUs hanging", "GPU hangs"),
        ("sharded", "sharding"),
        ("memories", "memory"),
        ("caching", "cached"),
        ("running", "runs"),
        ("H100s", "h100"),
        ("Signal 9", "signal #9"),
    ],
)
def test_spellings_of_one_thing_share_a_term(one: str, other: str) -> None:
    assert set(tokens.terms(one)) & set(tokens.terms(other))


@pytest.mark.parametrize("word", ["status", "bus", "loss", "string", "analysis", "ring"])
def test_a_word_that_only_looks_inflected_is_left_alone(word: str) -> None:
    assert tokens.stem(word) == word


def test_stop_words_and_single_letters_are_dropped_but_digits_are_not() -> None:
    assert tokens.terms("Why don't the 8 GPUs of a node use s?") == ["8", "gpu", "node"]


def test_a_number_is_joined_only_with_the_word_right_before_it() -> None:
    assert "len131072" not in tokens.terms("len (131072)")
    assert "the9" not in tokens.terms("the 9")


def test_chinese_becomes_overlapping_pairs() -> None:
    assert tokens.terms("显存不足 NCCL 慢") == ["nccl", "显存", "存不", "不足", "慢"]


def test_an_estimate_counts_chinese_by_character_and_english_by_word_parts() -> None:
    assert tokens.estimate("显存不足") == 4
    assert tokens.estimate("a" * 360) == 100
