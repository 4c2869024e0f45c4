"""What other procedures make of the same groups, for `bench.verify`: they count evictions, as their tools would.

Each says whether it would have taken a change back. `before` and `after` are hourly counts of evictions.
"""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import stats

Counts = npt.NDArray[np.float64]
"""Groups x hours."""

_DAY: Final = 24
_FAILURE_LIMIT: Final = 3
_LOOKED_AT_DAYS: Final = 14
_ERROR: Final = 0.05


def failure_limit_0(_before: Counts, after: Counts) -> npt.NDArray[np.bool_]:
    """Any bad hour of the first day, as Argo Rollouts' default."""
    return np.asarray((after[:, :_DAY] > 0).any(axis=1))


def failure_limit_3(_before: Counts, after: Counts) -> npt.NDArray[np.bool_]:
    """More than three bad hours in the first day."""
    return np.asarray((after[:, :_DAY] > 0).sum(axis=1) > _FAILURE_LIMIT)


def hourly_binomial(before: Counts, after: Counts) -> npt.NDArray[np.bool_]:
    """A binomial test of the counts after among all, at 5 %, looked at every hour for 14 days."""
    hours = np.arange(1, _DAY * _LOOKED_AT_DAYS + 1)
    since = np.cumsum(after[:, : hours.size], axis=1)
    record = before.sum(axis=1, keepdims=True)
    chance = stats.binom.sf(since - 1, since + record, hours / (hours + before.shape[1]))
    return np.asarray((chance < _ERROR).any(axis=1))


def mann_whitney(before: Counts, after: Counts) -> npt.NDArray[np.bool_]:
    """Mann and Whitney's test of 24 hourly counts after against the 24 before, at 5 %, as Kayenta's metrics."""
    last, first = before[:, -_DAY:], after[:, :_DAY]
    alike = (last == last[:, :1]).all(axis=1) & (first == last[:, :1]).all(axis=1)  # no rank differs: no answer
    answer = np.zeros(len(before), dtype=bool)
    if not alike.all():
        tested = stats.mannwhitneyu(first[~alike], last[~alike], alternative="greater", axis=1, method="asymptotic")
        answer[~alike] = tested.pvalue < _ERROR
    return answer


PROCEDURES: Final[Mapping[str, Callable[[Counts, Counts], npt.NDArray[np.bool_]]]] = {
    "failureLimit 0": failure_limit_0,
    "failureLimit 3": failure_limit_3,
    "hourly binomial": hourly_binomial,
    "Mann-Whitney": mann_whitney,
}
