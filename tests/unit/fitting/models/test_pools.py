"""Which groups tell each other how often members are absent: those with one habit, and never those that were lucky."""

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from heartbeat_tuner.fitting import contract
from heartbeat_tuner.fitting.models import model_estimate
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS, MEMBER_BLOCKS
from heartbeat_tuner.tails.histogram import bucket_of
from heartbeat_tuner.tails.pool import Pool

TODAY = date(2026, 3, 1)
DAYS = 10


def pools(values_of: dict[str, dict[float, int]]) -> dict[str, Pool | None]:
    """Return the pool of each group of ten members that was watched for ten days."""
    lines = [
        (TODAY, "main", "shop", name, "java", "absence", bucket, count)
        for name, values in values_of.items()
        for bucket, count in [
            (MEMBER_BLOCKS, 10 * DAYS * 960),
            (GROUP_BLOCKS, DAYS * 960),
            *((int(bucket_of(value_s)), count) for value_s, count in values.items()),
        ]
    ]
    columns = dict(zip(contract.ROWS.names, zip(*lines, strict=True), strict=True))
    table = pa.table(columns, schema=contract.ROWS)
    found = model_estimate.models(table, on=TODAY, fitted_at=datetime(2026, 3, 2, tzinfo=UTC), job="fit")
    return {model.group: model.quantities["absence"].pool for model in found}


def test_groups_that_saw_no_absence_are_no_kind_of_their_own() -> None:
    """They were taken for groups whose absences are short, and a pool of groups chosen so says that there are none.

    Heartbeats alone show nothing below a period.
    """
    seen = {f"seen-{number}": {8.0: 2, 12.0: 1} for number in range(6)}
    none = {f"none-{number}": dict[float, int]() for number in range(6)}
    found = pools(seen | none)
    assert found["none-0"] == found["seen-0"]
    pool = found["none-0"]
    assert pool is not None
    assert pool.groups == 12
    assert pool.per_day[0] * pool.days == pytest.approx(18.0, rel=0.3)


def test_groups_whose_short_absences_show_stay_apart_by_how_long_these_are() -> None:
    """And from those of which nothing short shows."""
    quick = {f"quick-{number}": {0.2: 2_000, 8.0: 2} for number in range(6)}
    slow = {f"slow-{number}": {0.2: 100, 1.5: 900, 8.0: 2} for number in range(6)}
    hidden = {f"hidden-{number}": {8.0: 2} for number in range(6)}
    found = pools(quick | slow | hidden)
    assert {name: None if pool is None else pool.groups for name, pool in found.items()} == dict.fromkeys(found, 6)


def test_a_few_groups_of_one_habit_know_what_all_of_their_library_saw() -> None:
    """Four are too few for a kind."""
    quick = {f"quick-{number}": {0.2: 2_000, 8.0: 2} for number in range(6)}
    hidden = {f"hidden-{number}": {8.0: 2} for number in range(4)}
    pool = pools(quick | hidden)["hidden-0"]
    assert pool is not None
    assert pool.groups == 10
