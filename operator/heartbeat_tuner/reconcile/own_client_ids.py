"""Client ids that users gave their consumers: whose group they are in, as the broker shows it.

No exporter of the Java consumer tells the group. The library's own `client.id` names it; one that somebody set does
not, but the broker knows it, and the address that it came from. What was seen stays true as long as the pod lives: a
member that was just removed is not shown. Pure; what is known is a value.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from heartbeat_tuner.domain import members_at_pods
from heartbeat_tuner.domain.evidence import Member, Pod
from heartbeat_tuner.metrics import resolver
from heartbeat_tuner.metrics.resolver import ClientKey, GroupKey

Look = tuple[GroupKey, Sequence[Pod] | None, Sequence[Member]]
"""A policy's group, the living pods of its workload (None: they could not be read), and the members that are shown."""


def observe(known: Mapping[ClientKey, GroupKey], looks: Iterable[Look]) -> dict[ClientKey, GroupKey]:
    """Return whose the client ids are after one more look.

    One that is in two groups at once is nobody's: its series cannot be told apart. Neither are those of pods that share
    an address. The library's own ids need no broker.

    Args:
        known: what was returned before.
        looks: at each policy's group.
    """
    seen: dict[ClientKey, set[GroupKey]] = {}
    for group, pods, members in looks:
        names = None if pods is None else {pod.name for pod in pods}
        here = {key for key, owner in known.items() if owner == group and (names is None or key[1] in names)}
        tenants = Counter(pod.ip for pod in pods or ())
        for pod in pods or ():
            shown = [one for one in members if tenants[pod.ip] == 1 and members_at_pods.is_at(one, pod)]
            here |= {
                (group[0], pod.name, one.client_id)
                for one in shown
                if one.client_id and group[1] not in resolver.readings(one.client_id, pod.name)
            }
        for key in here:
            seen.setdefault(key, set()).add(group)
    return {key: next(iter(groups)) for key, groups in seen.items() if len(groups) == 1}
