"""The heartbeat periods of libraries that beat by a clock: what several of them have in common."""

from datetime import timedelta

from heartbeat_tuner.clients.client import Circumstances, Period
from heartbeat_tuner.domain.liveness import LivenessSettings


def steady(period: timedelta) -> Period:
    """Return a period that is always the same."""
    return Period(shortest=period, longest=period, usual=period)


def ticker(settings: LivenessSettings, circumstances: Circumstances) -> Period:
    """Return the period of a clock that ticks whatever happens, and of a loop that waits for the answer.

    | H   | round trip | P     |
    |-----|------------|-------|
    | 1 s | 0          | 1 s   |
    | 1 s | 1.5 s      | 1.5 s |
    """
    return steady(max(settings.heartbeat_interval, circumstances.round_trip))


def rearmed(settings: LivenessSettings, circumstances: Circumstances) -> Period:
    """Return the period of a timer that is set again when the answer has come.

    | H   | round trip | P     |
    |-----|------------|-------|
    | 1 s | 0          | 1 s   |
    | 1 s | 1.5 s      | 2.5 s |
    """
    return steady(settings.heartbeat_interval + circumstances.round_trip)


def on_event_loop(period: Period, circumstances: Circumstances) -> Period:
    """Return a period whose timer runs only when handlers let the event loop run.

    The messages that were handed out at once count together: not one timer runs between them.
    """
    blocked = circumstances.blocked
    return Period(shortest=period.shortest, longest=period.longest + blocked, usual=max(period.usual, blocked))
