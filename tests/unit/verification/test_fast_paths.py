"""What needs no statistics: pods that fail, values that nobody uses, and storms."""

import dataclasses
from datetime import UTC, datetime, timedelta

import numpy as np

from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Failing, Rollout
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.domain.verifications import Outcome
from heartbeat_tuner.verification import fast_paths
from heartbeat_tuner.verification.change import Change

WRITTEN = datetime(2026, 3, 2, 12, tzinfo=UTC)
LANDED = WRITTEN + timedelta(minutes=5)
MINUTE = timedelta(minutes=1)
CRASHING = Rollout(wanted=3, updated=1, failing=(Failing("shop-1", "CrashLoopBackOff", 3),))
CHANGE = Change(WRITTEN, None, Rollout(wanted=3, updated=1))


def outcome(change: Change, now: datetime) -> Outcome | None:
    """Return what is said without statistics."""
    answer = fast_paths.without_statistics(change, now)
    return None if answer is None else answer.outcome


def test_pods_that_crash_again_and_again_fail_at_once() -> None:
    """Nobody waits for the deadline, and the pod is named."""
    answer = fast_paths.without_statistics(dataclasses.replace(CHANGE, rollout=CRASHING), WRITTEN + MINUTE)
    assert answer is not None
    assert (answer.outcome, answer.reached) == (Outcome.ROLLOUT_FAILED, WRITTEN + MINUTE)
    assert "pod shop-1: CrashLoopBackOff" in answer.message


def test_pods_that_crash_soon_after_they_had_landed_fail_too() -> None:
    """Within the deadline after that: they did not stay ready."""
    landed = dataclasses.replace(CHANGE, landed=LANDED, rollout=CRASHING)
    assert outcome(landed, LANDED + 10 * MINUTE) is Outcome.ROLLOUT_FAILED
    assert outcome(landed, LANDED + 11 * MINUTE) is None


def test_a_rollout_without_progress_fails_at_its_deadline() -> None:
    """Whatever keeps its pods; not before, and not once it has landed."""
    assert outcome(CHANGE, WRITTEN + 9 * MINUTE) is None
    answer = fast_paths.without_statistics(CHANGE, WRITTEN + 10 * MINUTE)
    assert answer is not None
    assert answer.outcome is Outcome.ROLLOUT_FAILED
    assert "no progress for 10m, with 1 of 3 pods" in answer.message
    assert outcome(dataclasses.replace(CHANGE, landed=LANDED), WRITTEN + 60 * MINUTE) is None


def test_a_rollout_that_was_aborted_has_failed() -> None:
    """Argo's controller, or a person, said so: nobody waits for the deadline."""
    aborted = dataclasses.replace(CHANGE, rollout=Rollout(wanted=3, updated=0, aborted=True))
    answer = fast_paths.without_statistics(aborted, WRITTEN + MINUTE)
    assert answer is not None
    assert answer.outcome is Outcome.ROLLOUT_FAILED
    assert "their rollout was aborted" in answer.message


def test_values_that_the_application_does_not_use_have_no_effect() -> None:
    """As `decision` finds from beats and sessions; what is found of others' values says nothing of ours."""
    ignored = Finding(Reason.NO_EFFECT, "there is a heartbeat every 3 s, but")
    landed = dataclasses.replace(CHANGE, landed=LANDED, contradiction=ignored)
    answer = fast_paths.without_statistics(landed, LANDED + MINUTE)
    assert answer is not None
    assert (answer.outcome, answer.message) == (Outcome.NO_EFFECT, ignored.message)
    assumed = Finding(Reason.SETTING_ASSUMED, "nothing shows")
    assert outcome(dataclasses.replace(landed, contradiction=assumed), LANDED + MINUTE) is None


def test_values_that_have_not_landed_cannot_be_ignored_yet() -> None:
    """Old pods beat as the old values say."""
    ignored = Finding(Reason.NO_EFFECT, "there is a heartbeat every 3 s, but")
    assert outcome(dataclasses.replace(CHANGE, contradiction=ignored), WRITTEN + MINUTE) is None


def test_a_storm_is_three_more_than_chance_allows_within_the_hour() -> None:
    """The place of the episode that was one too many."""
    times = np.array([0.0, 900.0, 1800.0, 2700.0])
    assert fast_paths.storm(times, 0.0, 0.9) == 2
    assert fast_paths.storm(times, 0.0, 1.0) == 3
    assert fast_paths.storm(times, 0.0, 2.0) is None
    assert fast_paths.storm(times + 2700.0, 0.0, 0.9) is None


def test_chance_allows_three_deviations() -> None:
    """More where days scatter, and hardly any of what is rare."""
    assert fast_paths.allowed_by_chance(1.0, 1.0) == 4.0
    assert fast_paths.allowed_by_chance(1.0, 4.0) == 7.0
    assert fast_paths.allowed_by_chance(0.04, 1.0) < 1.0
