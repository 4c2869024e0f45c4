"""New values in a part of a group's pods: whom does the next episode hit?

Both parts share the time, the load and whatever goes wrong, so nothing has to be known of a rate. Without an effect an
episode hits the pods with new values with the probability of their share; with r times the rate, with
r p / (r p + 1 - p). Whom episodes hit is a game that may be looked at as often as one likes, as in `e_process`.
"""

import math
from typing import Final

import numpy as np

from heartbeat_tuner.verification.e_process import ALPHA, HARMFUL, LEAST_EPISODES

THRESHOLD: Final = math.log(1.0 / ALPHA)


def log_e(hits: int, others: int, share: float) -> float:
    """Return the logarithm of the evidence that new values harm.

    Args:
        hits: episodes that began at a pod with new values.
        others: those that began at another.
        share: of the pods with new values among all, by the time that they were members.

    Raises:
        ValueError: a share that is no part, or a negative count.
    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"share {share}: must lie between 0 and 1, with pods of both kinds")
    if hits < 0 or others < 0:
        raise ValueError(f"hits {hits}, others {others}: must not be negative")
    times = np.array(HARMFUL)
    likely = times * share / (times * share + 1.0 - share)
    terms = hits * np.log(likely / share) + others * np.log((1.0 - likely) / (1.0 - share))
    highest = float(terms.max())
    return highest + math.log(float(np.exp(terms - highest).mean()))


def shows_harm(hits: int, others: int, share: float) -> bool:
    """Whether the new values should be taken out of the canary pods, and not be given to the rest."""
    return hits >= LEAST_EPISODES and log_e(hits, others, share) >= THRESHOLD
