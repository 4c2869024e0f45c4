"""Who owns a namespace that several installations of the operator look after: exactly one of them. Pure.

An installation claims a policy by writing its name into the status. A status rests on the version that was read, so of
two that write at a time one is refused, and sees the other's claim at its next look. All see the same claims, and the
same Leases of the installations that made them, so all name the same owner:

- an installation whose configuration names the namespace comes before one that looks after all namespaces: that is how
  a person decides on purpose;
- of two that are alike in this the one comes first whose claim is on the oldest policy, so that the installation that
  was there first stays.

A claim counts while its installation runs and looks after the namespace. An upgrade may leave an installation without
a leader for minutes, so a Lease counts as abandoned only a while after it has run out. By the wall clocks of two
machines: where they disagree two installations may change places once, since each status names one of them.
"""

import dataclasses
import enum
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.shards import Installation
from heartbeat_tuner.ports.other_installations import InstallationLease

ABANDONED_AFTER: Final = timedelta(minutes=5)
"""After the end of its Lease an installation counts as gone: longer than an upgrade or a move to another node takes."""

MOST_PER_NAMESPACE: Final = 4
"""Installations whose claims in one namespace are looked into, those on the oldest policies."""


class Why(enum.Enum):
    """Why another installation owns a namespace; the value is a label of a metric."""

    NAMED = "Named"  # its configuration names the namespace, and ours does not
    FIRST = "First"  # it was there first
    UNREADABLE = "Unreadable"  # it was there first, and nobody can say whether it still runs


@dataclasses.dataclass(frozen=True, slots=True)
class StatusClaim:
    """What the status of one policy says of who wrote it.

    Attributes:
        policy: whose status.
        created: when the policy was made, as the API server writes it.
        installation: that wrote it.
    """

    policy: ObjectKey
    created: str
    installation: Installation


@dataclasses.dataclass(frozen=True, slots=True)
class UnreadableLease:
    """A Lease of which nothing is known.

    Attributes:
        problem: what happened, as a sentence.
    """

    problem: str


LeaseLook = InstallationLease | UnreadableLease | None


@dataclasses.dataclass(frozen=True, slots=True)
class OtherOwner:
    """Another installation that owns a namespace.

    Attributes:
        name: of the installation.
        why: it is the owner.
        problem: why its Lease cannot be read; empty where it can.
    """

    name: str
    why: Why
    problem: str = ""


def by_namespace(claims: Iterable[StatusClaim]) -> dict[str, list[StatusClaim]]:
    """Return the first claim of each installation in each namespace, the one on the oldest policy first."""
    ordered: dict[str, dict[str, StatusClaim]] = defaultdict(dict)
    for claim in sorted(claims, key=lambda claim: (claim.created, claim.policy)):
        ordered[claim.policy.namespace].setdefault(claim.installation.name, claim)
    return {namespace: list(firsts.values()) for namespace, firsts in ordered.items()}


def others_to_read(claims: Mapping[str, Sequence[StatusClaim]], mine: Installation) -> list[str]:
    """Return the names of the other installations that have claims, those in most namespaces first.

    Args:
        claims: as `by_namespace` gives them.
        mine: this installation.
    """
    counts: dict[str, int] = defaultdict(int)
    for firsts in claims.values():
        for claim in firsts[:MOST_PER_NAMESPACE]:
            counts[claim.installation.name] += 1
    counts.pop(mine.name, None)
    return sorted(counts, key=lambda name: (-counts[name], name))


def owners(
    claims: Mapping[str, Sequence[StatusClaim]], mine: Installation, leases: Mapping[str, LeaseLook], *, now: datetime
) -> dict[str, OtherOwner]:
    """Return the other installations that own namespaces; a namespace that is left out is this installation's.

    Args:
        claims: as `by_namespace` gives them.
        mine: this installation.
        leases: what is known of those of `others_to_read`; of one that is left out nothing is known.
        now: the time.
    """
    owned = ((namespace, _owner(firsts, mine, leases, now)) for namespace, firsts in claims.items())
    return {namespace: owner for namespace, owner in owned if owner is not None}


def _owner(
    claims: Sequence[StatusClaim], mine: Installation, leases: Mapping[str, LeaseLook], now: datetime
) -> OtherOwner | None:
    """Return the other installation that owns the namespace of these claims; None if this one does."""
    places = {claim.installation.name: place for place, claim in enumerate(claims)}
    before_mine = (not mine.names_namespaces, places.get(mine.name, len(claims)))
    rivals = [
        ((not _names(claim, leases), places[claim.installation.name]), claim)
        for claim in claims[:MOST_PER_NAMESPACE]
        if claim.installation.name != mine.name and _counts(claim, leases, now)
    ]
    rank, claim = min(rivals, key=lambda rival: rival[0], default=(before_mine, None))
    if claim is None or rank > before_mine:
        return None
    name, lease = claim.installation.name, leases.get(claim.installation.name, _NOT_READ)
    if isinstance(lease, UnreadableLease):
        return OtherOwner(name, Why.UNREADABLE, lease.problem)
    return OtherOwner(name, Why.FIRST if rank[0] == before_mine[0] else Why.NAMED)


_NOT_READ: Final = UnreadableLease("too many installations have claims")


def _counts(claim: StatusClaim, leases: Mapping[str, LeaseLook], now: datetime) -> bool:
    """Whether a claim counts: nothing shows that its installation is gone, or looks after other namespaces."""
    lease = leases.get(claim.installation.name, _NOT_READ)
    if isinstance(lease, UnreadableLease):
        return True
    if lease is None or not lease.watches(claim.policy.namespace):
        return False
    return lease.renewed is None or now - lease.renewed <= lease.duration + ABANDONED_AFTER


def _names(claim: StatusClaim, leases: Mapping[str, LeaseLook]) -> bool:
    """Whether the claim's installation names its namespaces: as its Lease says, else as it wrote into the status."""
    lease = leases.get(claim.installation.name)
    return lease.namespaces is not None if isinstance(lease, InstallationLease) else claim.installation.names_namespaces
