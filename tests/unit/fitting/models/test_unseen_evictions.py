"""How many evictions there were where descriptions missed some, and what programs that reopen consumers change."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.fitting import contract
from heartbeat_tuner.fitting.models import model_estimate, unseen_evictions
from heartbeat_tuner.metrics.measured import EVICTION, UNSEEN_REJOIN
from heartbeat_tuner.models.group_model import GroupModel
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS, MEMBER_BLOCKS

DAY = date(2026, 3, 1)
BLOCKS = 960
COUNTS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 400), st.integers(0, 2)), min_size=1, max_size=30)


def with_unseen(
    certain: Sequence[float], unseen: Sequence[float], *, homes: Sequence[int] | None = None
) -> tuple[list[float], list[float]]:
    """Return events and the known share of groups whose unseen ids are counted."""
    numbers = np.zeros(len(certain), dtype=np.int64) if homes is None else np.array(homes)
    events, share = unseen_evictions.with_unseen(np.array(certain), np.array(unseen), numbers >= 0, numbers)
    return events.tolist(), share.tolist()


def test_unseen_ids_in_proportion_to_certain_evictions_are_evictions() -> None:
    """Whatever the share is that descriptions catch: here a half, where 0.8 is believed of a fleet that nobody saw."""
    certain = [2.0, 4.0, 8.0, 16.0, 30.0, 60.0, 90.0, 120.0]
    events, share = with_unseen(certain, certain)
    assert events == [2 * count for count in certain]
    assert share == [1.0] * len(certain)


def test_a_program_that_reopens_its_consumers_has_no_more_evictions() -> None:
    """Its certain ones count, over the share that the others tell: about 0.8."""
    certain, unseen = [10.0, 20.0, 40.0, 80.0, 10.0], [2.0, 5.0, 10.0, 20.0, 300.0]
    events, share = with_unseen(certain, unseen)
    assert events == [12.0, 25.0, 50.0, 100.0, 10.0]
    assert share[:4] == [1.0] * 4
    assert share[4] == pytest.approx(0.8, abs=0.02)


def test_a_single_group_is_believed_to_be_caught_as_usual() -> None:
    """A few unseen ids are explained by that, and hundreds are not."""
    assert with_unseen([10.0], [4.0]) == ([14.0], [1.0])
    events, share = with_unseen([10.0], [400.0])
    assert events == [10.0]
    assert share == [pytest.approx(0.8)]


def test_groups_that_reopen_hundreds_of_times_for_each_eviction_are_no_evictions() -> None:
    """However many of them there are in a namespace."""
    events, share = with_unseen([1.0] * 6, [500.0] * 6)
    assert events == [1.0] * 6
    assert min(share) >= 1.0 / 11.0


def test_where_nobody_was_certainly_evicted_rare_reopenings_are_no_evictions() -> None:
    """However many groups of a namespace have a few of them: no share is known that would make a rate of that."""
    events, share = with_unseen([0.0] * 50, [1.0] * 48 + [0.0, 9.0])
    assert events == [0.0] * 50
    assert share == [0.8] * 48 + [1.0, 0.8]
    assert with_unseen([0.0, 0.0], [1.0, 0.0]) == ([0.0, 0.0], [0.8, 1.0])


def test_groups_with_rare_reopenings_alone_tell_nothing_of_the_share() -> None:
    """One certain eviction in the namespace changes nothing about that; what the others show stays as it is."""
    busy = ([20.0, 30.0, 1.0], [5.0, 7.0, 0.0])
    events, share = with_unseen([*busy[0], *[0.0] * 51], [*busy[1], 0.0, *[1.0] * 50])
    assert events == [25.0, 37.0, 1.0, *[0.0] * 51]
    assert share[:4] == [1.0] * 4
    assert share[4:] == [pytest.approx((51 + 8) / (63 + 10))] * 50
    alone, _ = with_unseen(*busy)
    assert alone == events[:3]


def test_an_unseen_id_where_nothing_is_certain_may_be_an_eviction() -> None:
    """If the share explains how many groups have one, and no more than may have been missed of a single one."""
    certain = [20.0, 30.0, *[1.0] * 8, *[0.0] * 4]
    unseen = [5.0, 7.0, *[0.0] * 8, 1.0, 1.0, 0.0, 9.0]
    events, share = with_unseen(certain, unseen)
    assert events == [25.0, 37.0, *[1.0] * 10, 0.0, 0.0]
    assert share[:-1] == [1.0] * 13
    assert share[-1] == pytest.approx((58 + 8) / (70 + 10))


def test_programs_of_another_namespace_change_nothing() -> None:
    """Whoever may make consumers again in one of them moves no rate of another."""
    own = ([10.0, 20.0, 40.0], [3.0, 5.0, 9.0])
    alone, _ = with_unseen(*own)
    both, _ = with_unseen([*own[0], *[5.0] * 50], [*own[1], *[500.0] * 50], homes=[0] * 3 + [1] * 50)
    assert both[:3] == alone


@given(COUNTS)
def test_no_eviction_is_taken_away_and_none_invented(counts: list[tuple[int, int, int]]) -> None:
    """Events lie between the certain ones and all new ids; without unseen ones nothing changes."""
    certain, unseen, homes = (list(column) for column in zip(*counts, strict=True))
    events, share = with_unseen(certain, unseen, homes=homes)
    for count, more, event, known in zip(certain, unseen, events, share, strict=True):
        assert count <= event <= count + more
        assert 0.0 < known <= 1.0
    plain, whole = with_unseen(certain, [0.0] * len(certain), homes=homes)
    assert plain == certain
    assert whole == [1.0] * len(certain)


def fitted(
    *rows: tuple[str, str, int, int], elsewhere: Sequence[tuple[str, str, int, int]] = ()
) -> dict[str, GroupModel]:
    """Return the models of a day, from group, quantity, bucket and count, at one cluster and at another."""
    columns = [
        {"day": DAY, "cluster": cluster, "namespace": "shop", "client": "sarama"}
        | dict(zip(("group", "quantity", "bucket", "n"), row, strict=True))
        for cluster, some in (("main", rows), ("elsewhere", elsewhere))
        for row in some
    ]
    table = contract.merged(pa.Table.from_pylist(columns, schema=contract.ROWS))
    models = model_estimate.models(table, on=DAY, fitted_at=datetime(2026, 3, 2, tzinfo=UTC), job="test")
    return {model.group: model for model in models}


def watched(group: str, quantity: str, count: int, *, blocks: int = BLOCKS) -> list[tuple[str, str, int, int]]:
    """Return rows of a quantity's events, all in one bucket, and for how long they were watched."""
    rows = [(group, quantity, MEMBER_BLOCKS, blocks), (group, quantity, GROUP_BLOCKS, blocks)]
    return [*rows, (group, quantity, 100, count)] if count else rows


