"""Namespaces that share a Prometheus, as rows of the contract, and what their groups' models then ask for.

Members pause by a law of their own (a mixture of ordinary pauses and rare freezes) that no formula of the fit has. Each
world is seeded, so that the same groups stand beside whatever another namespace exports. The same rows stand for any
quantity.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

import numpy as np
import pyarrow as pa

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision.optimize import tuning
from heartbeat_tuner.decision.optimize.questions import Answer, Question
from heartbeat_tuner.decision.profile import group_profile as profiles
from heartbeat_tuner.decision.profile.group_facts import Facts
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.fitting import contract
from heartbeat_tuner.fitting.models import model_estimate
from heartbeat_tuner.metrics.measured import ABSENCE, EVICTION, POLL_GAP
from heartbeat_tuner.models.failure_profile import Profile, Rebalancing
from heartbeat_tuner.models.group_model import GroupModel
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS, MEMBER_BLOCKS
from heartbeat_tuner.tails.histogram import bucket_of

UNTIL: Final = date(2026, 3, 1)
DAYS: Final = 14
MEMBERS: Final = 3
_BLOCKS: Final = 960  # of a member and day

Row = tuple[date, str, str, int, int]
"""Day, namespace, group, bucket and count."""


@dataclasses.dataclass(frozen=True)
class Habit:
    """How members of a group are absent.

    Attributes:
        freezes: how often a member-day.
        freeze_s: median length of one.
        pause_s: median of the longest pause of a block.
        days: how many days each day counts for: who writes metrics may write any number.
    """

    freezes: float = 1 / 50
    freeze_s: float = 9.0
    pause_s: float = 0.15
    days: int = 1


HONEST: Final = Habit()


def rows(namespace: str, groups: int, habit: Habit = HONEST, *, seed: int = 1, days: int = DAYS) -> list[Row]:
    """Return two weeks, or fewer days, of absences of so many groups of three members."""
    rng = np.random.default_rng(seed)
    found: list[Row] = []
    for number in range(groups):
        for day in (UNTIL - timedelta(days=age) for age in range(days)):
            watched = MEMBERS * _BLOCKS
            pauses = habit.pause_s * np.exp(0.7 * rng.standard_normal(watched))
            freezes = habit.freeze_s * np.exp(0.5 * rng.standard_normal(rng.poisson(habit.freezes * MEMBERS)))
            pauses[: freezes.size] += freezes[:watched]
            buckets, counts = np.unique(bucket_of(np.round(pauses, 3)).astype(int), return_counts=True)
            name = f"group-{number}"
            found += [
                (day, namespace, name, MEMBER_BLOCKS, watched * habit.days),
                (day, namespace, name, GROUP_BLOCKS, _BLOCKS),
                *(
                    (day, namespace, name, int(bucket), int(count) * habit.days)
                    for bucket, count in zip(buckets, counts, strict=True)
                ),
            ]
    return found


def models(
    *several: Iterable[Row], client: str = "java", quantities: Sequence[str] = (ABSENCE,)
) -> dict[tuple[str, str], GroupModel]:
    """Return the models of all groups, by namespace and group.

    Args:
        several: rows of namespaces.
        client: the library of all.
        quantities: that each row is one of; of EVICTION only that it was counted, and that there was none.
    """
    every = [
        (quantity, row)
        for some in several
        for row in some
        for quantity in quantities
        if quantity != EVICTION or row[3] in {MEMBER_BLOCKS, GROUP_BLOCKS}
    ]
    size = len(every)
    table = pa.table(
        {
            "day": [row[0] for _, row in every],
            "cluster": ["main"] * size,
            "namespace": [row[1] for _, row in every],
            "group": [row[2] for _, row in every],
            "client": [client] * size,
            "quantity": [quantity for quantity, _ in every],
            "bucket": [row[3] for _, row in every],
            "n": [row[4] for _, row in every],
        },
        schema=contract.ROWS,
    )
    fitted_at = datetime(2026, 3, 2, tzinfo=UTC)
    return {
        (model.namespace, model.group): model
        for model in model_estimate.models(table, on=UNTIL, fitted_at=fitted_at, job="tenants")
    }


def profile(model: GroupModel) -> Profile:
    """Return what happens to a group."""
    return profiles.profile(model, Facts(model.client, Rebalancing.EAGER, MEMBERS, 4 * MEMBERS, static=False))


def wanted(model: GroupModel) -> Answer:
    """Return the values that a model asks for in the end, of a group at the Java client's defaults."""
    absences = model.quantities[ABSENCE]
    assert POLL_GAP not in model.quantities
    return tuning.goal(
        Question(
            history=profile(model),
            current=catalogue.client("java").defaults,
            objective=Objective(timedelta(seconds=600), 1.0),
            bounds={},
            least_session=timedelta(seconds=6),
            most_session=timedelta(minutes=30),
            watched_days=absences.group_days,
            member_days=absences.member_days,
            evictions=0,
            evictions_days=DAYS,
            largest_absence_s=absences.largest_s,
            largest_poll_gap_s=None,
            horizon=timedelta(days=14),
        )
    )
