"""Client ids that users gave their consumers: whose group they are in, as the broker shows it.

No exporter of the Java consumer tells the group. The library's own `client.id` names it; one that somebody set does
not, but the broker knows it, and the address that it came from. What was seen stays true as long as the pod lives: a
member that was just removed is not shown. Pure; what is known is a value.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from heartbeat_tuner.domain import members_at_pods
from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.domain.kafka_groups import Member
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.resolver import ClientKey, GroupKey

Look = tuple[GroupKey, Sequence[Pod] | None, Sequence[Member]]
"""A policy's group, the living pods of its workload (None: they could not be read), and the members that are shown."""


class ClientIdObservation:
    """One more look at all groups.

    One that is in two groups at once is nobody's: its series cannot be told apart. Neither are those of pods that share
    an address. The library's own ids need no broker.

    Args:
        known: whose the client ids were after the look before.
    """

    def __init__(self, known: Mapping[ClientKey, GroupKey]) -> None:
        self._known: dict[GroupKey, list[ClientKey]] = {}
        for key, owner in known.items():
            self._known.setdefault(owner, []).append(key)
        self._seen: dict[ClientKey, set[GroupKey]] = {}

    def add(self, look: Look) -> None:
        """Take in the look at one policy's group."""
        group, pods, members = look
        names = None if pods is None else {pod.name for pod in pods}
        here = {key for key in self._known.get(group, ()) if names is None or key[1] in names}
        tenants = Counter(pod.ip for pod in pods or ())
        for pod in pods or ():
            shown = [member for member in members if tenants[pod.ip] == 1 and members_at_pods.is_at(member, pod)]
            here |= {
                (group[0], pod.name, member.client_id)
                for member in shown
                if member.client_id and group[1] not in resolver.readings(member.client_id, pod.name)
            }
        for key in here:
            self._seen.setdefault(key, set()).add(group)

    def settled(self) -> dict[ClientKey, GroupKey]:
        """Return whose the client ids are now."""
        return {key: next(iter(groups)) for key, groups in self._seen.items() if len(groups) == 1}
