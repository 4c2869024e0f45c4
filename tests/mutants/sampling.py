"""A sample of all mutants: by a seed, and spread over the modules in proportion to their lines.

What is drawn from a module depends on the seed and the module alone, so that a change elsewhere leaves it nearly as it
was. Each place is drawn once at most, whatever could be done there: a comparison that can be changed in two ways counts
as much as a number.
"""

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

_Place = TypeVar("_Place")
_Change = TypeVar("_Change")
_Mutant = TypeVar("_Mutant")


def shares(sizes: Mapping[str, int], number: int) -> dict[str, int]:
    """Return how many of `number` each has, in proportion to its size; the largest remainders get what is left."""
    total = sum(sizes.values())
    exact = {name: number * size / total for name, size in sizes.items()}
    whole = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(sizes, key=lambda name: (whole[name] - exact[name], name))
    for name in by_remainder[: number - sum(whole.values())]:
        whole[name] += 1
    return whole


def in_random_order(
    changes: Mapping[_Place, Sequence[_Change]],
    make: Callable[[_Place, _Change], _Mutant | None],
    seed: str,
) -> Iterator[_Mutant]:
    """Yield a mutant for each place that has one.

    Args:
        changes: what can be done where.
        make: makes a mutant; None where a change makes none.
        seed: of the order, and of the change where several can be done.
    """
    chance = random.Random(seed)  # noqa: S311 - a choice that has to be repeatable
    for place in chance.sample(list(changes), len(changes)):
        mutant = make(place, chance.choice(changes[place]))
        if mutant is not None:
            yield mutant


def sample(mutants: Mapping[str, Iterator[_Mutant]], sizes: Mapping[str, int], number: int) -> list[_Mutant]:
    """Return `number` of the mutants, or all if there are fewer.

    Args:
        mutants: of each module, in random order.
        sizes: of each module, its lines.
        number: how many are wanted.
    """
    chosen = [
        mutant
        for name, share in sorted(shares(sizes, number).items())
        for mutant in itertools.islice(mutants[name], share)
    ]
    # What modules without enough places leave goes to the others in turn, the largest first.
    by_size = sorted(mutants, key=lambda name: (-sizes[name], name))
    rest = (mutants[name] for name in by_size)
    return [*chosen, *itertools.islice(_in_turn(rest), number - len(chosen))]


def _in_turn(iterators: Iterator[Iterator[_Mutant]]) -> Iterator[_Mutant]:
    for lot in itertools.zip_longest(*iterators):
        yield from (mutant for mutant in lot if mutant is not None)
