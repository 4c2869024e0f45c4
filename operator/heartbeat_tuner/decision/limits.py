"""The arithmetic of the rule without tails (design, section 7.5): no situation, only values and limits.

`choice` uses it on what was seen of a group, `remedies` on what `check` was given.
"""

import dataclasses
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings

BEATS_PER_SESSION: Final = 3
POLL_GAP_MARGIN: Final = 1.3
HEARTBEAT_FLOOR: Final = timedelta(seconds=1)
"""H is an announcement delay; below this it only costs requests (design, section 7.4)."""

FINE_STEPS_BELOW: Final = timedelta(seconds=60)
COARSE_STEP: Final = timedelta(seconds=5)


@dataclasses.dataclass(frozen=True, slots=True)
class Infeasible:
    """No values satisfy everything; the sentence names the two numbers that collide."""

    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Limit:
    """A value with its name, so that a sentence can say whose it is."""

    value: timedelta
    name: str


def with_interval(current: LivenessSettings, client: Client, interval: timedelta) -> LivenessSettings:
    """Return `current` with H set to `interval`, and W of at most H where the beat waits for the fetch."""
    wait = min(current.fetch_wait, interval) if client.beat_waits_for_fetch else current.fetch_wait
    return dataclasses.replace(current, heartbeat_interval=interval, fetch_wait=wait)


def session_between(floor: Limit, ceiling: Limit, client: Client) -> timedelta | Infeasible:
    """Return S of at least `floor` and, where `ceiling` allows it, the library's default; or the two that collide."""
    if floor.value > ceiling.value:
        return Infeasible(
            f"No session timeout fits: the group needs at least {durations.show(floor.value)} ({floor.name}), but "
            f"{ceiling.name} allows at most {durations.show(ceiling.value)}"
        )
    return step(max(floor.value, client.default_session_timeout), ceiling.value)


def step(wish: timedelta, ceiling: timedelta) -> timedelta:
    """Return `wish` rounded up to whole seconds, above a minute to 5 s, but not above `ceiling`."""
    size = timedelta(seconds=1) if wish <= FINE_STEPS_BELOW else COARSE_STEP
    return min(-(-durations.to_ms(wish) // durations.to_ms(size)) * size, ceiling)


def granted(wish: Limit, room: Limit) -> timedelta:
    """Return as much of a wish as there is room for, in the usual steps."""
    return step(min(wish.value, room.value), room.value)


def asked(wish: Limit | None, room: Limit) -> str:
    """Return the rest of a sentence that says who wished for what, and what did not allow it; empty without a wish."""
    if wish is None:
        return ""
    cut = f", but {room.name} allows {durations.show(room.value)}" if wish.value > room.value else ""
    return f"; {wish.name} asks for {durations.show(wish.value)}{cut}"
