"""Who is asked, and that nobody alone makes the answer."""

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.durations import DAY_S
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.ports.fleet_stops import FleetStop, StopNote
from heartbeat_tuner.reconcile.stopping import fleet_guard
from heartbeat_tuner.reconcile.stopping.fleet_guard import ChangedGroup
from heartbeat_tuner.verification import fleet, references
from heartbeat_tuner.verification.exposure import EVEN, ExposureClock
from heartbeat_tuner.verification.verify import EpisodeCount
from tests.support import worlds

pytestmark = pytest.mark.no_cover  # judges a thousand changes

NOW: Final = worlds.NOW
LANDED: Final = NOW - timedelta(hours=20)
CLOCK: Final = ExposureClock(EVEN, ())
EVERYWHERE: Final = frozenset[str]()
SHOP: Final = frozenset({"shop"})
NOTHING: Final = StopNote()


def group(
    number: int,
    episodes: int = 3,
    *,
    namespace: str = "shop",
    days: float = 14.0,
    per_day: float = 1.0,
    landed: Any = LANDED,
) -> ChangedGroup:
    """Return a group with so many episodes a day before, and so many since it was changed.

    Args:
        number: of the group.
        episodes: since.
        namespace: of it.
        days: of the record before.
        per_day: episodes in it.
        landed: when its values had landed.
    """
    landed_s, now_s = landed.timestamp(), NOW.timestamp()
    since_s = landed_s - days * DAY_S
    record = references.before(np.arange(since_s + 600.0, landed_s - DAY_S, DAY_S / per_day), since_s, landed_s, CLOCK)
    times = np.linspace(landed_s, now_s, episodes + 2)[1:-1]
    counted = EpisodeCount(record, times, CLOCK.days(landed_s, times), CLOCK, landed_s, now_s)
    return ChangedGroup(ObjectKey(namespace, f"g{number}"), ("main", f"{namespace}-g{number}"), landed, counted)


def fleet_of(count: int, episodes: int = 3, *, teams: int = 1) -> list[ChangedGroup]:
    """Return changed groups, spread over namespaces."""
    return [group(number, episodes, namespace=f"team{number % teams}") for number in range(count)]


def stopped(changed: Sequence[ChangedGroup], note: StopNote = NOTHING) -> frozenset[str] | None:
    """Return the namespaces that are stopped, none of them by name if it is all; None if nothing is."""
    stop = fleet_guard.next_stop(note, changed, NOW)
    return None if stop is None else stop.namespaces


@pytest.mark.parametrize("forged", [8, 20, 96])
@pytest.mark.parametrize("others", [1, 9, 99])
def test_one_group_stops_nobody(others: int, forged: int) -> None:
    """Though a mean is as high as its highest part: by the statistics alone it does."""
    quiet = group(0, forged, per_day=1 / 7)
    healthy = [group(number, 1) for number in range(1, others + 1)]
    if forged > 8:
        assert fleet.must_stop([item.counted for item in (quiet, *healthy)])
    assert stopped([quiet, *healthy]) is None


@pytest.mark.parametrize("busy", [1, 10])
def test_busy_groups_hide_nobody_who_forges(busy: int) -> None:
    """They have more episodes beyond what was to be expected, and show less by them."""
    others = [group(number, 85, per_day=96.0) for number in range(1, busy + 1)]
    forging = group(0, 9, per_day=1 / 7)
    assert fleet.must_stop([other.counted for other in (forging, *others)])
    assert all(other.excess > forging.excess for other in others)
    assert stopped([forging, *others]) is None


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from([0.1, 1.0, 5.0])), min_size=1, max_size=12))
def test_whatever_a_tenant_forges_stops_nobody_else(forged: list[tuple[int, float]]) -> None:
    """In any number of groups of one namespace."""
    own = [group(number, count, per_day=rate) for number, (count, rate) in enumerate(forged)]
    others = [group(number, 1, namespace=f"team{number % 5}") for number in range(20)]
    assert stopped([*own, *others]) in {None, SHOP}


