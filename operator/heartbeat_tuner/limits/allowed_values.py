"""Which values may be set at all, before anybody asks which of them are best.

A session timeout must hold several heartbeats and be within what broker, policy, client library and the wanted
detection time allow; each limit has a name, so that two that collide can be told. A longer wait for fetches than H only
delays beats. Every value here is one that may be written as it is: whole seconds up to a minute, 5 s above.

Who chooses asks here: `remedy` by what a record shows, `search` by what values cost, `suggestions` by what `check` was
given.
"""

import dataclasses
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients.client import Circumstances, Client, Period, Protocol
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Range
from heartbeat_tuner.domain.sentences import Reading, say

BEATS_PER_SESSION: Final = 3
POLL_GAP_MARGIN: Final = 1.3

INTERVALS: Final = tuple(timedelta(seconds=seconds) for seconds in (1, 1.5, 2, 3, 5, 8, 10, 15))
"""What H may be: an announcement delay, not a count of tries."""

HEARTBEAT_FLOOR: Final = INTERVALS[0]
"""Below this, H only costs requests (design, section 7.4)."""

LONGEST: Final = timedelta(milliseconds=2**31 - 1)
"""Kafka's protocol has 32 bits for a time."""

USUAL_POLL_LIMIT: Final = timedelta(minutes=1)
"""M is not lowered below this: what that saves rests on how often handlers hang, which nobody has measured."""

FINE_STEPS_BELOW: Final = timedelta(seconds=60)
COARSE_STEP: Final = timedelta(seconds=5)

_KEPT: Final = "what is set, for live members are being evicted"


