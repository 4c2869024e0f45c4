"""Settings as a play needs them: seconds, and what the library makes of them."""

import dataclasses
import math
from typing import Self

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Circumstances, Hung
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.models.failure_profile import Profile, Rebalancing
from heartbeat_tuner.tails.law import Law


@dataclasses.dataclass(frozen=True, slots=True)
class Terms:
    """What coordinator and members abide by; all times in seconds.

    Attributes:
        session_s: S.
        interval_s: H.
        wait_s: W.
        turns: of a loop that beats: those that find something and those that wait in vain.
        period_s: from beat to beat of a library that beats by a clock.
        poll_limit_s: who does not poll for so long leaves; infinite where the library has no such limit.
        join_limit_s: R: for so long a rebalance waits for members.
        settle_s: from the last join until partitions are read again.
        in_step: the beats of all members start again when a rebalance ends.
    """

    session_s: float
    interval_s: float
    wait_s: float
    turns: Law
    period_s: float
    poll_limit_s: float
    join_limit_s: float
    settle_s: float
    rebalancing: Rebalancing
    static: bool
    leaves_on_close: bool
    hung: Hung
    in_step: bool

    @classmethod
    def of(cls, profile: Profile, settings: LivenessSettings, *, in_step: bool) -> Self:
        """Return the terms of a group under some settings.

        Raises:
            ValueError: the library is unknown.
        """
        card = catalogue.client(profile.client)
        values = {**card.defaults.by_setting, **settings.by_setting}
        limit = values.get(Setting.MAX_POLL_INTERVAL) or values.get(card.rebalance_wait)
        wait_s = settings.fetch_wait.total_seconds()
        leaves = card.hung.has_limit and limit is not None
        join_factor = card.poll_limit_factor if card.rebalance_wait is Setting.MAX_POLL_INTERVAL else 1
        return cls(
            session_s=settings.session_timeout.total_seconds(),
            interval_s=settings.heartbeat_interval.total_seconds(),
            wait_s=wait_s,
            turns=_turns(profile, wait_s),
            period_s=card.period(settings, Circumstances()).usual.total_seconds(),
            poll_limit_s=card.poll_limit_factor * limit.total_seconds() if leaves and limit else math.inf,
            join_limit_s=join_factor * values[card.rebalance_wait].total_seconds(),
            settle_s=profile.settle_s,
            rebalancing=profile.rebalancing,
            static=profile.static,
            leaves_on_close=card.leaves_on_close,
            hung=card.hung,
            in_step=in_step,
        )


def _turns(profile: Profile, wait_s: float) -> Law:
    idle = profile.idle_turns
    if not idle:
        return profile.handlers
    return Law.mixture(((1.0 - idle, profile.handlers), (idle, Law.constant(wait_s))))