def test_a_namespace_whose_groups_are_harmed_is_stopped_alone() -> None:
    """The others' groups are well."""
    others = [group(number, 1, namespace=f"team{number % 3}") for number in range(15)]
    assert stopped([*fleet_of(20, teams=1), *others]) is not None
    assert stopped([*(group(number) for number in range(20)), *others]) == SHOP


def test_a_second_namespace_stops_all() -> None:
    """In one look, or a week after the first, when nothing of that is counted any more."""
    shop, town = ([group(number, namespace=name) for number in range(20)] for name in ("shop", "town"))
    assert stopped([*shop, *town]) == EVERYWHERE
    assert stopped(town, StopNote(FleetStop("before", NOW - timedelta(days=7), frozenset({"shop"})))) == EVERYWHERE


@pytest.mark.parametrize(("count", "teams"), [(20, 20), (20, 4), (1_000, 300)])
def test_harm_that_no_namespace_shows_alone_stops_all(count: int, teams: int) -> None:
    """Whichever of them is left out."""
    assert stopped(fleet_of(count, teams=teams)) == EVERYWHERE
    assert stopped(fleet_of(count, 1, teams=teams)) is None


def test_a_stop_that_stands_stays_as_it_is() -> None:
    """Whatever is seen later; since when, too."""
    whole = FleetStop("before", NOW - timedelta(days=3))
    part = dataclasses.replace(whole, namespaces=frozenset({"shop"}))
    for stop in (whole, part):
        assert fleet_guard.next_stop(StopNote(stop), [], NOW) is stop
        assert fleet_guard.next_stop(StopNote(stop), [group(number) for number in range(20)], NOW) is stop


def test_what_was_written_before_a_person_resumed_counts_no_more() -> None:
    """What was written since does, and a moment to come is none that anybody resumed at."""
    harmed = [group(number) for number in range(20)]
    assert stopped(harmed, StopNote(resumed_at=NOW)) is None
    assert stopped(harmed, StopNote(resumed_at=LANDED)) is None
    assert stopped(harmed, StopNote(resumed_at=LANDED - timedelta(seconds=1))) == SHOP
    assert stopped(harmed, StopNote(resumed_at=NOW + timedelta(days=300))) == SHOP


@pytest.mark.parametrize(
    "changes",
    [{"landed": NOW - timedelta(hours=25), "episodes": 4}, {"landed": NOW + timedelta(hours=1)}, {"days": 7.0}],
    ids=["the day before", "counted from tomorrow on", "a week of record"],
)
def test_who_is_not_asked(changes: dict[str, Any]) -> None:
    """Many such groups stop nothing."""
    assert stopped([group(number, **changes) for number in range(40)]) is None


def test_a_young_record_neither_hides_nor_makes_harm() -> None:
    """With one of two days beside them, the statistics see nothing in twenty groups."""
    harmed = [group(number) for number in range(20)]
    young = group(20, 1, days=2.0, per_day=4.0)
    assert not fleet.must_stop([item.counted for item in (*harmed, young)])
    assert stopped([*harmed, young]) == SHOP


def test_policies_of_one_group_count_once() -> None:
    """The newest change to it."""
    same = [dataclasses.replace(group(number, 12), group=("main", "orders")) for number in range(20)]
    assert stopped(same) is None


def test_what_no_count_can_be_made_of_ends_no_cycle() -> None:
    """Nothing in the record, no exposure, a flood, a clock behind."""
    odd = [
        group(1, 0, per_day=1e-3),
        group(2, 50_000),
        group(3, 0, landed=NOW),
        group(4, 0, days=0.0),
        group(5, 3, days=400.0, per_day=96.0),
    ]
    for namespace in ("shop", "town"):
        keyed = [dataclasses.replace(item, policy=ObjectKey(namespace, item.policy.name)) for item in odd]
        assert stopped([*odd, *keyed]) is None
