"""A schedule in which everybody is disturbed at once, drawn from a seed. Pure.

What happens to the two replicas is drawn as in `tests.schedules.schedule`. Beside it Prometheus and the broker go away,
the webhook is killed, stopped and cut off, pods with static ids are taken away, a model is replaced, and a person
reverts one policy's change and pauses another. What a person does is the same in each schedule; when, is drawn.
"""

import dataclasses
import enum
import random
from collections.abc import Iterator
from typing import Final

from tests.schedules.schedule import Event, drawn

SEEDS: Final = range(1001, 1201)


class Deed(enum.Enum):
    """What happens beside the replicas."""

    PROMETHEUS_CUT = "Prometheus away"
    PROMETHEUS_BACK = "Prometheus back"
    BROKER_CUT = "broker away"
    BROKER_BACK = "broker back"
    WEBHOOK_KILL = "webhook killed"
    """It is started again at once."""
    WEBHOOK_STOP = "webhook stopped"
    WEBHOOK_CONTINUE = "webhook goes on"
    WEBHOOK_CUT = "webhook cut off"
    WEBHOOK_BACK = "webhook back"
    POD = "pod taken away"
    ROLL = "pods rolled"
    MODEL = "model replaced"
    REVERT = "change reverted by a person"
    PAUSE = "policy paused by a person"
    RESUME = "policy resumed by a person"


@dataclasses.dataclass(frozen=True)
class Beside:
    """A deed and its time.

    Attributes:
        at_s: seconds after the first value was applied.
    """

    at_s: float
    deed: Deed

    def __str__(self) -> str:
        return f"{self.at_s:.2f} {self.deed.value}"


PACE: Final = 3.0
"""So much slower than `tests.schedules.schedule` everything happens, and leases last so much longer.

More parts are at work here, and a lease of two seconds is lost to a busy machine alone.
"""

_SPAN_S: Final = 6.0 * PACE
_LASTS_S: Final = (0.3 * PACE, 3.0 * PACE)
_OUTAGES: Final = (
    (Deed.PROMETHEUS_CUT, Deed.PROMETHEUS_BACK, 0.6),
    (Deed.BROKER_CUT, Deed.BROKER_BACK, 0.6),
    (Deed.WEBHOOK_STOP, Deed.WEBHOOK_CONTINUE, 0.5),
    (Deed.WEBHOOK_CUT, Deed.WEBHOOK_BACK, 0.5),
)
"""What begins an outage, what ends it, and in how many schedules there is one."""

_PODS: Final = (2, 6)
_MODELS: Final = (0, 3)
_ROLLED_SHARE: Final = 0.5
_WEBHOOK_KILLED_SHARE: Final = 0.6


def drawn_at_once(seed: int) -> tuple[Event | Beside, ...]:
    """Return the schedule of a seed in the order of its times; one seed gives the same one always."""
    chance = random.Random(f"at once {seed}")  # noqa: S311 - a schedule to repeat, not a secret
    beside = [Beside(round(at_s, 3), deed) for at_s, deed in _beside(chance)]
    replicas = [dataclasses.replace(event, at_s=round(event.at_s * PACE, 3)) for event in drawn(seed)]
    return tuple(sorted((*replicas, *beside), key=lambda event: event.at_s))


def persons_alone() -> tuple[Beside, ...]:
    """Return what persons do in each schedule, with nothing else: the undisturbed run."""
    return (Beside(0.0, Deed.PAUSE), Beside(1.0, Deed.RESUME), Beside(1.0, Deed.REVERT))


def _beside(chance: random.Random) -> Iterator[tuple[float, Deed]]:
    for begin, end, share in _OUTAGES:
        if chance.random() < share:
            at_s = chance.uniform(0, _SPAN_S)
            yield at_s, begin
            yield at_s + chance.uniform(*_LASTS_S), end
    if chance.random() < _WEBHOOK_KILLED_SHARE:
        yield chance.uniform(0, _SPAN_S), Deed.WEBHOOK_KILL
    for _ in range(chance.randint(*_PODS)):
        yield chance.uniform(0, _SPAN_S), Deed.POD
    if chance.random() < _ROLLED_SHARE:
        yield chance.uniform(0, _SPAN_S), Deed.ROLL
    for _ in range(chance.randint(*_MODELS)):
        yield chance.uniform(0, _SPAN_S), Deed.MODEL
    paused_s = chance.uniform(0, _SPAN_S / 2)
    yield paused_s, Deed.PAUSE
    yield paused_s + chance.uniform(*_LASTS_S), Deed.RESUME
    yield chance.uniform(0, _SPAN_S), Deed.REVERT
