"""What `bench.shards` works with."""

from collections import Counter

import pytest

from bench import shards
from heartbeat_tuner.domain.shards import shard_of


@pytest.mark.parametrize("policies", [100, 500, 1_200])
def test_every_shard_has_as_many_policies(policies: int) -> None:
    """Or replicas would be compared that have more to do than others."""
    chosen = shards.equal_shards(policies, 3)
    counts = Counter(shard_of(subject.namespace, 3) for subject in chosen)
    assert counts == {0: policies, 1: policies, 2: policies}
    assert len(set(chosen)) == len(chosen)
    assert len(shards.equal_shards(policies, 1)) == policies


def test_the_table_has_a_column_for_each_replica() -> None:
    """In the order in which they were measured."""
    table = shards.table_of({"1 shards, replica 0": {"cpu_s": 1.5}, "3 shards, replica 0": {"cpu_s": 2.5}})
    assert table.splitlines()[1].split() == ["cpu_s", "1.5", "2.5"]