@dataclasses.dataclass(frozen=True, slots=True)
class Infeasible:
    """No values satisfy everything; the sentence names the two numbers that collide."""

    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Limit:
    """A value with its name, so that a sentence can say whose it is."""

    value: timedelta
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Rules:
    """What the values of one group must keep.

    Attributes:
        client: its library's card.
        current: what is set.
        bounds: the policy's.
        broker_session: S that the broker accepts.
        broker_interval: H that the broker accepts, of a group whose H it says.
        max_detection_time: how late a crash may be noticed.
        largest_poll_gap_s: the longest time between two polls that was seen; None where that is not measured.
        upwards: neither S nor M may be lowered, for live members are being evicted.
        bounds_assumed: `broker_session` could not be read, and is what a broker has that nobody configured.
        brokers: of the Kafka cluster.
        held: the least H that the budget of the cluster's heartbeats leaves; None where it leaves any.
        gaps_too_few: M may rise and not fall: gaps between polls were not watched for a whole day.
        least_poll_limit: M is not lowered below it.
        outlasted: the longest absence seen, where S is not lowered below that and a heartbeat.
        consumer_protocol: `broker_session` is the broker's for groups of KIP-848.
        fixed: not asked for: they stay as they are, and collide with nothing.
    """

    client: Client
    current: LivenessSettings
    bounds: Mapping[Setting, Range]
    broker_session: Range
    broker_interval: Range
    max_detection_time: timedelta
    largest_poll_gap_s: float | None
    upwards: bool = False
    bounds_assumed: bool = False
    brokers: int = 1
    held: Limit | None = None
    gaps_too_few: bool = False
    least_poll_limit: timedelta = USUAL_POLL_LIMIT
    outlasted: Limit | None = None
    consumer_protocol: bool = False
    fixed: frozenset[Setting] = frozenset()

    def period(self, settings: LivenessSettings) -> Period:
        """Return the time between two heartbeats that settings give."""
        return self.client.period(settings, Circumstances(brokers=self.brokers))

    def intervals(self) -> tuple[timedelta, ...]:
        """Return which H may be, the shortest first."""
        low, high = (limit.value for limit in self.interval())
        within = [interval for interval in INTERVALS if low <= interval <= high]
        if self.held is not None and self.held.value == low and low not in within:
            within = [low, *within]  # what is set, which need not be one of them
        if not within and low <= high:
            # Between two of them; the policy's own limit then is the value.
            within = [min(max(self.current.heartbeat_interval, low), high)]
        return tuple(within)

    def beat(self, interval: timedelta, poll_limit: timedelta | None) -> LivenessSettings:
        """Return what is set with an H, the W that goes with it, and an M."""
        beat = self.bounded(with_interval(self.current, self.client, interval))
        return dataclasses.replace(beat, max_poll_interval=poll_limit)

    def bounded(self, beat: LivenessSettings) -> LivenessSettings:
        """Return a beat with H and W within the policy's bounds, which hold for what is set already, too."""
        return dataclasses.replace(
            beat,
            heartbeat_interval=_clamped(beat.heartbeat_interval, self._bounds(Setting.HEARTBEAT_INTERVAL)),
            fetch_wait=_clamped(beat.fetch_wait, self._bounds(Setting.FETCH_WAIT)),
        )

    def interval(self) -> tuple[Limit, Limit]:
        """Return the least and the greatest H, by the limits that say so."""
        if (fixed := self._fixed(Setting.HEARTBEAT_INTERVAL)) is not None:
            return fixed, fixed
        bounds = self._bounds(Setting.HEARTBEAT_INTERVAL)
        floors = [
            Limit(bounds.min or timedelta(0), "bounds.heartbeatInterval.min"),
            Limit(self.broker_interval.min or timedelta(0), "the broker's least heartbeat interval"),
        ]
        ceilings = [
            Limit(bounds.max or LONGEST, "bounds.heartbeatInterval.max"),
            Limit(self.broker_interval.max or LONGEST, "the broker's greatest heartbeat interval"),
        ]
        floor, ceiling = tightest(floors, ceilings)
        if self.held is not None and floor.value < self.held.value <= ceiling.value:
            floor = self.held
        return floor, ceiling

    def session(self, beat: LivenessSettings) -> tuple[Limit, Limit]:
        """Return the least and the greatest S that goes with a beat, by the limits that say so."""
        if (fixed := self._fixed(Setting.SESSION_TIMEOUT)) is not None:
            return fixed, fixed
        interval, longest = beat.heartbeat_interval, self.period(beat).longest
        wait = f" with fetchWait {durations.show(beat.fetch_wait)}" if self.client.beat_waits_for_fetch else ""
        floors = [
            Limit(
                BEATS_PER_SESSION * interval, f"{BEATS_PER_SESSION} heartbeat intervals of {durations.show(interval)}"
            ),
            Limit(
                longest + timedelta(milliseconds=1),
                f"longer than {durations.show(longest)} between two heartbeats{wait}",
            ),
            self._broker_limit("min", self.broker_session.min or timedelta(0)),
            Limit(self._bounds(Setting.SESSION_TIMEOUT).min or timedelta(0), "bounds.sessionTimeout.min"),
            Limit(self.current.session_timeout if self.upwards else timedelta(0), _KEPT),
        ]
        if self.outlasted is not None:
            needed = durations.ceil_to_second(longest + self.outlasted.value)
            floors.append(Limit(min(needed, self.current.session_timeout), self.outlasted.name))
        ceilings = [
            Limit(self.max_detection_time, "objective.maxDetectionTime"),
            self._broker_limit("max", self.broker_session.max or LONGEST),
            Limit(self._bounds(Setting.SESSION_TIMEOUT).max or LONGEST, "bounds.sessionTimeout.max"),
            *(
                Limit(self.client.poll_limit_factor * min(beat[setting], LONGEST), f"{setting}, which must cover it,")
                for setting in self.client.must_cover_session
                if setting in beat.by_setting
            ),
        ]
        return tightest(floors, ceilings)

    def poll(self) -> tuple[Limit, Limit]:
        """Return the least and the greatest M, by the limits that say so; M covers S where it must."""
        if (fixed := self._fixed(Setting.MAX_POLL_INTERVAL)) is not None:
            return fixed, fixed
        bounds = self._bounds(Setting.MAX_POLL_INTERVAL)
        ceiling = Limit(bounds.max or LONGEST, "bounds.maxPollInterval.max")
        current = self.current.max_poll_interval
        least = min(self.least_poll_limit, current or USUAL_POLL_LIMIT, ceiling.value)
        floors = [
            Limit(least, "the least that the days watched allow"),
            self._gap_borne(),
            Limit(bounds.min or timedelta(0), "bounds.maxPollInterval.min"),
        ]
        if Setting.MAX_POLL_INTERVAL in self.client.must_cover_session:
            allowed = self._bounds(Setting.SESSION_TIMEOUT).max or LONGEST
            longest = min(allowed, self.broker_session.max or LONGEST, self.max_detection_time)
            covering = min(longest / self.client.poll_limit_factor, ceiling.value)
            floors.append(Limit(min(durations.ceil_to_second(covering), ceiling.value), "the longest session timeout"))
        if self.upwards and current is not None:
            floors.append(Limit(current, _KEPT))
        return tightest(floors, [ceiling])

    def unbounded(self) -> "Rules":
        """Return the same without the policy's bounds."""
        return dataclasses.replace(self, bounds={})

    def _gap_borne(self) -> Limit:
        gap = timedelta(seconds=min(self.largest_poll_gap_s or 0.0, LONGEST.total_seconds()))
        needed = min(poll_limit_for(self.client, gap), LONGEST)
        times = say(
            "{times:g} times the longest poll gap, {longestPollGap:about}",
            times=POLL_GAP_MARGIN,
            longestPollGap=Reading(gap),
        )
        return Limit(needed, times)

    def _broker_limit(self, side: str, value: timedelta) -> Limit:
        kind = next((each for each in self.client.protocols if each.is_at_broker), Protocol.CONSUMER)
        keys = f"group.{kind}" if self.consumer_protocol else "group"
        return broker_limit(value, side, assumed=self.bounds_assumed, keys=keys)

    def _fixed(self, setting: Setting) -> Limit | None:
        """Return what is set, where it is not asked for: a group's values at the broker and its clients' are apart."""
        current = self.current.by_setting.get(setting) if setting in self.fixed else None
        return None if current is None else Limit(current, f"{setting} as it is set")

    def _bounds(self, setting: Setting) -> Range:
        fixed = self._fixed(setting)
        return self.bounds.get(setting, Range()) if fixed is None else Range(fixed.value, fixed.value)


