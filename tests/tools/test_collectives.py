import json
from fractions import Fraction

import pytest
import torch

from clusterwright_tools.collectives import (
    DTYPES,
    OPS,
    Collective,
    Values,
    copied,
    elements,
    factor,
    fill,
    memory,
    wrong,
)

WORLD = """
import json
from clusterwright_tools import distributed
from clusterwright_tools.collectives import DTYPES, OPS, Collective
launch = distributed.launcher()
with distributed.join(launch, "gloo", "cpu", hello={"host": "h"}, deadline=20, patience=20) as world:
    assert world.step("connect", lambda: world.connect(20), 20).fine
    bad = {}
    for op in OPS:
        for dtype in DTYPES:
            one = Collective(op, dtype, "cpu", tuple(range(world.size)), world.rank, 3000)
            one.poison()
            one.refill()
            before = one.wrong()
            one.run()
            first = one.wrong()
            one.refill()
            one.run()
            bad[f"{op} {dtype}"] = [before, first, one.wrong()]
    print(json.dumps(bad))
"""


def test_every_collective_gives_what_it_must_and_nothing_else_does(worlds):
    ranks = worlds.start(size=3, script=WORLD)
    assert [one.wait() for one in ranks] == [0, 0, 0]
    for rank, one in enumerate(ranks):
        bad = json.loads(one.stdout)
        assert len(bad) == len(OPS) * len(DTYPES)
        for name, (before, first, again) in bad.items():
            assert first == again == 0, (rank, name)
            # The root of a broadcast has its result from the start.
            assert before > 0 or (rank == 0 and name.startswith("broadcast")), (rank, name)


@pytest.mark.parametrize(
    ("op", "size", "expected"),
    [
        ("all_reduce", 2, Fraction(1)),
        ("all_reduce", 8, Fraction(7, 4)),
        ("all_gather", 8, Fraction(7, 8)),
        ("reduce_scatter", 4, Fraction(3, 4)),
        ("all_to_all", 16, Fraction(15, 16)),
        ("broadcast", 8, Fraction(1)),
        ("send_recv", 8, Fraction(1)),
    ],
)
def test_bus_bandwidth_factors(op, size, expected):
    assert factor(op, size) == expected


@pytest.mark.parametrize(
    ("op", "nbytes", "dtype", "size", "expected"),
    [
        ("all_reduce", 1024, "float32", 3, 256),
        ("all_reduce", 1, "float32", 3, 1),
        ("all_gather", 1024, "bfloat16", 4, 512),
        ("all_gather", 1000, "bfloat16", 4, 480),
        ("all_to_all", 8, "float32", 8, 32),
        ("reduce_scatter", 100, "float32", 3, 24),
    ],
)
def test_parts_are_whole_and_aligned(op, nbytes, dtype, size, expected):
    assert elements(op, nbytes, dtype, size) == expected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [2, 3, 8, 64, 300, 1024, 5000])
def test_sums_are_exact_in_the_dtype_in_any_order(dtype, size):
    values = Values.exact(dtype, size)
    total = torch.zeros(values.period, dtype=getattr(torch, dtype))
    for rank in range(size):
        total += torch.tensor(values.of(rank), dtype=total.dtype)
    assert total.tolist() == values.total(size)
    assert any(values.total(size))


def test_values_differ_between_neighbours_so_that_a_swap_is_seen():
    values = Values.exact("bfloat16", 8)
    assert values.of(0) != values.of(1)
    assert values.total(8, 5) == values.total(8)[5:] + values.total(8)[:5]


@pytest.mark.parametrize("count", [1, 250, 251, 252, 1000])
def test_each_wrong_element_is_counted(count):
    tensor = torch.empty(count, dtype=torch.bfloat16)
    fill(tensor, copied(3))
    assert tensor[0] == 3
    assert wrong(tensor, copied(3)) == 0
    tensor[count - 1] += 1
    tensor[0] = float("nan")
    assert wrong(tensor, copied(3)) == (1 if count == 1 else 2)
    assert wrong(tensor, copied(9)) == count


def test_a_corrupted_result_is_found_on_the_rank_that_has_it():
    one = Collective("all_reduce", "float32", "cpu", (0, 1), 1, 4096)
    fill(one.output, Values.exact("float32", 2).total(2))
    assert one.wrong() == 0
    one.output.view(torch.int32)[77] ^= 1 << 20
    assert one.wrong() == 1


def test_a_block_from_the_wrong_sender_is_found():
    one = Collective("all_gather", "float32", "cpu", (0, 1), 0, 4096)
    for sender, part in enumerate(one.output.chunk(2)):
        fill(part, copied(sender))
    assert one.wrong() == 0
    fill(one.output.chunk(2)[1], copied(0))
    assert one.wrong() == 512


@pytest.mark.parametrize("op", OPS)
def test_memory_is_what_the_buffers_take(op):
    one = Collective(op, "float32", "cpu", tuple(range(4)), 0, 1 << 16)
    buffers = {id(tensor): tensor.nbytes for tensor in (one.input, one.output)}
    assert sum(buffers.values()) == memory(op, 1 << 16, 4)
