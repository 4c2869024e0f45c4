"""How far apart members of a share group poll: as far as their clients show it, whatever else is known of the group.

A gap is what handlers took, and for Java's consumer the time within the poll before, too: it exports the time from the
beginning of one poll to that of the next.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.metrics import evictions
from heartbeat_tuner.metrics.conventions import share_groups
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw.resolver import Observed


def longest_gap(
    by_convention: Mapping[Convention, Observed], pods: Sequence[Pod], *, since: datetime
) -> timedelta | None:
    """Return the longest time between two polls of one member; None where no running pod shows any.

    Args:
        by_convention: what was read of the group.
        pods: that run: what others show is history.
        since: from when on it counts.
    """
    polls = {
        quantity: [
            series
            for convention in share_groups.RECORDS
            for pod in pods
            for series in evictions.of_pod(by_convention.get(convention, {}).get(quantity, ()), pod.name)
        ]
        for quantity in evictions.BY_POLLS
    }
    longest_s = evictions.longest_poll_gap_s(polls, since_s=since.timestamp())
    return None if longest_s is None else timedelta(seconds=longest_s)