def tightest(floors: list[Limit], ceilings: list[Limit]) -> tuple[Limit, Limit]:
    """Return the highest floor and the lowest ceiling; of several that are the same, the first."""
    return max(floors, key=lambda floor: floor.value), min(ceilings, key=lambda ceiling: ceiling.value)


def half_of(value: timedelta) -> timedelta:
    """Return the least S or M that one step leads to: half of what is set, in whole seconds."""
    return min(durations.ceil_to_second(value / 2), value)


def collide(need: str, floor: Limit, ceiling: Limit) -> Infeasible:
    """Return the two limits that collide, in the one sentence that there is for this.

    Args:
        need: its beginning: what does not fit, and who needs at least the floor.
        floor: the higher of the two.
        ceiling: the lower one.
    """
    return Infeasible(
        say(
            "{need} at least {least} ({because}), but {limit} allows at most {most}",
            need=need,
            least=Reading(floor.value),
            because=floor.name,
            limit=ceiling.name,
            most=ceiling.value,
        )
    )


def beats_held(period: timedelta) -> Limit:
    """Return the S that holds enough beats, by the time between two of them."""
    return Limit(BEATS_PER_SESSION * period, f"{BEATS_PER_SESSION} heartbeats of {durations.show(period)}")


def broker_limit(value: timedelta, side: str, *, assumed: bool, keys: str = "group") -> Limit:
    """Name the broker's bound of S, `min` or `max`, whose key begins with `keys`; where assumed, it says so."""
    return Limit(value, f"the broker's {keys}.{side}.session.timeout.ms{' (assumed)' if assumed else ''}")


def with_interval(current: LivenessSettings, client: Client, interval: timedelta) -> LivenessSettings:
    """Return `current` with H set to `interval`, and W of at most H where the beat waits for the fetch."""
    wait = min(current.fetch_wait, interval) if client.beat_waits_for_fetch else current.fetch_wait
    return dataclasses.replace(current, heartbeat_interval=interval, fetch_wait=wait)


def session_between(floor: Limit, ceiling: Limit, client: Client) -> timedelta | Infeasible:
    """Return S of at least `floor` and, where `ceiling` allows it, the library's default; or the two that collide."""
    if floor.value > ceiling.value:
        return collide("No session timeout fits: the group needs", floor, ceiling)
    return step(max(floor.value, client.default_session_timeout), ceiling.value)


def step(wish: timedelta, ceiling: timedelta) -> timedelta:
    """Return `wish` rounded up to whole seconds, above a minute to 5 s, but not above `ceiling`."""
    size = timedelta(seconds=1) if wish <= FINE_STEPS_BELOW else COARSE_STEP
    return min(-(-durations.to_ms(wish) // durations.to_ms(size)) * size, ceiling)


def poll_limit(client: Client, settings: LivenessSettings) -> timedelta | None:
    """Return what is set for how long a member may not poll; None if the library knows no such limit."""
    if settings.max_poll_interval is None and client.hung.has_limit:
        return settings.rebalance_timeout
    return settings.max_poll_interval


def poll_limit_for(client: Client, gap: timedelta) -> timedelta:
    """Return the M that allows a gap between two polls, in whole seconds."""
    return durations.ceil_to_second(POLL_GAP_MARGIN * gap / client.poll_limit_factor)


def _clamped(value: timedelta, bounds: Range) -> timedelta:
    return min(max(value, bounds.min or value), bounds.max or LONGEST)
