"""Which values may be set at all, before anybody asks what they cost.

A session timeout must hold several heartbeats and be within what broker, policy, client library and the wanted
detection time allow; each limit has a name, so that two that collide can be told. A longer wait for fetches than H only
delays beats. Every value here is one that may be written as it is: whole seconds up to a minute, 5 s above.
"""

import dataclasses
import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.clients.client import Circumstances, Client, Hung
from heartbeat_tuner.decision.limits import BEATS_PER_SESSION, COARSE_STEP, FINE_STEPS_BELOW, POLL_GAP_MARGIN, Limit
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Range
from heartbeat_tuner.tails.gpd import Array

INTERVALS: Final = tuple(timedelta(seconds=one) for one in (1, 1.5, 2, 3, 5, 8, 10, 15))
"""What H may be: an announcement delay, not a count of tries."""

LONGEST: Final = timedelta(milliseconds=2**31 - 1)
"""Kafka's protocol has 32 bits for a time."""

USUAL_POLL_LIMIT: Final = timedelta(minutes=1)
"""M is not lowered below this: what that saves rests on how often handlers hang, which nobody has measured."""

_KEPT: Final = "what is set, for live members are being evicted"
_GROWTH: Final = 1.04
_LEAST_STEP: Final = timedelta(seconds=1)
_LEAST_SHARE: Final = 0.05


def _settable() -> Array:
    fine_s, step_s = FINE_STEPS_BELOW.total_seconds(), COARSE_STEP.total_seconds()
    values = list(np.arange(1.0, fine_s + 1.0))
    while values[-1] * _GROWTH < LONGEST.total_seconds():
        values.append(max(values[-1] + step_s, math.floor(values[-1] * _GROWTH / step_s) * step_s))
    return np.array(values)


