"""Members of a group that are not of the workload, between cycles.

A group that others disturb shows them for moments only: a member that has just been removed is not in it, and comes
back. So those that were seen are remembered for as long as a record reaches back. A pod that is gone was the
workload's, and is no stranger while its member is still shown. Pure; the value is small, however many come and go.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from heartbeat_tuner.decision.evictions import outsiders
from heartbeat_tuner.domain import members_at_pods
from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.domain.kafka_groups import Member

MOST: Final = 50
"""So many are remembered; a sentence names three."""

MOST_ADDRESSES: Final = 500
"""Of pods that were the workload's."""


@dataclasses.dataclass(frozen=True, slots=True)
class ForeignMembers:
    """What was seen so far of one group.

    Attributes:
        ours: when an address was last a pod's of the workload.
        seen: the strangers by address and client id, each with the time of the last look that showed it.
    """

    ours: Mapping[str, datetime] = dataclasses.field(default_factory=dict)
    seen: Mapping[tuple[str, str], tuple[Member, datetime]] = dataclasses.field(default_factory=dict)

    @property
    def members(self) -> tuple[Member, ...]:
        """The strangers, in a fixed order."""
        return tuple(self.seen[key][0] for key in sorted(self.seen))


def observe(
    known: ForeignMembers, pods: Sequence[Pod], members: Iterable[Member], *, now: datetime, keep_since: datetime
) -> ForeignMembers:
    """Return what is known after one more look; what was last seen before `keep_since` is forgotten."""
    here = {str(address): now for pod in pods for address in members_at_pods.addresses_of(pod)}
    ours = _newest({address: at for address, at in known.ours.items() if at >= keep_since} | here)
    shown = {(outsider.host, outsider.client_id): (outsider, now) for outsider in outsiders.outsiders(members, pods)}
    seen = {key: sighting for key, sighting in known.seen.items() if sighting[1] >= keep_since} | shown
    strangers = [(key, sighting) for key, sighting in seen.items() if str(members_at_pods.address(key[0])) not in ours]
    newest = sorted(strangers, key=lambda stranger: (-stranger[1][1].timestamp(), stranger[0]))
    return ForeignMembers(ours, dict(newest[:MOST]))


def _newest(times: Mapping[str, datetime]) -> dict[str, datetime]:
    newest = sorted(times.items(), key=lambda entry: (-entry[1].timestamp(), entry[0]))
    return dict(newest[:MOST_ADDRESSES])
