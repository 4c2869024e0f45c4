"""Changes that did harm, or are not judged yet: may they be tried again, may a saving follow them? Pure.

The gates of `write_gates` ask here.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain import liveness
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import ASKING_AGAIN, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.domain.verifications import HARMFUL, FailedValues, FollowedChange, Outcome
from heartbeat_tuner.limits import smallest_changes

PATIENCE: Final = timedelta(days=7)
"""How long a saving waits for the verification of the change before it: one change at a time can be judged, and of one
that shows nothing in a week the next one's record has that week."""

LEARNT: Final = 2.0
"""A model that has learnt from failed values expects so many times the evictions that it had promised, at least."""


def failed_before(
    policy: Policy, current: LivenessSettings | None, target: LivenessSettings, expected_per_day: float | None
) -> Finding | None:
    """Return what was taken back under this spec, where values are as far and no model has learnt from it.

    Args:
        policy: with what failed.
        current: the values that are set; None where pods differ.
        target: the values.
        expected_per_day: evictions a day at most that a model expects of them; None where none was asked.
    """
    for failed in reversed(policy.failed):
        if failed.spec != policy.spec or _has_learnt(failed, expected_per_day):
            continue
        if not _goes_as_far(current, target, failed):
            continue
        return Finding(
            Reason.FAILED_BEFORE,
            say(
                "values as far as these were written at {at:%Y-%m-%dT%H:%M:%SZ} and taken back ({outcome}: {why}). "
                "They are not written again until {asking} is edited{learnt}",
                at=failed.at,
                outcome=failed.outcome.value,
                why=failed.message,
                asking=ASKING_AGAIN,
                learnt=_until_learnt(failed),
            ),
        )
    return None


def being_verified(followed: FollowedChange | None, now: datetime) -> Finding | None:
    """Return that the last change is not judged yet, for a week at most, or that it did harm and was not taken back."""
    if followed is None:
        return None
    if followed.outcome in HARMFUL:
        return Finding(
            Reason(followed.outcome.value),
            say(
                "the change written at {at:%Y-%m-%dT%H:%M:%SZ} did harm or failed, and was not taken back; a saving "
                "waits until it is: {why}",
                at=followed.at,
                why=followed.message,
            ),
        )
    return not_judged_yet(followed, now)


def not_judged_yet(followed: FollowedChange | None, now: datetime) -> Finding | None:
    """Return that the last change is not judged yet, for a week at most."""
    if followed is None or followed.outcome is not Outcome.VERIFYING or now >= followed.at + PATIENCE:
        return None
    return Finding(
        Reason.VERIFYING,
        say(
            "the change written at {at:%Y-%m-%dT%H:%M:%SZ} is not verified yet; what can wait does, until "
            "{until:%Y-%m-%dT%H:%M:%SZ} at most",
            at=followed.at,
            until=followed.at + PATIENCE,
        ),
    )


def _goes_as_far(current: LivenessSettings | None, target: LivenessSettings, failed: FailedValues) -> bool:
    """Whether values are those that failed, or are further from the ones before in every setting that was moved.

    What leads from the current values back towards the ones before is not: somebody went further than what failed, and
    a cure of that moves away from the harm. Pods that fail with values fail with them wherever they come from.
    """
    is_same = smallest_changes.within_band(failed.values, target)
    if is_same and failed.outcome is not Outcome.WORSE:
        return True
    moved = liveness.changed(failed.previous, failed.values)
    if not moved or not set(moved) <= target.by_setting.keys() & failed.previous.by_setting.keys():
        return is_same
    as_far = is_same or not any(_is_further(failed.values, target, setting, failed) for setting in moved)
    return as_far and (current is None or not _leads_back(current, target, moved, failed))


def _leads_back(
    current: LivenessSettings, target: LivenessSettings, moved: Sequence[Setting], failed: FailedValues
) -> bool:
    """Whether a change moves towards the values before the failure; by S alone where that was moved.

    Evictions depend on S first, and a cure has the other settings follow it.
    """
    decisive = [Setting.SESSION_TIMEOUT] if Setting.SESSION_TIMEOUT in moved else moved
    back = any(_is_further(current, target, setting, failed) for setting in decisive)
    return back and not any(_is_further(target, current, setting, failed) for setting in decisive)


def _is_further(values: LivenessSettings, than: LivenessSettings, setting: Setting, failed: FailedValues) -> bool:
    """Whether values are further than others in the direction in which a setting was moved."""
    if failed.values[setting] > failed.previous[setting]:
        return values[setting] > than[setting]
    return values[setting] < than[setting]


def _until_learnt(failed: FailedValues) -> str:
    """Say what a model would have to expect."""
    least = _to_expect(failed)
    if least is None:
        return ""
    return say(
        ", or the model expects at least {least:.2g} evictions a day: as many as were counted, and {times:g} times "
        "what it promised",
        least=least,
        times=LEARNT,
    )


def _to_expect(failed: FailedValues) -> float | None:
    """Return how many evictions a day a model that has learnt from a failure expects at least; None if none can.

    It knows of the harm only if it expects what was counted. By its promise alone it would have learnt with each fit,
    where it had promised next to nothing.
    """
    promised, observed = failed.promised_per_day, failed.observed_per_day
    if failed.outcome is not Outcome.WORSE or promised is None or not observed:
        return None
    return max(LEARNT * promised, observed)


def _has_learnt(failed: FailedValues, expected_per_day: float | None) -> bool:
    """Whether a model knows of the harm by now, and finds the values good all the same."""
    least = _to_expect(failed)
    return least is not None and expected_per_day is not None and expected_per_day >= least
