"""Looks at groups beyond the first: namespaces share them, whatever one of them asks for."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.reconcile.gather.owners import MOST_FUTILE, MOST_LOGGED, Look, Owners
from heartbeat_tuner.reconcile.liveness.turns import Turns
from tests.support import worlds

counts = st.lists(st.integers(1, 6), min_size=1, max_size=5)


def policies(namespace: str, names: Iterable[int]) -> list[Policy]:
    """Return policies on groups in which nobody sees a member of theirs."""
    return [
        dataclasses.replace(worlds.policy(), key=ObjectKey(namespace, f"policy-{name:06}"), uid=f"{namespace}-{name}")
        for name in names
    ]


def looks(*several: list[Policy]) -> list[Look]:
    """Return one look at each policy's group, which has no members."""
    return [(policy, worlds.workload(), worlds.group(), worlds.NOW) for some in several for policy in some]


def flood(size: int) -> Iterator[list[Policy]]:
    """Yield what a tenant has from cycle to cycle: so many policies, all made again."""
    numbers = itertools.count()
    while True:
        yield policies("aaa", itertools.islice(numbers, size))


@given(counts, st.integers(0, 15), st.integers(1, 20))
async def test_no_namespace_takes_the_looks_of_others(honest: list[int], flooding: int, most: int) -> None:
    """Each gets its share in each cycle, and every policy of it has its turn in a bounded number of them."""
    several = [policies(f"shop-{number}", range(count)) for number, count in enumerate(honest)]
    places = len(several) + 1
    share, cycles = most // places, max(honest) * -(-places // most) + 1
    owners, tenant = Owners({}), flood(flooding)
    waiting = {policy.key for some in several for policy in some}
    for cycle in range(cycles):
        seen = looks(next(tenant), *several)
        chosen = await owners.missing(seen, Turns(), most=most)
        assert len(chosen) <= most
        if cycle < MOST_FUTILE:  # later some have looked in vain for long enough
            held = Counter(policy.key.namespace for policy in chosen)
            assert all(held[some[0].key.namespace] >= min(len(some), share) for some in several)
        waiting -= {policy.key for policy in chosen}
        await owners.seen([policy for policy, *_ in seen], seen, Turns())
    assert not waiting


async def test_who_waits_for_a_turn_has_not_looked_in_vain() -> None:
    """A policy that got no look while others took them all is not given up."""
    owners, some = Owners({}), policies("shop", range(1 + MOST_FUTILE))
    seen = looks(some)
    turns = []
    for _ in range(len(some) * MOST_FUTILE):
        turns += [policy.key for policy in await owners.missing(seen, Turns(), most=1)]
        await owners.seen(some, seen, Turns())
    assert Counter(turns) == dict.fromkeys((policy.key for policy in some), MOST_FUTILE)
    assert await owners.missing(seen, Turns(), most=1) == []


async def test_looks_of_one_cycle_go_to_the_same_policies() -> None:
    """A member of a storm is seen in one look of five: to take turns between them would find nobody."""
    owners, some = Owners({}), policies("shop", range(4))
    seen = looks(some)
    first, again = [[policy.key for policy in await owners.missing(seen, Turns(), most=2)] for _ in range(2)]
    assert first == again
    await owners.seen(some, seen, Turns())
    assert {policy.key for policy in await owners.missing(seen, Turns(), most=2)}.isdisjoint(first)


@pytest.mark.parametrize(("count", "lines"), [(MOST_LOGGED, MOST_LOGGED), (MOST_LOGGED + 1, 1)])
async def test_the_log_says_why_in_one_line_where_it_is_new_of_very_many(count: int, lines: int) -> None:
    """A new leader of ten thousand policies would write as many lines; what is not new has none."""
    owners, some = Owners({}), policies("shop", range(count))
    with capture_logs() as logged:
        await owners.seen(some, looks(some), Turns())
        await owners.seen(some, looks(some), Turns())
    assert len(logged) == lines
    named = [logged[0]["policies"]] if lines == 1 else [line["policy"] for line in logged]
    assert str(some[0].key) in named or str(some[0].key) in named[0]
