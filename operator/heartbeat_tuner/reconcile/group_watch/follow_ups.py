"""Which groups of a cluster are described once more, since the last description showed a member gone.

Each reading of groups is a round. A round asks for a follow-up of a few groups at most, in one request: a rollout of a
thousand groups, or an outage, shows members gone everywhere, and must not double the descriptions. The others go
without, and so do those that had to wait for too long: a member that is missing in the last description before it is
back was seen to be out of its group, as without any follow-up.

A follow-up may show another member gone. Pods often make their consumers again at the same time, so that follow-up has
a follow-up of its own, and that has none.
"""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from heartbeat_tuner.domain.kafka_groups import Group, UnreadableGroup
from heartbeat_tuner.metrics.group_events import gone_members, process_ids
from heartbeat_tuner.reconcile.gather.looks import Look

AFTER_S: Final = 0.5
"""From a description to its follow-up. A consumer that is made again was out of its group for 0.05 to 0.11 s in a
sandbox; with TLS, SASL and brokers further away it takes several times that. Who was evicted and is back in this time
is called unseen, so it is no longer than needed."""

LATEST_S: Final = process_ids.BRIEF.total_seconds()
"""A follow-up that would be asked for after this says nothing any more."""

PART: Final = 400
"""A round may ask again for the 400th part of the descriptions that a cluster may be asked for in a minute, and a
follow-up for half of that: with a round each second, for a quarter more at most."""

MOST_IN_A_ROW: Final = 2
"""Follow-ups of a description, one of the other."""

_MOST_WAITING: Final = 8
"""Rounds that wait: more come only where nobody asks for them."""


@dataclasses.dataclass(frozen=True, slots=True)
class FollowUp:
    """Groups that are described again.

    Attributes:
        group_ids: which.
        again: 1 after a round that is no follow-up, and 2 after a follow-up.
    """

    group_ids: Sequence[str]
    again: int


class FollowUps:
    """Those of one cluster.

    Args:
        monotonic: a clock in seconds that nobody sets.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._waiting: asyncio.Queue[tuple[float, FollowUp]] = asyncio.Queue(_MOST_WAITING)

    def want(self, group_ids: Sequence[str], *, again: int, looks_a_minute: int) -> None:
        """Take note of the groups of a round in which a member is gone.

        Args:
            group_ids: which.
            again: of the round, where it is a follow-up; 0 for any other.
            looks_a_minute: that the cluster may be asked for.
        """
        chosen = group_ids[: looks_a_minute // PART >> again]
        if chosen and again < MOST_IN_A_ROW and not self._waiting.full():
            self._waiting.put_nowait((self._monotonic(), FollowUp(chosen, again + 1)))

    async def due(self, sleep: Callable[[float], Awaitable[None]]) -> FollowUp:
        """Wait for the next one; those that are too late are left out."""
        while True:
            described_s, follow_up = await self._waiting.get()
            await sleep(max(0.0, described_s + AFTER_S - self._monotonic()))
            if self._monotonic() - described_s < LATEST_S:
                return follow_up


def is_wanted(before: Look | None, look: Look) -> bool:
    """Whether a description shows a member gone who was there in the one before."""
    if before is None or not isinstance(before.group, Group) or isinstance(look.group, UnreadableGroup):
        return False
    return gone_members.is_anybody_gone(before.group, look.group)
