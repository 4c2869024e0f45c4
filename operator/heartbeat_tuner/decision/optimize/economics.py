"""Is a change worth the restarts that bring it about?

Every pod has to be replaced for new values to come into force, and that makes the group stand still too. What a change
saves within the horizon has to pay for that. Deploys of somebody else do not end the horizon: their pods start with the
template as it is, without the values, so a change that waited for them would wait endlessly (design note 0012). Mode
Initial is for those: there the webhook sets values in pods that are replaced anyway. The session and the heartbeat of a
KIP-848 group are the broker's, and change without a restart.
"""

from datetime import timedelta
from typing import Final

from heartbeat_tuner.decision.optimize import guard
from heartbeat_tuner.decision.optimize.cost_points import CostPoint
from heartbeat_tuner.domain import liveness
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.models.failure_profile import Profile, Rebalancing

ERROR_SHARE: Final = 1.3
"""So much more than it costs must a rollout save, since both are estimates."""

BEAT_SHARE: Final = 2.0
"""Likewise, where only H or W would change."""

_DAY: Final = timedelta(days=1)
_BEAT: Final = {Setting.HEARTBEAT_INTERVAL, Setting.FETCH_WAIT}
_BROKERS: Final = {Setting.HEARTBEAT_INTERVAL, Setting.SESSION_TIMEOUT}


def restores_the_objective(now: CostPoint, new: CostPoint, per_month: float) -> bool:
    """Whether the objective asks for a change, whatever it saves: what is set is expected to miss it.

    A change that leaves more than half of the evictions and still misses it is a saving like others, and so is one that
    leaves nearly all of them (`guard.RELIEF`): from 1.01 to 0.99 a month is no reason to restart every pod.

    Args:
        now: what is set.
        new: what shall be.
        per_month: how many live members may be removed.
    """
    missed, left = now.evictions_per_month, new.evictions_per_month
    return missed > per_month and left <= min(max(per_month, 0.5 * missed), (1.0 - guard.RELIEF) * missed)


def is_not_worth_a_rollout(
    profile: Profile, now: CostPoint, new: CostPoint, rollout: float, horizon: timedelta
) -> bool:
    """Whether a change does not pay for a rollout of its own within the horizon.

    Args:
        profile: the group.
        now: what is set.
        new: what shall be.
        rollout: what replacing every pod costs, in stalled partition-seconds.
        horizon: within which a change must have paid for itself.
    """
    moved = set(liveness.changed(now.settings, new.settings))
    if profile.rebalancing is Rebalancing.CONSUMER and moved <= _BROKERS:
        return False
    margin = BEAT_SHARE if moved <= _BEAT else ERROR_SHARE
    return (now.net_per_day - new.net_per_day) * (horizon / _DAY) <= margin * rollout
