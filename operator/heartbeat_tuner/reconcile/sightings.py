"""Member ids between cycles: a living pod that shows a new id has lost its membership meanwhile.

A group member keeps its id until the coordinator removes it. So a pod whose process did not restart, but whose member
id did change, was evicted at least once: a lower bound, since ids between two looks go unseen. Pure; the ledger is a
value.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime

from heartbeat_tuner.domain.evidence import Member, Pod

Life = tuple[str, int]
"""One life of a pod's process: pod uid and restart count."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ledger:
    """What was seen so far of one group.

    Attributes:
        ids: the member ids last seen of each living process.
        changes: when a change was seen, once per changed id.
    """

    ids: Mapping[Life, frozenset[str]] = dataclasses.field(default_factory=dict)
    changes: tuple[datetime, ...] = ()

    def changes_since(self, since: datetime) -> int:
        """How many ids changed after `since`."""
        return sum(1 for at in self.changes if at > since)


def observe(
    ledger: Ledger, pods: Sequence[Pod], members: Sequence[Member], *, now: datetime, keep_since: datetime
) -> Ledger:
    """Return the ledger after one more look.

    A pod without a member at this moment keeps the ids it had: it may be between two memberships.

    Args:
        ledger: what was seen before.
        pods: the living pods; others are forgotten.
        members: the group's members, tied to pods by address.
        now: the time of this look.
        keep_since: changes before this time are forgotten.
    """
    by_host: dict[str, set[str]] = {}
    for member in members:
        by_host.setdefault(member.host, set()).add(member.member_id)
    ids: dict[Life, frozenset[str]] = {}
    changed = 0
    for pod in pods:
        life = (pod.uid, pod.restarts)
        known, shown = ledger.ids.get(life, frozenset()), frozenset(by_host.get(pod.ip, ()))
        new, gone = shown - known, sorted(known - shown)
        replaced = min(len(new), len(gone))
        changed += replaced
        ids[life] = shown | frozenset(gone[replaced:])
    kept = tuple(at for at in ledger.changes if at > keep_since)
    return Ledger(ids, kept + (now,) * changed)
