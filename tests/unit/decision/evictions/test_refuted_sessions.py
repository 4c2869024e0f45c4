"""A session that evicted is refused until a fit counts these evictions, or the policy asks for something else."""

import dataclasses
from datetime import timedelta

import pytest

from heartbeat_tuner.decision.evictions import eviction_evidence, refuted_sessions
from heartbeat_tuner.domain.kafka_groups import GroupOverrides, GroupWrite
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.verdicts import Prediction
from heartbeat_tuner.domain.verifications import EvictingSession, EvictionHistory, FollowedChange
from heartbeat_tuner.metrics.measured import EVICTION
from heartbeat_tuner.models.group_model import GroupModel
from tests.support import fitted, worlds

POLICY = worlds.java_policy()
LONG, SHORT = worlds.java_settings("60s"), worlds.java_settings("20s")
EVICTED = EvictingSession(timedelta(seconds=25), 40, 10.0, 9, worlds.NOW, POLICY.spec)
NEVER_FITTED = fitted.model()
LEARNT = dataclasses.replace(
    NEVER_FITTED,
    quantities={**NEVER_FITTED.quantities, EVICTION: fitted.quantity()},
    since=worlds.NOW.date() - timedelta(days=13),
    until=worlds.NOW.date(),
)


def refusal(
    noted: EvictingSession,
    model: GroupModel = NEVER_FITTED,
    *,
    now: LivenessSettings = LONG,
    promised: Prediction | None = None,
) -> str:
    """Return why a session of 20 s is refused."""
    history = dataclasses.replace(HISTORY, evicting=(noted,))
    return refuted_sessions.refusal(history, POLICY, model, (now, SHORT), promised)


HISTORY = EvictionHistory(worlds.NOW, LONG)


def test_what_evicted_is_refused_by_a_law_that_never_learnt_of_it() -> None:
    """It would ask for the same again, every few weeks."""
    assert refusal(EVICTED).startswith("with a session of 25s members were evicted 40 times")


@pytest.mark.parametrize(
    "noted",
    [
        dataclasses.replace(EVICTED, session=timedelta(seconds=19)),
        dataclasses.replace(EVICTED, spec="another"),
        dataclasses.replace(EVICTED, episodes=1, on_days=1),
    ],
    ids=["a shorter one", "the policy was edited", "within the objective"],
)
def test_other_sessions_are_not_refused(noted: EvictingSession) -> None:
    """Nothing is known against them."""
    assert refusal(noted) == ""


def test_a_fit_that_counts_these_evictions_is_believed() -> None:
    """Its law knows better than a note."""
    assert refusal(EVICTED, LEARNT) == ""


@pytest.mark.parametrize(
    ("mean", "upper", "is_refused"),
    [(95.0, 160.0, False), (5.0, 160.0, True), (5.0, 9.0, True)],
    ids=["expected", "only not ruled out", "ruled out"],
)
def test_a_model_that_expects_as_many_evictions_as_were_counted_knows_of_them(
    mean: float, upper: float, *, is_refused: bool
) -> None:
    """Whoever asks for a session and says that it evicts has a reason. 40 in 10 days are 91 a month at least."""
    promised = Prediction(10.0, 1.0, mean, upper, 19.0, 100.0)
    assert (refusal(EVICTED, promised=promised) != "") is is_refused


def test_a_session_that_is_not_shortened_is_not_refused() -> None:
    """Whatever a shorter one did."""
    assert refusal(EVICTED, now=SHORT) == ""


def test_a_write_at_the_broker_ends_the_time_of_the_session_before() -> None:
    """What evicted until then was of that one, as after a write to a workload."""
    now, day = worlds.NOW, timedelta(days=1)
    at = now - day
    episodes = tuple((now - number * day).timestamp() for number in range(9, 1, -1))
    history = EvictionHistory(now - 10 * day, SHORT, episodes)
    ours = GroupOverrides(LONG.session_timeout)
    write = GroupWrite("main", "orders", ours, GroupOverrides(SHORT.session_timeout), at, POLICY.spec)
    asked = dataclasses.replace(POLICY, group_write=write)
    (noted,) = refuted_sessions.after_other_values(history, asked, None, LONG, now)
    assert (noted.session, noted.episodes, noted.days) == (SHORT.session_timeout, 8, 9.0)


def test_only_what_was_counted_since_a_write_at_the_broker_is_of_its_values() -> None:
    """Not the days before, though the history goes on."""
    now, day = worlds.NOW, timedelta(days=1)
    at = now - 2 * day
    history = EvictionHistory(now - 10 * day, LONG, ((now - 5 * day).timestamp(), (now - day).timestamp()))
    write = GroupWrite("main", "orders", GroupOverrides(LONG.session_timeout), GroupOverrides(), at, POLICY.spec)
    asked = dataclasses.replace(POLICY, group_write=write)
    for landed in (None, at + timedelta(seconds=6)):
        followed = FollowedChange(at, landed=landed)
        evidence = eviction_evidence.since_the_change(history, asked, followed, LONG, now)
        assert evidence is not None
        assert evidence.episodes == 1
    evidence = eviction_evidence.since_the_change(history, POLICY, None, LONG, now)
    assert evidence is not None
    assert evidence.episodes == 2
