"""What needs no statistics: pods that fail, values that are not used, a storm in the first hour."""

import math
from datetime import datetime
from typing import Final

from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import LONGEST_DEADLINE
from heartbeat_tuner.domain.sentences import Reading, say
from heartbeat_tuner.domain.verifications import Outcome
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.verification.change import Change, Verification

FIRST_HOUR_S: Final = 3600.0

STORM: Final = 3
"""Episodes in the first hour beyond what chance allows."""

_DEVIATIONS: Final = 3.0


def without_statistics(change: Change, now: datetime) -> Verification | None:
    """Return what the pods themselves say; None if nothing speaks against the values so far."""
    return _rollout_failed(change, now) or _no_effect(change, now)


def storm(times_s: Array, since_s: float, allowed: float) -> int | None:
    """Return the place of the episode by which the first hour had too many; None if it did not.

    Args:
        times_s: when episodes began.
        since_s: when the values had landed.
        allowed: how many chance allows in that hour.
    """
    place = math.floor(allowed) + STORM - 1
    return place if place < times_s.size and times_s[place] < since_s + FIRST_HOUR_S else None


def allowed_by_chance(expected: float, dispersion: float) -> float:
    """Return how many episodes chance allows where so many are expected: three deviations more."""
    return expected + _DEVIATIONS * math.sqrt(dispersion * expected)


def _rollout_failed(change: Change, now: datetime) -> Verification | None:
    """Find pods that do not become ready in time, or do not stay so: before all have landed, and for a while after.

    Later a pod that crashes says nothing against values that it ran well with.
    """
    rollout = change.rollout
    deadline = min(rollout.deadline, LONGEST_DEADLINE)
    crashing = rollout.crashing(now)
    if change.landed is not None and (crashing is None or now - change.landed > deadline):
        return None
    if crashing is None and not rollout.is_overdue(change.written, now):
        return None
    worst = crashing or rollout.worst(now)
    if worst is not None:
        why = say("pod {pod}: {why}", pod=worst.pod, why=worst.why)
    elif rollout.aborted:
        why = say("their rollout was aborted (status.abort)")
    else:
        why = say(
            "no progress for {deadline}, with {updated} of {wanted} pods on the new template",
            deadline=rollout.deadline,
            updated=Reading(rollout.updated),
            wanted=Reading(rollout.wanted),
        )
    return Verification(
        Outcome.ROLLOUT_FAILED,
        say(
            "pods with the values written at {written:%Y-%m-%dT%H:%M:%SZ} fail: {why}", written=change.written, why=why
        ),
        reached=now,
    )


def _no_effect(change: Change, now: datetime) -> Verification | None:
    shown = change.contradiction
    if change.landed is None or shown is None or shown.reason is not Reason.NO_EFFECT:
        return None
    return Verification(Outcome.NO_EFFECT, shown.message, reached=now)
