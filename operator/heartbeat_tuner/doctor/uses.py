"""What each quantity is for: the settings that it counts for, and what it tells."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.metrics.vocabulary import Quantity


@dataclasses.dataclass(frozen=True, slots=True)
class Use:
    """What a quantity is for: settings that it counts for, and what it tells."""

    settings: tuple[Setting, ...]
    tells: str


_S, _H, _W, _M = (
    Setting.SESSION_TIMEOUT,
    Setting.HEARTBEAT_INTERVAL,
    Setting.FETCH_WAIT,
    Setting.MAX_POLL_INTERVAL,
)

USES: Final[Mapping[Quantity, Use]] = MappingProxyType(
    {
        Quantity.HEARTBEATS: Use((_S, _H, _W), "how often a member beats, and for how long it was silent"),
        Quantity.HEARTBEAT_REQUESTS: Use((_S,), "evictions, as heartbeats that were refused"),
        Quantity.REBALANCE_NOTICES: Use((_S,), "evictions, as rejoins that no rebalance asked for"),
        Quantity.REBALANCES: Use((_S, _H, _W), "how often members rejoin"),
        Quantity.REBALANCE_TIME: Use((_S, _H, _W), "how much of its time the group spends in rebalances"),
        Quantity.FAILED_REBALANCES: Use((_S, _M), "evictions, as member ids that were lost"),
        Quantity.JOIN_ANSWERS: Use((_S, _M), "evictions, as distinct from overlapping rebalances"),
        Quantity.LOST_FOR_SILENCE: Use((_S,), "evictions, as assignments that were lost"),
        Quantity.LOST_FOR_POLLS: Use((_M,), "members that did not poll in time, as assignments that were lost"),
        Quantity.POLL_AGE: Use((_M,), "evictions by the poll limit, as distinct from silence"),
        Quantity.POLL_GAP_MAX: Use((_M,), "how long handlers take"),
    }
)
"""What is read today, and what for."""
