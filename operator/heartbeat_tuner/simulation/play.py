"""`simulate`: one group, some settings, so many days."""

import dataclasses
from collections.abc import Callable, Mapping

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain.durations import DAY_S
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.models.failure_profile import Profile, Rebalancing
from heartbeat_tuner.simulation.beats import BeatTimer, Cadence, FetchLoop
from heartbeat_tuner.simulation.chance import Chance
from heartbeat_tuner.simulation.classic_coordinator import ClassicCoordinator
from heartbeat_tuner.simulation.consumer_coordinator import ConsumerCoordinator
from heartbeat_tuner.simulation.event_queue import Events
from heartbeat_tuner.simulation.failures import Failures
from heartbeat_tuner.simulation.meter import Cause, Meter
from heartbeat_tuner.simulation.terms import Terms

EVICTION_PRICE = "evictionPrice"

_STEPS = 100


@dataclasses.dataclass(frozen=True, slots=True)
class Played:
    """What so many days brought. The names of causes are those of the terms of the cost.

    Attributes:
        days: how many.
        stalled_per_day: partition-seconds a day that were not read, by cause; what an eviction costs beside.
        floor_per_day: those of them that no setting changes: the absences themselves, up to the broker's least
            session.
        evictions_per_day: members thrown out that lived, by cause.
        rebalances_per_day: generations begun.
        rebalancing_share: of the time, from 0 to 1.
        detections_s: mean from a death or a hang to the removal of the member, by cause; none where none was removed.
        rollouts: deploys begun.
    """

    days: float
    stalled_per_day: Mapping[str, float]
    floor_per_day: float
    evictions_per_day: Mapping[str, float]
    rebalances_per_day: float
    rebalancing_share: float
    detections_s: Mapping[str, float]
    rollouts: int

    @property
    def gross_per_day(self) -> float:
        """Partition-seconds a day of all causes."""
        return sum(self.stalled_per_day.values())

    @property
    def net_per_day(self) -> float:
        """Those of them that settings can change."""
        return self.gross_per_day - self.floor_per_day

    @property
    def false_evictions_per_day(self) -> float:
        """Members thrown out that lived, of the whole group."""
        return sum(self.evictions_per_day.values())


def simulate(
    profile: Profile,
    settings: LivenessSettings,
    *,
    days: float,
    seed: int,
    rollouts: bool = False,
    in_step: bool = True,
    progress: Callable[[float], object] | None = None,
) -> Played:
    """Play a group out, and return what it cost. The same arguments give the same play.

    What would happen under other settings, with static ids, with a surge, is another play of the profile or the
    settings with that replaced.

    Args:
        profile: what happens to the group.
        settings: that all members have.
        days: how long; what is rare wants many.
        seed: of chance.
        rollouts: a restart is that of the whole group, one pod after the other, instead of that of one member.
        in_step: members beat in step after a rebalance, as those of most libraries do; else at any phase.
        progress: is called now and then with the share of the days that are over, for who waits.

    Raises:
        ValueError: the library is unknown, or days are not positive.
    """
    if not days > 0:
        raise ValueError(f"days {days}: must be positive; in no time nothing happens")
    terms = Terms.of(profile, settings, in_step=in_step)
    events = Events()
    meter = Meter(events)
    _failures(profile, terms, Chance(seed), meter, events).plan(days, rollouts=rollouts)
    for step in range(1, _STEPS + 1):
        events.run_until(days * DAY_S * step / _STEPS)
        if progress is not None:
            progress(step / _STEPS)
    meter.close()
    return _played(meter, days, profile.eviction_price)


def _failures(profile: Profile, terms: Terms, chance: Chance, meter: Meter, events: Events) -> Failures:
    """Return what happens to the group, with the coordinator that it happens to."""
    cadence = _cadence(profile, terms, chance)
    kind = ConsumerCoordinator if terms.rebalancing is Rebalancing.CONSUMER else ClassicCoordinator
    coordinator = kind(terms, profile.partitions, events=events, meter=meter, cadence=cadence)
    return Failures(profile, terms, coordinator=coordinator, cadence=cadence, chance=chance)


def _cadence(profile: Profile, terms: Terms, chance: Chance) -> Cadence:
    if catalogue.client(profile.client).handler_delays_beat:
        return FetchLoop(chance, interval_s=terms.interval_s, turns=terms.turns)
    return BeatTimer(
        chance, period_s=terms.period_s, handlers=profile.handlers, poll_limit_s=min(terms.poll_limit_s, 1e6)
    )


def _played(meter: Meter, days: float, eviction_price: float) -> Played:
    stalled = {str(cause): meter.stalled_s[cause] / days for cause in Cause}
    evictions = {str(cause): meter.evictions[cause] / days for cause in Cause}
    return Played(
        days=days,
        stalled_per_day={**stalled, EVICTION_PRICE: eviction_price * sum(evictions.values())},
        floor_per_day=meter.own_s / days,
        evictions_per_day=evictions,
        rebalances_per_day=meter.rebalances / days,
        rebalancing_share=meter.rebalancing_s / days / DAY_S,
        detections_s={str(cause): sum(times) / len(times) for cause, times in meter.detections_s.items() if times},
        rollouts=meter.rollouts,
    )
