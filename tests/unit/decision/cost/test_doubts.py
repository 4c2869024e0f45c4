"""Bounds of several causes together, and of how often members crash."""

import numpy as np
import pytest

from heartbeat_tuner.decision.cost import doubts
from heartbeat_tuner.decision.cost.cost_terms import Term
from heartbeat_tuner.models.failure_profile import FailureProcess
from heartbeat_tuner.tails import gamma
from heartbeat_tuner.tails.law import Law

BACK: Law = Law.constant(20.0)


def cause(shape: float, mean: float) -> Term:
    """Return a cause whose rate is gamma, with its quantile as the bound."""
    nothing = np.zeros(1)
    upper = gamma.quantile(np.array([shape]), 0.95) / shape * mean
    return Term(nothing, nothing, nothing, np.array([mean]), upper)


@pytest.mark.parametrize("shape", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("causes", [2, 3, 5])
def test_the_bound_of_several_causes_is_the_quantile_of_their_sum(shape: float, causes: int) -> None:
    """Gamma rates of one scale add up to a gamma rate; the sum of their bounds is far above its quantile."""
    terms = [cause(shape, 1.0)] * causes
    truly = float(gamma.quantile(np.array([causes * shape]), 0.95)[0]) / shape
    found = float(doubts.evictions_at_most(terms)[0])
    assert found == pytest.approx(truly, rel=0.06)
    assert found < 0.9 * sum(float(term.upper[0]) for term in terms)


def test_one_cause_has_its_own_bound() -> None:
    """And a cause without doubt adds what it evicts."""
    term = cause(1.0, 2.0)
    sure = Term(term.cost, term.rebalances, term.triggers, np.array([3.0]), np.array([3.0]))
    assert doubts.evictions_at_most([term]) == pytest.approx(term.upper)
    assert doubts.evictions_at_most([term, sure]) == pytest.approx(term.upper + 3.0)


@pytest.mark.parametrize(
    ("crashes", "more"),
    [
        (FailureProcess(0.01, BACK, 0.04 * BACK.exceedances), 3.0),
        (FailureProcess(0.01, BACK), 0.0),
        (FailureProcess(0.0, BACK, 0.04 * BACK.exceedances), 0.0),
    ],
    ids=["a bound", "no bound", "no crash"],
)
def test_members_may_crash_more_often_where_a_bound_says_so(crashes: FailureProcess, more: float) -> None:
    """Only a bound says by how much a rate may be off."""
    assert doubts.more_crashes(crashes) == pytest.approx(more)
