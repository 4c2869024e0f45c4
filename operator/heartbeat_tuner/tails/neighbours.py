"""What one namespace may learn from others: from all of them much, from each of them little.

People who run pods in a namespace decide what its metrics say. So a namespace is the unit of trust: where a tail begins
is its own matter, and what it takes over from others is bounded, whatever they say.

- Counts: each other namespace is heard for no more than a third of the days that the namespace has itself, and of the
  events that are counted by then. So one of them changes a shared rate by at most a third up, and a quarter down
  (`heard`); many that agree are heard.
- Laws: none. What a law starts from is the namespace's own (`fleet_prior`).
"""

import math
import zlib
from typing import Final

import numpy as np

from heartbeat_tuner.tails.gpd import Array

SHARE: Final = 1.0 / 3.0
"""Of the days of a namespace itself, and of the events that are counted by its turn, each other one adds so much at
most: of two, the other is a quarter of both."""

FACTOR: Final = 1.0 + SHARE
"""By so much at most, up or down, one namespace changes a rate that another one shares with it."""

_HEARD: Final = 2_048
"""Other namespaces that are asked: so many, drawn from all by what they say, tell as much as all of them. One more
namespace takes the place of one at most."""


def heard(events: Array, days: Array, *, least: Array) -> tuple[Array, Array]:
    """Return events and days behind the rates of each namespace: its own, and of each other at most a part.

    The others come in turn, the lowest rates first, each with what it saw in its part of the days. It adds a third of
    the events that are counted by then at most, so one namespace more or less, whatever it says, changes the sum by
    `FACTOR` at most: no later turn widens what two sums differ by. All kinds have the same turns, so sums fall from
    kind to kind where the events of each namespace do. Of events that the namespace itself hardly has, a few others say
    little, and dozens that agree nearly all (docs/design/0039).

    Args:
        events: of each namespace, namespaces x kinds; not negative.
        days: for how long each was watched, above 0.
        least: events that each namespace counts at least, for what it may have missed; above 0, like `events`.
    """
    own = np.maximum(events, least)
    size = len(days)
    if size == 1:
        return own, days
    drawn = [zlib.crc32(line.tobytes()) for line in np.column_stack([days, own])]
    asked = np.argsort(drawn, kind="stable")[:_HEARD]
    usual = np.log(own[asked] / days[asked, None]).mean(axis=1)
    together, watched = own.copy(), days.copy()
    for other in asked[np.lexsort((days[asked], usual))]:
        theirs = own[other] * np.minimum(SHARE * days / days[other], 1.0)[:, None]
        theirs[other] = 0.0  # its own are counted
        together += np.minimum(theirs, SHARE * together)
    for place in range(size):
        watched[place] += math.fsum(np.minimum(SHARE * days[place], days[asked[asked != place]]).tolist())
    return together, watched
