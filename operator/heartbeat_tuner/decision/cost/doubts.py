"""How far the costs of a group may be off: bounds of several causes together, and of causes that are hardly known."""

import functools
import operator
from collections.abc import Collection

import numpy as np

from heartbeat_tuner.decision.cost.cost_terms import Term
from heartbeat_tuner.models.failure_profile import FailureProcess
from heartbeat_tuner.tails.gpd import Array


def evictions_at_most(terms: Collection[Term]) -> Array:
    """Return how many live members several causes remove a day together, at most at 95 %.

    What is not known of one cause has nothing to do with what is not known of another, so hardly ever are all of them
    as frequent as they may be. What each may exceed its mean by adds up as standard deviations do: of gamma laws that
    is within 5 % of the quantile of the sum.

    Args:
        terms: one of each cause; at least one.
    """
    expected = functools.reduce(operator.add, (term.evictions for term in terms))
    squares = functools.reduce(operator.add, ((term.upper - term.evictions) ** 2 for term in terms))
    return np.asarray(expected + np.sqrt(squares))


def more_crashes(crashes: FailureProcess) -> float:
    """Return how much more often than on average members may crash (95 %), as a share of that; 0 without a bound.

    Args:
        crashes: of each member.
    """
    if crashes.upper_per_day is None or not crashes.per_day:
        return 0.0
    return max(float(crashes.upper_per_day[0]) / crashes.per_day - 1.0, 0.0)
