"""Gates about changes that did harm: may they be taken back, may they be tried again, is the last one judged yet?

Signatures are those of `write_gates`, `pipeline` has the order.
"""

from datetime import timedelta
from typing import Final

from heartbeat_tuner.decision.gates.write_gates import ProposedChange
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.domain.verifications import FailedValues, Outcome
from heartbeat_tuner.limits import allowed_values

PATIENCE: Final = timedelta(days=7)
"""How long a saving waits for the verification of the change before it: one change at a time can be judged, and of one
that shows nothing in a week the next one's record has that week."""

LEARNT: Final = 2.0
"""A model that expects so many times the evictions that it had promised of failed values has learnt from them."""


def reverts_are_disabled(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold where the policy wants to be told of harm, and to act itself."""
    if inputs.policy.reverts:
        return None
    return Finding(
        Reason.REVERT_DISABLED,
        say(
            "rollout.verification.revert is false: the values before the change are not written; set it to true, or "
            "`kubectl rollout undo` {workload}",
            workload=inputs.policy.workload,
        ),
    )


def rollout_is_anothers(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold while a rollout is not finished that somebody else began after ours: it may be the cure."""
    if not inputs.workload.rolling_out or inputs.workload.our_rollout:
        return None
    unfinished = say("a rollout of {workload} is not finished", workload=inputs.policy.workload)
    return Finding(Reason.ROLLOUT_IN_PROGRESS, unfinished)


def values_failed_before(inputs: DecisionInput, change: ProposedChange) -> Finding | None:
    """Hold what was taken back under this spec, or goes further the same way, until a model has learnt from it."""
    expected = _expected_per_day(change)
    for failed in reversed(inputs.policy.failed):
        if failed.spec != inputs.policy.spec or not _goes_as_far(change.target, failed):
            continue
        if _has_learnt(failed, expected):
            continue
        return Finding(
            Reason.FAILED_BEFORE,
            say(
                "values as far as these were written at {at:%Y-%m-%dT%H:%M:%SZ} and taken back ({outcome}: {why}). "
                "They are not written again until the policy's spec is edited, or the model expects {times:g} times "
                "the evictions that it promised then",
                at=failed.at,
                outcome=failed.outcome.value,
                why=failed.message,
                times=LEARNT,
            ),
        )
    return None


def last_change_is_being_verified(inputs: DecisionInput, change: ProposedChange) -> Finding | None:
    """Hold a saving until it is known what the change before it did, a week at most."""
    followed = inputs.followed
    if change.saving is None or followed is None or followed.outcome is not Outcome.VERIFYING:
        return None
    until = followed.at + PATIENCE
    if inputs.now >= until:
        return None
    return Finding(
        Reason.VERIFYING,
        say(
            "the change written at {at:%Y-%m-%dT%H:%M:%SZ} is not verified yet; a saving waits for that, until "
            "{until:%Y-%m-%dT%H:%M:%SZ} at most",
            at=followed.at,
            until=until,
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


def _expected_per_day(change: ProposedChange) -> float | None:
    """Return the evictions a day at most that a model expects of values; None where none was asked."""
    if change.saving is None or change.saving.new is None:
        return None
    return change.saving.new.evictions_upper / durations.MONTH_DAYS
