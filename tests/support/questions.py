"""Questions about groups that are easily understood: a Java group of eight, quiet, watched for two weeks."""

import dataclasses
from datetime import timedelta
from typing import Any, Final

import numpy as np

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision.optimize.questions import Answer, Question
from heartbeat_tuner.decision.optimize.tuning import goal as answer
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.models.failure_profile import Delivery, FailureProcess, Profile, Rebalancing
from heartbeat_tuner.tails.law import Law

NEVER = FailureProcess(0.0, Law.constant(0.0))


def seconds(time_s: float) -> timedelta:
    """Return a time."""
    return timedelta(seconds=time_s)


def happening(per_day: float, median_s: float, sigma: float = 0.5, *, doubt: float = 1.0) -> FailureProcess:
    """Return something lognormal, and that it happens at most so many times as often."""
    law = Law.lognormal(median_s, sigma)
    return FailureProcess(per_day, law, upper_per_day=doubt * per_day * np.asarray(law.exceedances))


QUIET = Profile(
    client="java",
    rebalancing=Rebalancing.EAGER,
    members=8,
    partitions=32,
    static=False,
    pauses=happening(20.0, 0.2),
    node_pauses=NEVER,
    node_members=1,
    outages=NEVER,
    delivery=Delivery.LATE,
    crashes=happening(0.05, 20.0),
    restarts=happening(0.25, 20.0, 0.3),
    surge=False,
    hangs=NEVER,
    handlers=Law.lognormal(0.3, 0.4),
    slow_handlers=happening(2.0, 3.0),
    settle_s=0.6,
)


def profile(**fields: Any) -> Profile:
    """Return the quiet group with other fields."""
    return dataclasses.replace(QUIET, **fields)


FROZEN: Final = profile(pauses=happening(0.1, 15.0, doubt=3.0))
"""Frozen for a quarter of a minute once a fortnight, and it may be three times as often."""


def question(profile: Profile = QUIET, **fields: Any) -> Question:
    """Return the question of a group that has its library's defaults, with other fields."""
    asked = Question(
        history=profile,
        current=catalogue.client(profile.client).defaults,
        objective=Objective(seconds(60), 1.0),
        bounds={},
        least_session=seconds(6),
        most_session=seconds(1800),
        watched_days=14.0,
        member_days=112.0,
        evictions=0,
        evictions_days=14.0,
        largest_absence_s=1.0,
        largest_poll_gap_s=10.0,
        horizon=timedelta(days=14),
    )
    return dataclasses.replace(asked, **fields)


def said(answer: Answer) -> tuple[Verdict, Reason]:
    """Return the answer at a glance."""
    return answer.verdict, answer.reason


def target(asked: Question) -> LivenessSettings:
    """Return what should be set."""
    found = answer(asked).target
    assert found is not None
    return found


def with_session(question: Question, session_s: float) -> Question:
    """Return the question of a group that has another session timeout."""
    return dataclasses.replace(
        question, current=dataclasses.replace(question.current, session_timeout=seconds(session_s))
    )