SETTABLE_S: Final[Array] = _settable()
"""The timeouts that are compared, in seconds: those that may be written, 4 % apart where they are long."""
SETTABLE_S.setflags(write=False)


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
    """

    client: Client
    current: LivenessSettings
    bounds: Mapping[Setting, Range]
    broker_session: Range
    broker_interval: Range
    max_detection_time: timedelta
    largest_poll_gap_s: float | None
    upwards: bool = False

    def beats(self) -> tuple[LivenessSettings, ...]:
        """Return what is set with each H that may be, the shortest first, and the W that goes with it."""
        low, high = (one.value for one in self.interval())
        within = [one for one in INTERVALS if low <= one <= high]
        if not within and low <= high:
            # Between two of them; the policy's own limit then is the value.
            within = [min(max(self.current.heartbeat_interval, low), high)]
        return tuple(
            dataclasses.replace(self.current, heartbeat_interval=one, fetch_wait=self._wait(one)) for one in within
        )

    def interval(self) -> tuple[Limit, Limit]:
        """Return the least and the greatest H, by the limits that say so."""
        bounds = self._bounds(Setting.HEARTBEAT_INTERVAL)
        floors = [
            Limit(bounds.min or timedelta(0), "bounds.heartbeatInterval.min"),
            Limit(self.broker_interval.min or timedelta(0), "the broker's least heartbeat interval"),
        ]
        ceilings = [
            Limit(bounds.max or LONGEST, "bounds.heartbeatInterval.max"),
            Limit(self.broker_interval.max or LONGEST, "the broker's greatest heartbeat interval"),
        ]
        return _tightest(floors, ceilings)

    def session(self, beat: LivenessSettings) -> tuple[Limit, Limit]:
        """Return the least and the greatest S that goes with a beat, by the limits that say so."""
        interval = beat.heartbeat_interval
        longest = self.client.period(beat, Circumstances()).longest
        floors = [
            Limit(
                BEATS_PER_SESSION * interval, f"{BEATS_PER_SESSION} heartbeat intervals of {durations.show(interval)}"
            ),
            Limit(longest + timedelta(milliseconds=1), f"longer than {durations.show(longest)} between two heartbeats"),
            Limit(self.broker_session.min or timedelta(0), "the broker's least session timeout"),
            Limit(self._bounds(Setting.SESSION_TIMEOUT).min or timedelta(0), "bounds.sessionTimeout.min"),
            Limit(self.current.session_timeout if self.upwards else timedelta(0), _KEPT),
        ]
        ceilings = [
            Limit(self.max_detection_time, "objective.maxDetectionTime"),
            Limit(self.broker_session.max or LONGEST, "the broker's greatest session timeout"),
            Limit(self._bounds(Setting.SESSION_TIMEOUT).max or LONGEST, "bounds.sessionTimeout.max"),
            *(
                Limit(self.client.poll_limit_factor * min(beat[one], LONGEST), f"{one}, which must cover it")
                for one in self.client.must_cover_session
                if one in beat.by_setting
            ),
        ]
        return _tightest(floors, ceilings)

    def poll(self) -> tuple[Limit, Limit]:
        """Return the least and the greatest M, by the limits that say so.

        Where the library refuses an M below S, it is no shorter than the longest S that may be.
        """
        bounds = self._bounds(Setting.MAX_POLL_INTERVAL)
        ceiling = Limit(bounds.max or LONGEST, "bounds.maxPollInterval.max")
        gap_s = POLL_GAP_MARGIN * (self.largest_poll_gap_s or 0.0) / self.client.poll_limit_factor
        gap = timedelta(seconds=min(gap_s, LONGEST.total_seconds()))
        least = min(USUAL_POLL_LIMIT, self.current.max_poll_interval or USUAL_POLL_LIMIT, ceiling.value)
        floors = [
            Limit(least, "the least that is worth setting"),
            Limit(durations.ceil_to_second(gap), f"{POLL_GAP_MARGIN:g} times the longest poll gap"),
            Limit(bounds.min or timedelta(0), "bounds.maxPollInterval.min"),
        ]
        if Setting.MAX_POLL_INTERVAL in self.client.must_cover_session:
            allowed = self._bounds(Setting.SESSION_TIMEOUT).max or LONGEST
            longest = min(allowed, self.broker_session.max or LONGEST, self.max_detection_time)
            covering = min(longest / self.client.poll_limit_factor, ceiling.value)
            floors.append(Limit(min(durations.ceil_to_second(covering), ceiling.value), "the longest session timeout"))
        if self.upwards and self.current.max_poll_interval is not None:
            floors.append(Limit(self.current.max_poll_interval, _KEPT))
        return _tightest(floors, [ceiling])

    def unbounded(self) -> "Rules":
        """Return the same without the policy's bounds."""
        return dataclasses.replace(self, bounds={})

    def _wait(self, interval: timedelta) -> timedelta:
        wait = min(self.current.fetch_wait, interval) if self.client.beat_waits_for_fetch else self.current.fetch_wait
        bounds = self._bounds(Setting.FETCH_WAIT)
        return min(max(wait, bounds.min or wait), bounds.max or LONGEST)

    def _bounds(self, setting: Setting) -> Range:
        return self.bounds.get(setting, Range())


def _tightest(floors: list[Limit], ceilings: list[Limit]) -> tuple[Limit, Limit]:
    return max(floors, key=lambda one: one.value), min(ceilings, key=lambda one: one.value)


def poll_limit(client: Client, settings: LivenessSettings) -> timedelta | None:
    """Return what is set for how long a member may not poll; None if the library knows no such limit."""
    if settings.max_poll_interval is None and client.hung is Hung.LEAVES:
        return settings.rebalance_timeout
    return settings.max_poll_interval


def settable(low_s: float, high_s: float) -> Array:
    """Return the values to compare between two limits, in seconds; the upper one where none lies between."""
    inside = SETTABLE_S[np.searchsorted(SETTABLE_S, low_s) : np.searchsorted(SETTABLE_S, high_s, side="right")]
    return inside if inside.size else np.array([high_s])


def too_small(before: timedelta, after: timedelta) -> bool:
    """Whether a change of S or M is too small to be made: under a second, or under 5 %."""
    return abs(after - before) < max(_LEAST_STEP, _LEAST_SHARE * before)
