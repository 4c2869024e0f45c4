"""How often something rare happens to a group by its truth: what a play of it has to have some hundreds of."""

from heartbeat_tuner.models.failure_profile import Profile

_RARE_S = 6.0


def rare_per_day(truth: Profile) -> float:
    """Return how many restarts, crashes, hangs, outages and pauses of over 6 s there are in a day, of all members.

    Args:
        truth: what happens to the group.
    """
    of_each = (
        truth.restarts.per_day
        + truth.crashes.per_day
        + truth.pauses.per_day * float(truth.pauses.law.sf(_RARE_S))
        + truth.hangs.per_day
    )
    return truth.members * of_each + truth.outages.per_day + truth.node_pauses.per_day
