import itertools

import pytest

from clusterwright_tools.pairs import Diagnosis, Tried, diagnose, schedule, slow, tournament

HOSTS = {rank: f"n{rank // 4}" for rank in range(12)}


def every(ranks):
    return list(itertools.combinations(ranks, 2))


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 9])
def test_a_tournament_has_every_pair_once_and_nobody_twice_in_a_round(count):
    rounds = tournament(range(count))
    assert sorted(pair for one in rounds for pair in one) == every(range(count))
    assert len(rounds) == count - 1 + count % 2
    for one in rounds:
        playing = [rank for pair in one for rank in pair]
        assert len(playing) == len(set(playing)) == count - count % 2


def test_few_ranks_try_every_pair():
    rounds = schedule([[0, 1, 2, 3], [4, 5, 6, 7]], 16)
    assert sorted(pair for one in rounds for pair in one) == every(range(8))


def test_many_ranks_try_pairs_within_nodes_and_every_pair_of_nodes():
    nodes = [[8 * node + place for place in range(8)] for node in range(4)]
    rounds = schedule(nodes, 10)
    assert len(rounds) == 10
    for one in rounds:
        playing = [rank for pair in one for rank in pair]
        assert len(playing) == len(set(playing))
    pairs = {pair for one in rounds for pair in one}
    assert len(pairs) == sum(len(one) for one in rounds)
    across = {(a // 8, b // 8) for a, b in pairs if a // 8 != b // 8}
    assert across == set(every(range(4)))
    assert len([pair for pair in pairs if pair[0] // 8 == pair[1] // 8]) == 5 * 4 * 4


def test_a_node_with_fewer_ranks_has_no_rank_twice_in_a_round():
    for one in schedule([[0, 1, 2, 3], [4, 5], [6, 7, 8, 9]], 4):
        playing = [rank for pair in one for rank in pair]
        assert len(playing) == len(set(playing))


def test_no_rounds_no_pairs():
    assert schedule([[0, 1], [2, 3]], 0) == []


def test_a_rank_whose_every_pair_is_bad_is_blamed_and_not_its_links():
    tried = every(range(4))
    bad = [pair for pair in tried if 2 in pair]
    assert diagnose(bad, tried, HOSTS) == Diagnosis((2,), (), ())


def test_a_single_bad_pair_is_a_link():
    assert diagnose([(1, 3)], every(range(4)), HOSTS) == Diagnosis((), (), ((1, 3),))


def test_two_ranks_alone_cannot_be_told_apart():
    assert diagnose([(0, 1)], [(0, 1)], HOSTS) == Diagnosis((), (), ((0, 1),))


def test_when_everything_is_bad_nobody_is_blamed():
    tried = every(range(3))
    assert diagnose(tried, tried, HOSTS) == Diagnosis((), (), tuple(tried))


def test_a_host_that_reaches_no_other_is_blamed():
    tried = every(range(12))
    bad = [(a, b) for a, b in tried if (HOSTS[a] == "n1") != (HOSTS[b] == "n1")]
    assert diagnose(bad, tried, HOSTS) == Diagnosis((), ("n1",), ())


def test_a_bad_rank_and_a_bad_link_are_kept_apart():
    tried = every(range(8))
    bad = [pair for pair in tried if 5 in pair] + [(0, 7)]
    assert diagnose(bad, tried, HOSTS) == Diagnosis((5,), (), ((0, 7),))


def test_slow_pairs_are_judged_among_their_kind():
    tried = [Tried(pair, 1.0 if HOSTS[pair[0]] == HOSTS[pair[1]] else 5.0) for pair in every(range(8))]
    assert slow(tried, HOSTS, 2.0) == {}
    tried[0] = Tried((0, 1), 3.0)
    assert slow(tried, HOSTS, 2.0) == {(0, 1): 3.0}
    assert slow([Tried((0, 1), 1.0), Tried((0, 2), 9.0)], HOSTS, 2.0) == {}