def test_a_models_rate_has_what_descriptions_missed() -> None:
    """Its number of values has not, and unseen ids have no model of their own."""
    plain = fitted(*watched("orders", EVICTION, 40))["orders"]
    both = fitted(*watched("orders", EVICTION, 40), *watched("orders", UNSEEN_REJOIN, 10))["orders"]
    assert set(both.quantities) == {EVICTION}
    rates = [model.quantities[EVICTION].rate for model in (plain, both)]
    assert rates[0] is not None
    assert rates[1] is not None
    assert rates[1].mean / rates[0].mean == pytest.approx(1.25, abs=0.01)
    assert both.quantities[EVICTION].values == plain.quantities[EVICTION].values == 40


def test_unseen_ids_of_part_of_the_time_are_left_alone() -> None:
    """An older operator did not count them: its days would tell that nothing is missed."""
    certain = [*watched("orders", EVICTION, 40), *watched("java", EVICTION, 7)]
    part = fitted(*certain, *watched("orders", UNSEEN_REJOIN, 10, blocks=BLOCKS // 2))
    assert part == fitted(*certain)


def test_descriptions_of_one_cluster_say_nothing_of_those_of_another() -> None:
    """A namespace may have groups at several, and one of them may be described more rarely."""
    often, rarely = (
        [
            row
            for number in range(4)
            for quantity, count in ((EVICTION, 40), (UNSEEN_REJOIN, missed))
            for row in watched(f"{name}-{number}", quantity, count)
        ]
        for name, missed in (("often", 0), ("rarely", 40))
    )
    both, alone = fitted(*often, elsewhere=rarely), fitted(*rarely)
    models = [models["rarely-0"].quantities[EVICTION].rate for models in (both, alone)]
    assert models[0] is not None
    assert models[1] is not None
    assert models[0].mean == pytest.approx(models[1].mean, rel=0.05)
    assert models[0].mean == pytest.approx(80.0, rel=0.05)
