"""Samples are the same for the same seed, and spread over the modules."""

import functools
from collections import Counter

from tests.mutants.sampling import in_random_order, sample, shares

SIZES = {"large": 600, "middle": 300, "small": 100}


def drawn(number: int, seed: int, *, of_large: int = 500) -> list[str]:
    """Return a sample of places, each of which has two changes; every tenth change makes no program."""
    places = {"large": of_large, "middle": 250, "small": 80}

    def make(name: str, place: int, change: str) -> str | None:
        return None if place % 10 == 0 else f"{name} {place} {change}"

    mutants = {
        name: in_random_order(
            {place: ["a", "b"] for place in range(count)},
            functools.partial(make, name),
            f"{seed} {name}",
        )
        for name, count in places.items()
    }
    return sample(mutants, SIZES, number)


def test_a_seed_always_gives_the_same_sample() -> None:
    """Another one another."""
    assert drawn(50, 22) == drawn(50, 22)
    assert drawn(50, 22) != drawn(50, 23)


def test_a_sample_is_spread_in_proportion_to_lines() -> None:
    """And no place is changed twice."""
    sampled = drawn(50, 22)
    assert Counter(mutant.split()[0] for mutant in sampled) == {"large": 30, "middle": 15, "small": 5}
    assert len({mutant.rsplit(" ", 1)[0] for mutant in sampled}) == 50


def test_what_a_module_lacks_is_drawn_from_the_others() -> None:
    """Until there is nothing left."""
    assert Counter(mutant.split()[0] for mutant in drawn(50, 22, of_large=10)) == {
        "large": 9,
        "middle": 26,
        "small": 15,
    }
    assert len(drawn(5_000, 22)) == 450 + 225 + 72


def test_a_change_in_a_module_leaves_the_others_as_they_were() -> None:
    """Two measurements of nearly the same code are compared on nearly the same mutants."""
    others = [[mutant for mutant in drawn(50, 22, of_large=size) if "large" not in mutant] for size in (500, 400)]
    assert others[0] == others[1]


def test_shares_add_up() -> None:
    """The largest remainders get what is left."""
    assert shares({"a": 10, "b": 10, "c": 10}, 10) == {"a": 4, "b": 3, "c": 3}
    assert shares({"a": 1, "b": 7}, 3) == {"a": 0, "b": 3}
