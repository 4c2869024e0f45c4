"""Changes that did harm, or are not judged yet: may they be tried again, may a saving follow them? Pure.

The gates of `write_gates` ask here.
"""

from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain import liveness
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import ASKING_AGAIN, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.domain.verifications import FailedValues, FollowedChange, Outcome
from heartbeat_tuner.limits import allowed_values

PATIENCE: Final = timedelta(days=7)
"""How long a saving waits for the verification of the change before it: one change at a time can be judged, and of one
that shows nothing in a week the next one's record has that week."""

LEARNT: Final = 2.0
"""A model that expects so many times the evictions that it had promised of failed values has learnt from them."""


def failed_before(policy: Policy, target: LivenessSettings, expected_per_day: float | None) -> Finding | None:
    """Return what was taken back under this spec, where values are as far and no model has learnt from it.

    Args:
        policy: with what failed.
        target: the values.
        expected_per_day: evictions a day at most that a model expects of them; None where none was asked.
    """
    for failed in reversed(policy.failed):
        if failed.spec != policy.spec or not _goes_as_far(target, failed) or _has_learnt(failed, expected_per_day):
            continue
        return Finding(
            Reason.FAILED_BEFORE,
            say(
                "values as far as these were written at {at:%Y-%m-%dT%H:%M:%SZ} and taken back ({outcome}: {why}). "
                "They are not written again until {asking} is edited, or the model expects {times:g} times the "
                "evictions that it promised then",
                at=failed.at,
                outcome=failed.outcome.value,
                why=failed.message,
                asking=ASKING_AGAIN,
                times=LEARNT,
            ),
        )
    return None


def being_verified(followed: FollowedChange | None, now: datetime) -> Finding | None:
    """Return that the last change is not judged yet, for a week at most."""
    if followed is None or followed.outcome is not Outcome.VERIFYING or now >= followed.at + PATIENCE:
        return None
    return Finding(
        Reason.VERIFYING,
        say(
            "the change written at {at:%Y-%m-%dT%H:%M:%SZ} is not verified yet; a saving waits for that, until "
            "{until:%Y-%m-%dT%H:%M:%SZ} at most",
            at=followed.at,
            until=followed.at + PATIENCE,
        ),
    )


def _goes_as_far(target: LivenessSettings, failed: FailedValues) -> bool:
    """Whether values are those that failed, or are further from the ones before in every setting that was moved."""
    if allowed_values.within_band(failed.values, target):
        return True
    moved = liveness.changed(failed.previous, failed.values)
    if not moved or not set(moved) <= target.by_setting.keys() & failed.previous.by_setting.keys():
        return False
    return all(
        target[setting] >= failed.values[setting]
        if failed.values[setting] > failed.previous[setting]
        else target[setting] <= failed.values[setting]
        for setting in moved
    )


def _has_learnt(failed: FailedValues, expected_per_day: float | None) -> bool:
    """Whether a model knows of the harm by now, and finds the values good all the same."""
    if failed.outcome is not Outcome.WORSE or failed.promised_per_day is None or expected_per_day is None:
        return False
    return expected_per_day >= LEARNT * failed.promised_per_day
