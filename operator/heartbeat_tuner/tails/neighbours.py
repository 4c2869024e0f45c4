"""What one namespace may learn from others: from all of them much, from each of them little.

People who run pods in a namespace decide what its metrics say. So a namespace is the unit of trust: where a tail begins
is its own matter, and what it takes over from others is bounded, whatever they say.

- Counts: each other namespace is heard for no more than a third of the days, and of the events, that the namespace has
  itself. So one of them changes a shared rate by at most a third up, and a quarter down (`heard`).
- Laws: none. What a law starts from is the namespace's own (`fleet_prior`).
"""

import math
from typing import Final

import numpy as np

from heartbeat_tuner.tails.gpd import Array

SHARE: Final = 1.0 / 3.0
"""Of what a namespace saw itself, each other one counts for so much at most: of two, the other is a quarter of both."""

FACTOR: Final = 1.0 + SHARE
"""By so much at most, up or down, one namespace changes a rate that another one shares with it."""

_HEARD: Final = 2_048
"""Other namespaces that are asked: so many, evenly spread over all, tell as much as all of them."""


def heard(events: Array, days: Array, *, least: Array) -> tuple[Array, Array]:
    """Return events and days behind the rates of each namespace: its own, and of each other at most a part.

    Args:
        events: of each namespace, namespaces x kinds; not negative.
        days: for how long each was watched, above 0.
        least: events that each namespace counts at least, for what it may have missed; above 0, like `events`.
    """
    own = np.maximum(events, least)
    size = len(days)
    if size == 1:
        return own, days
    asked = np.unique(np.linspace(0, size - 1, min(size, _HEARD)).astype(np.int64))
    together, watched = own.copy(), days.copy()
    for place in range(size):
        others = asked[asked != place]
        shares = np.minimum(SHARE * days[place] / days[others], 1.0)
        together[place] += np.minimum(own[others] * shares[:, None], SHARE * own[place]).sum(axis=0)
        watched[place] += math.fsum((days[others] * shares).tolist())
    return together, watched
