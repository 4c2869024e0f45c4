"""Is a fit harming many groups, each too little to be seen alone? The mean of what all of them show.

The mean of evidence that is each fair is fair itself, however the groups depend on each other. Where rates are bounds
from records, one of many groups is surely beyond its bound; so each bound is taken at the fleet's error divided by the
number of groups.
"""

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from heartbeat_tuner.verification import counts, e_process
from heartbeat_tuner.verification.e_process import ALPHA
from heartbeat_tuner.verification.verify import Counted

LATELY: Final = timedelta(days=1)
"""Groups whose values were changed within so long a time are looked at together."""


def log_mean(groups: Sequence[Counted]) -> float:
    """Return the logarithm of the mean evidence of harm over groups that were changed lately.

    Groups without a record say nothing: their evidence is 1.
    """
    logs = [_log_evidence(group, ALPHA / len(groups)) for group in groups]
    if not logs:
        return 0.0
    highest = max(logs)
    return highest + math.log(math.fsum(math.exp(log - highest) for log in logs) / len(logs))


def must_stop(groups: Sequence[Counted]) -> bool:
    """Whether no further change of values should begin until a person says so."""
    return log_mean(groups) >= e_process.THRESHOLD


def _log_evidence(group: Counted, alpha: float) -> float:
    record = group.before
    if not record.is_known:
        return 0.0
    upper = counts.garwood(record.episodes, record.days, alpha=alpha, dispersion=record.dispersion).upper
    expected = upper * group.exposed
    return float(e_process.log_e(group.times_s.size, expected, e_process.HARMFUL, record.dispersion))
