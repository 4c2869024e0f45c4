"""How long after something happened to a member its group knows: what follows from a library's card.

The coordinator removes a member S after the last beat that it received, so S - P to S after the member died, and at
once where the member says that it leaves; some end their fetches before they say so. What a hung handler costs depends
on the library.
"""

import dataclasses
import enum
from datetime import timedelta

from heartbeat_tuner.clients.client import NO_TIME, Circumstances, Client, Hung
from heartbeat_tuner.domain.liveness import LivenessSettings


class Event(enum.StrEnum):
    """What happens to a member."""

    KILLED = "its process is killed"
    PAUSED = "its process stands still, for longer than the session"
    CLOSED = "it is closed"
    HUNG = "its handler does not return"


@dataclasses.dataclass(frozen=True, slots=True)
class Delay:
    """Between which times the group knows."""

    shortest: timedelta
    longest: timedelta


def delay(client: Client, event: Event, settings: LivenessSettings, circumstances: Circumstances) -> Delay | None:
    """Return how long after `event` the member is removed from the group; None if it never is."""
    longest_period = client.period(settings, circumstances).longest
    session = Delay(max(NO_TIME, settings.session_timeout - longest_period), settings.session_timeout)
    if event in {Event.KILLED, Event.PAUSED}:
        return session
    if event is Event.CLOSED:
        return Delay(NO_TIME, client.closing_fetches * settings.fetch_wait) if client.leaves_on_close else session
    if client.hung.has_limit:
        limit = settings.max_poll_interval or settings.rebalance_timeout
        assert limit is not None  # noqa: S101 - a test holds it of all cards
        limit *= client.poll_limit_factor
        if client.hung is Hung.STOPS:
            return Delay(limit + session.shortest, limit + session.longest + longest_period)
        return Delay(limit, limit + longest_period)
    if client.hung is Hung.PLACEMENT and circumstances.brokers == 1:
        return session
    return None
