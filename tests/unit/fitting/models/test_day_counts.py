"""What a fit counts of days: evictions among absences, and nothing of a regime that is over."""

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from heartbeat_tuner.fitting import contract
from heartbeat_tuner.fitting.models import model_estimate
from heartbeat_tuner.models.group_model import GroupModel
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS, MEMBER_BLOCKS
from heartbeat_tuner.tails.histogram import bucket_of
from heartbeat_tuner.tails.model import TailModel

LAST = date(2026, 3, 1)
BLOCKS = 960


def rows(days: Mapping[int, Mapping[str, Mapping[float, int]]], client: str) -> pa.Table:
    """Return rows of one group of six members: by the age of a day and the quantity, how many values of which time."""
    lines = [
        (LAST - timedelta(days=age), quantity, bucket, count)
        for age, quantities in days.items()
        for quantity, values in quantities.items()
        for bucket, count in [
            (MEMBER_BLOCKS, 6 * BLOCKS),
            (GROUP_BLOCKS, BLOCKS),
            *((int(bucket_of(value_s)), count) for value_s, count in values.items()),
        ]
    ]
    day, quantity, bucket, n = zip(*lines, strict=True)
    same = {
        name: [text] * len(lines) for name, text in (("cluster", "main"), ("namespace", "shop"), ("group", "orders"))
    }
    columns = {"day": day, **same, "client": [client] * len(lines), "quantity": quantity, "bucket": bucket, "n": n}
    return pa.table(columns, schema=contract.ROWS)


def fitted(days: Mapping[int, Mapping[str, Mapping[float, int]]], client: str = "kafkajs") -> GroupModel:
    """Return the model of the group."""
    (model,) = model_estimate.models(rows(days, client), on=LAST, fitted_at=datetime(2026, 3, 2, tzinfo=UTC), job="fit")
    return model


def absences(factor: float = 1.0, seed: int = 0) -> dict[float, int]:
    """Return a day's absences: a few hundred of a second or two, fewer the longer they are."""
    drawn = factor * (1.0 + np.random.default_rng(seed).exponential(1.5, 300))
    return {float(value_s): 1 for value_s in drawn}


def survived(seed: int) -> dict[float, int]:
    """Return a day's absences of twice that length with a session of 12 s, which eleven of three hundred outlast."""
    return {value_s: count for value_s, count in absences(2.0, seed).items() if value_s < 12.0}


def test_evictions_are_absences_whose_end_nobody_saw() -> None:
    """Eleven a day after 12 s: a law of what shows alone would say hardly ever."""
    quiet = fitted({age: {"absence": survived(age)} for age in range(10)})
    evicting = fitted({age: {"absence": survived(age), "eviction": {12.0: 11}} for age in range(10)})
    before, after = (model.quantities["absence"].tail for model in (quiet, evicting))
    assert isinstance(before, TailModel)
    assert isinstance(after, TailModel)
    truth = math.exp(-(30.0 - 2.0) / 3.0)
    assert float(before.exceedance_upper(30.0)[0]) < truth / 10
    assert truth < float(after.exceedance_upper(30.0)[0]) < 100 * truth
    assert evicting.quantities["absence"].values == quiet.quantities["absence"].values + 110
    assert evicting.quantities["absence"].member_days == quiet.quantities["absence"].member_days
    rate = evicting.quantities["eviction"].rate
    assert rate is not None
    assert rate.mean == pytest.approx(11 / 6, rel=0.1)


def test_more_evictions_never_give_a_lighter_tail() -> None:
    """Of one a week, a day, thirty a day."""
    uppers = []
    for evictions in (0, 1, 10, 30):
        days = {
            age: {"absence": survived(age), "eviction": {12.0: evictions} if evictions else {}} for age in range(10)
        }
        tail = fitted(days).quantities["absence"].tail
        assert isinstance(tail, TailModel)
        per_day = fitted(days).quantities["absence"].per_day
        uppers.append(per_day * float(tail.exceedance_upper(max(13.0, tail.threshold_s))[0]))
    assert uppers == sorted(uppers)


@pytest.mark.parametrize("bad_days", [2, 4])
def test_days_before_a_worse_regime_do_not_count(bad_days: int) -> None:
    """Absences three times as long: of the ten days before neither the values nor the time are left."""
    days = {age: {"absence": absences(3.0 if age < bad_days else 1.0, seed=age)} for age in range(bad_days + 10)}
    model = fitted(days).quantities["absence"]
    assert model.regime_since == LAST - timedelta(days=bad_days - 1)
    assert model.values == 300 * bad_days
    assert model.group_days == pytest.approx(bad_days)
    alone = fitted({age: day for age, day in days.items() if age < bad_days}).quantities["absence"]
    assert model.tail == alone.tail


def test_without_a_change_nothing_is_forgotten() -> None:
    """Nor of a group that became better."""
    for factor in (1.0, 0.3):
        days = {age: {"absence": absences(factor if age < 3 else 1.0, seed=age)} for age in range(13)}
        model = fitted(days).quantities["absence"]
        assert model.regime_since is None
        assert model.group_days == pytest.approx(13.0)


def test_evictions_count_in_the_pool_beyond_what_they_outlasted() -> None:
    """A hundred absences that were cut off at 25 s were longer, and many of them longer than 32 s."""
    pool = (
        fitted({age: {"absence": absences(seed=age), "eviction": {25.0: 10}} for age in range(10)}, "java")
        .quantities["absence"]
        .pool
    )
    assert pool is not None
    per_day = dict(zip(pool.times_s, pool.per_day, strict=True))
    at_32_s = min(per_day, key=lambda time_s: abs(time_s - 32.0))
    assert 40.0 < per_day[at_32_s] * pool.days < 80.0


@pytest.mark.parametrize(("counted_days", "hides"), [(0, True), (1, True), (10, False)])
def test_who_was_watched_for_evictions_all_the_time_hides_nothing(counted_days: int, *, hides: bool) -> None:
    """The days before they were counted may have had any: none counted on one day says nothing of nine others."""
    days = {
        age: {"absence": absences(seed=age)} | ({"eviction": {}} if age < counted_days else {}) for age in range(10)
    }
    pool = fitted(days, "java").quantities["absence"].pool
    assert pool is not None
    assert (pool.hides_from_s is not None) is hides


def test_handlers_that_heartbeats_wait_for_are_each_groups_own() -> None:
    """What others' handlers take made a law of quick ones fifty times too heavy; unseen evictions still need others."""
    days = {age: {"absence": absences(seed=age)} for age in range(10)}
    counted = {age: quantities | {"eviction": {25.0: 1}} for age, quantities in days.items()}
    assert fitted(counted).quantities["absence"].pool is None
    assert fitted(counted, "java").quantities["absence"].pool is not None
    assert fitted(days).quantities["absence"].pool is not None


def test_absences_of_one_day_may_be_one_event() -> None:
    """Six members were absent together on two of ten days: as many in all as one a day, and a sixth as many events."""
    together = {age: {"absence": {0.5: 100} | ({20.0: 6} if age in {2, 7} else {})} for age in range(10)}
    single = {age: {"absence": {0.5: 100} | ({20.0: 1} if age else {20.0: 3})} for age in range(10)}
    clumped, spread = (fitted(days, "java").quantities["absence"].pool for days in (together, single))
    assert clumped is not None
    assert spread is not None
    assert clumped.per_day[0] == spread.per_day[0]
    assert clumped.clumps is not None
    assert spread.clumps is not None
    assert spread.clumps[0] == 1.0
    assert clumped.clumps[0] > 2.5
