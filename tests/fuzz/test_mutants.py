from __future__ import annotations

from tests.fuzz.mutants import Breeder, every_code, every_cut, request

TEMPLATES = [request(105, 1, {"topic": "T"}), request(310, 2, {"b": "T", "e": "0"}, b"body")]
CODES = [10, 11, 105, 310]


def test_the_same_seed_breeds_the_same_mutants() -> None:
    first, second, other = (Breeder(seed, TEMPLATES, CODES) for seed in (1, 1, 2))
    mine = [(first.soft(), first.hard()) for _ in range(200)]
    assert mine == [(second.soft(), second.hard()) for _ in range(200)]
    assert mine != [(other.soft(), other.hard()) for _ in range(200)]


def test_every_kind_is_bred() -> None:
    breeder = Breeder(1, TEMPLATES, CODES)
    assert len({breeder.hard().kind for _ in range(1000)}) == 13
    assert len({breeder.soft().kind for _ in range(1000)}) == 7


def test_soft_mutants_are_whole_frames() -> None:
    breeder = Breeder(3, TEMPLATES, CODES)
    for _ in range(500):
        data = breeder.soft().data
        assert int.from_bytes(data[:4], "big") == len(data) - 4


def test_cuts_and_codes_leave_nothing_out() -> None:
    good = TEMPLATES[1]
    assert [len(mutant.data) for mutant in every_cut(good)] == list(range(1, len(good)))
    assert sum(1 for _ in every_code()) == 65536
