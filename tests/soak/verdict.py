"""What a soak has to hold, as sentences of what it did not. Pure."""

from collections.abc import Sequence
from typing import Final

from tests.soak.vitals import Growth

JUDGED_FROM_H: Final = 12.0
"""Simulated hours: the memory of a shorter run says how a process fills, not that it leaks."""

MOST_MIB_PER_HOUR: Final = 1.0
MOST_DESCRIPTORS: Final = 4.0
"""Connections that are open at a moment differ by as many."""

MOST_THREADS: Final = 1.0
MOST_OWN_SERIES: Final = 2.0
"""A cause of failure that was never met before has a series of its own from then on."""


def complaints(growths: Sequence[Growth], *, hours: float) -> list[str]:
    """Return a sentence for each bound that a replica broke in the second half."""
    return [sentence for growth in growths for sentence in _of_replica(growth, hours=hours)]


def _of_replica(growth: Growth, *, hours: float) -> list[str]:
    bounds = (
        ("MiB of memory an hour", growth.rss_mib_per_hour, MOST_MIB_PER_HOUR, hours >= JUDGED_FROM_H),
        ("descriptors", growth.descriptors, MOST_DESCRIPTORS, True),
        ("threads", growth.threads, MOST_THREADS, True),
        ("series of no policy", growth.own_series, MOST_OWN_SERIES, True),
    )
    return [
        f"{growth.user} (process {growth.pid}) grew by {grown:g} {what}; at most {most:g} are allowed"
        for what, grown, most, judged in bounds
        if judged and grown > most
    ]
