"""What is the same on all days of a group: the laws of its pauses and handlers by hour, and what of them shows."""

from typing import Final

import numpy as np

from bench.fleets import HOURS, Group, Kind, stretched
from heartbeat_tuner.clients import catalogue as clients
from heartbeat_tuner.metrics.absence.blocks import BLOCK_S
from heartbeat_tuner.metrics.absence.stalls import HANDLERS_FROM_S
from heartbeat_tuner.tails.histogram import EDGES_S

SHOW_POLLS: Final = frozenset(
    {"java", "java-kip848", "streams-kip1071", "share", "confluent-kafka-python", "confluent-kafka-python-kip848"}
)
"""Libraries whose clients export their gaps between polls."""

SHOW_STOPS: Final = frozenset({"java", "java-kip848", "streams-kip1071", "share"})
"""Those of them whose gaps have the time within a poll."""


class HourlyLaws:
    """What is the same on all days of one `Group`: laws by hour of the day."""

    def __init__(self, group: Group) -> None:
        self.group = group
        profile, loads = group.usual, [group.load(hour) for hour in range(HOURS)]
        self.pauses = np.array([stretched(profile.pauses.law, load).sf(EDGES_S) for load in loads])
        longest = [stretched(profile.handlers, load) for load in loads]
        laws = [law.largest_of(max(1.0, BLOCK_S / law.mean_s)) for law in longest]
        self.handlers = np.array([law.sf(EDGES_S) for law in laws])
        self.usual_gap_s = float(np.median([float(law.quantile(0.5)) for law in laws]))
        self.library = clients.client(group.truth.client)
        self.shows_stops = self.library.name in SHOW_STOPS and (
            group.kind is Kind.GC or self.usual_gap_s < HANDLERS_FROM_S
        )
