"""B3: one namespace, whatever it exports, moves nobody else's models by more than a stated factor."""

import dataclasses
import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.metrics.measured import ABSENCE, EVICTION, POLL_GAP
from heartbeat_tuner.models.group_model import GroupModel
from heartbeat_tuner.tails import neighbours
from heartbeat_tuner.tails.law import TIMES_S
from heartbeat_tuner.tails.model import TailModel
from heartbeat_tuner.tails.pool import TIMES_S as POOLED_S
from tests.support import tenants
from tests.support.tenants import Habit, Row

pytestmark = pytest.mark.timeout(300)

FACTOR = 1.25
"""Of a session timeout in these worlds, and of a tail's bound, as docs/explanation/tails.md states it."""

ROUNDED = 1.01
"""Beside the stated factor of rates: laws are tables, and the rounds that learn of fleets end for all at once."""

LONG_S = np.clip(TIMES_S, POOLED_S[0], POOLED_S[-1]) == TIMES_S
"""Times that sessions have."""

ATTACKS = {
    "hundreds that never freeze": (200, Habit(freezes=0.0, pause_s=0.02)),
    "five of thousands of days": (5, Habit(freezes=0.0, days=500)),
    "dozens that always freeze": (60, Habit(freezes=400.0, freeze_s=60.0)),
    "dozens of very long freezes": (60, Habit(freezes=5.0, freeze_s=200.0)),
}

WORLDS = {
    "a namespace of many groups": {"victim": 40},
    "a small one alone": {"victim": 3},
    "among others": {"victim": 8, "one": 8, "two": 8, "three": 8, "four": 8},
    "before a fifth": {"victim": 4, "one": 1, "two": 1, "three": 1},
}


def honest(world: str) -> list[list[Row]]:
    """Return the groups of a world, the same each time."""
    return [tenants.rows(name, groups, seed=number) for number, (name, groups) in enumerate(WORLDS[world].items(), 7)]


@functools.cache
def before(world: str) -> dict[tuple[str, str], GroupModel]:
    """Return the models of a world that nobody attacks."""
    return tenants.models(*honest(world))


def session_s(model: GroupModel) -> float:
    """Return the session that the group should have."""
    found = tenants.wanted(model)
    return (found.target or catalogue.client("java").defaults).session_timeout.total_seconds()


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("world", WORLDS)
def test_a_namespace_hardly_moves_another_ones_bound(world: str, attack: str) -> None:
    """Neither down, which would be dangerous, nor up, which would cost, nor away."""
    groups, habit = ATTACKS[attack]
    after = tenants.models(*honest(world), tenants.rows("evil", groups, habit, seed=99))
    for place in [item for item in before(world) if item[0] == "victim"][:6]:
        was, now = before(world)[place], after[place]
        assert 1 / FACTOR <= session_s(now) / session_s(was) <= FACTOR
        assert tenants.wanted(now).verdict is tenants.wanted(was).verdict
        tails = [item.quantities[ABSENCE].tail for item in (was, now)]
        bounds = [tail.quantile_upper_s(1e-6) for tail in tails if isinstance(tail, TailModel)]
        assert len(bounds) == 2
        assert 1 / FACTOR <= bounds[1] / bounds[0] <= FACTOR


habits = st.builds(
    Habit,
    freezes=st.sampled_from([0.0, 0.02, 1.0, 5.0, 400.0]),
    freeze_s=st.sampled_from([0.5, 3.0, 9.0, 60.0, 200.0]),
    pause_s=st.sampled_from([0.02, 0.15, 1.0, 5.0]),
    days=st.sampled_from([1, 500]),
)


honest_habits = st.builds(
    Habit,
    freezes=st.sampled_from([0.02, 0.2, 1.0]),
    freeze_s=st.sampled_from([9.0, 30.0, 120.0]),
    pause_s=st.sampled_from([0.15, 1.0, 5.0]),
)


@dataclasses.dataclass(frozen=True)
class Shared:
    """What groups have that namespaces might tell each other of.

    Attributes:
        client: their library.
        quantities: that their rows are of.
        of_handlers: whether it is how long their own handlers take.
        bound: by how much one namespace may change another's rates.
    """

    client: str
    quantities: tuple[str, ...]
    of_handlers: bool
    bound: float

    def per_day(self, model: GroupModel) -> np.ndarray:
        """Return how often a member-day each time is believed to be outlasted: on average, and at most."""
        profile = tenants.profile(model)
        process = profile.slow_handlers if self.of_handlers else profile.pauses
        assert process is not None
        assert process.upper_per_day is not None
        return np.stack([process.per_day * process.law.exceedances, process.upper_per_day])[:, LONG_S]


@pytest.mark.parametrize(
    "shared",
    [
        Shared("java", (ABSENCE,), of_handlers=False, bound=neighbours.FACTOR),
        Shared("kafkajs", (ABSENCE,), of_handlers=True, bound=neighbours.FACTOR),
        Shared("kafkajs", (ABSENCE, EVICTION), of_handlers=True, bound=1.0),
        Shared("java", (ABSENCE, POLL_GAP), of_handlers=True, bound=1.0),
    ],
    ids=["absences", "absences-behind-handlers", "where-evictions-are-counted", "poll-gaps"],
)
@settings(max_examples=12)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=7),
    seed=st.integers(0, 1_000_000),
    days=st.sampled_from([2, tenants.DAYS]),
    habit=honest_habits,
    groups=st.sampled_from([1, 2, 5, 40]),
    hostile=habits,
)
def test_rates_move_by_a_third_at_most(
    shared: Shared, sizes: list[int], seed: int, days: int, habit: Habit, groups: int, hostile: Habit
) -> None:
    """Of two to eight namespaces, whichever number the hostile one has: what is promised rests on these rates."""
    honest = [
        tenants.rows(f"team-{number}", size, habit, seed=seed + number, days=days) for number, size in enumerate(sizes)
    ]
    models = functools.partial(tenants.models, client=shared.client, quantities=shared.quantities)
    was, now = models(*honest), models(*honest, tenants.rows("evil", groups, hostile, seed=99))
    bound = shared.bound * ROUNDED
    for place, model in was.items():
        factors = shared.per_day(now[place]) / shared.per_day(model)
        assert factors.max() <= bound
        assert factors.min() >= 1 / bound


def test_the_same_days_of_one_namespace_are_as_good_under_any_name() -> None:
    """Who is alone is a fleet of his own; its name says nothing."""
    mine, other = tenants.models(tenants.rows("a", 6)), tenants.models(tenants.rows("b", 6))
    assert [item.quantities for item in mine.values()] == [item.quantities for item in other.values()]
