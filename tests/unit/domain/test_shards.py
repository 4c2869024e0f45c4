"""The shard of a namespace, and the parts of what the whole fleet shares."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.shards import MOST_SHARDS, WHOLE, Shard, everywhere, shard_of

NAMESPACES = [f"team-{number}" for number in range(3_000)]
COUNTS = st.integers(1, MOST_SHARDS)
NAMES = st.text(min_size=1, max_size=63)


def test_the_shard_of_a_namespace_is_the_same_for_ever() -> None:
    """Replicas agree without asking, also those of another release: these were written down once."""
    found = {
        name: [shard_of(name, shards) for shards in (1, 2, 3, 8)] for name in ("shop", "orders", "stock", "team-1")
    }
    assert found == {"shop": [0, 0, 0, 0], "orders": [0, 1, 1, 1], "stock": [0, 1, 2, 2], "team-1": [0, 1, 1, 4]}


@given(NAMES, COUNTS)
def test_every_namespace_has_one_shard(namespace: str, shards: int) -> None:
    """Whatever it is called."""
    assert [number for number in range(shards) if Shard(number, shards).holds(namespace)] == [
        shard_of(namespace, shards)
    ]


@given(NAMES, st.integers(1, MOST_SHARDS - 1))
def test_with_a_shard_more_namespaces_move_only_to_the_new_one(namespace: str, shards: int) -> None:
    """None changes places between two that were there before."""
    assert shard_of(namespace, shards + 1) in {shard_of(namespace, shards), shards}


@pytest.mark.parametrize("shards", [2, 3, 8])
def test_shards_are_balanced_and_few_namespaces_move(shards: int) -> None:
    """Each has its part, within a tenth or two; one shard more takes its part and no more."""
    counts = Counter(shard_of(name, shards) for name in NAMESPACES)
    fair = len(NAMESPACES) / shards
    assert len(counts) == shards
    assert all(0.8 * fair < count < 1.2 * fair for count in counts.values())
    moved = sum(1 for name in NAMESPACES if shard_of(name, shards + 1) != shard_of(name, shards))
    assert 0.8 * len(NAMESPACES) / (shards + 1) < moved < 1.2 * len(NAMESPACES) / (shards + 1)


@given(st.integers(0, 10_000), COUNTS)
def test_the_parts_of_a_limit_are_the_limit(limit: int, shards: int) -> None:
    """Never a rollout more in all, and none has two more than another."""
    parts = [Shard(number, shards).rollouts(limit) for number in range(shards)]
    assert sum(parts) == limit
    assert max(parts) - min(parts) <= 1


def test_the_parts_of_a_budget_are_equal() -> None:
    """Of heartbeats a second."""
    assert [Shard(number, 4).per_s(500.0) for number in range(4)] == [125.0] * 4


def test_the_fleet_undivided_is_everything() -> None:
    """Without shards all is as ever."""
    assert all(WHOLE.holds(name) and everywhere(name) for name in NAMESPACES)
    assert (WHOLE.rollouts(5), WHOLE.per_s(500.0)) == (5, 500.0)
    assert str(Shard(1, 3)) == "shard 1 of 3"
