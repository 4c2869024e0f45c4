"""Member ids between cycles: a living pod that shows a new id has lost its membership meanwhile.

A group member keeps its id until the coordinator removes it, or until its consumer is closed: a process may make
another one. How many ids came and went between two looks goes unseen. The broker shows a dead
process's id until its session ends, so an id stays with the process that was seen with it. A static member that comes
back has a new id at once, in the place of the old one. In a group of the consumer protocol the client makes its id, and
keeps it when it is removed: nothing is seen here. Pure; the ledger is a value.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from heartbeat_tuner.domain import members_at_pods
from heartbeat_tuner.domain.evidence import MemberChange, Pod
from heartbeat_tuner.domain.kafka_groups import Member

Life = tuple[str, int]
"""One life of a pod's process: pod uid and restart count."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ledger:
    """What was seen so far of one group.

    Attributes:
        ids: the member ids last seen of each living process.
        changes: once per changed id.
        bygone: ids of processes that are gone, as long as the coordinator shows them.
    """

    ids: Mapping[Life, frozenset[str]] = dataclasses.field(default_factory=dict)
    changes: tuple[MemberChange, ...] = ()
    bygone: frozenset[str] = frozenset()


def observe(
    ledger: Ledger, pods: Sequence[Pod], members: Sequence[Member], *, now: datetime, keep_since: datetime
) -> Ledger:
    """Return the ledger after one more look.

    A pod without a member at this moment keeps the ids it had: it may be between two memberships. So does one that
    shares its address with another (on the host's network): whose the new id is cannot be told.

    Kafka may show a restarted process before Kubernetes does: its id then looks like a new one of the process before.
    Such a change is taken back at the look that shows the restart.

    Args:
        ledger: what was seen before.
        pods: the living pods; others are forgotten.
        members: the group's members, tied to pods by address.
        now: the time of this look.
        keep_since: changes before this time are forgotten.
    """
    bygone = _bygone(ledger, pods, members)
    tenants = Counter(pod.ip for pod in pods)
    ids: dict[Life, frozenset[str]] = {}
    begun = {pod.name: pod.started for pod in pods if _life(pod) not in ledger.ids}
    changes = [
        change
        for change in ledger.changes
        if change.at > keep_since and (change.pod not in begun or change.at < begun[change.pod])
    ]
    for pod in pods:
        known = ledger.ids.get(_life(pod), frozenset())
        if tenants[pod.ip] > 1:
            ids[_life(pod)] = known
            continue
        shown = frozenset(member.member_id for member in members if members_at_pods.is_at(member, pod)) - bygone
        new, gone = shown - known, sorted(known - shown)
        replaced = min(len(new), len(gone))
        changes += [MemberChange(now, pod.name)] * replaced
        ids[_life(pod)] = shown | frozenset(gone[replaced:])
    return Ledger(ids, tuple(changes), bygone)


def _bygone(ledger: Ledger, pods: Sequence[Pod], members: Sequence[Member]) -> frozenset[str]:
    """Return the ids that the coordinator still shows though their processes are gone."""
    living = {_life(pod) for pod in pods}
    dead = {member_id for life, known in ledger.ids.items() if life not in living for member_id in known}
    return (ledger.bygone | dead) & {member.member_id for member in members}


def _life(pod: Pod) -> Life:
    return pod.uid, pod.restarts
