"""Which members of a group run in a workload's pods: their hosts, as the broker shows them, against pod addresses.

Two answers rest on it: whether a namespace takes part in a group at all, and which members are somebody else's. An
address that a pod shares with its node proves nothing: any pod of that node on the host's network, and whatever leaves
the node translated, connects from it.
"""

import dataclasses
import functools
import ipaddress
from collections.abc import Iterable

from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.domain.kafka_groups import Member

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclasses.dataclass(frozen=True, slots=True)
class MembersAtPods:
    """The members of one group, by where they connect from; each member is in exactly one of the three.

    Attributes:
        inside: from an address that belongs to one of the pods alone.
        unclear: from an address that one of the pods shares with its node: they may be anybody's.
        outside: from any other address.
    """

    inside: tuple[Member, ...]
    unclear: tuple[Member, ...]
    outside: tuple[Member, ...]


def compare(members: Iterable[Member], pods: Iterable[Pod]) -> MembersAtPods:
    """Return where the members are, seen from these pods."""
    own: set[Address] = set()
    shared: set[Address] = set()
    for pod in pods:
        (shared if pod.on_host_network else own).update(addresses_of(pod))
    inside: list[Member] = []
    unclear: list[Member] = []
    outside: list[Member] = []
    for member in members:
        host = address(member.host)
        if host in shared:
            unclear.append(member)
        elif host in own:
            inside.append(member)
        else:
            outside.append(member)
    return MembersAtPods(tuple(inside), tuple(unclear), tuple(outside))


def addresses_of(pod: Pod) -> frozenset[Address]:
    """Return the addresses of a pod; one that is none yet is left out."""
    addresses = (address(ip) for ip in (pod.ip, *pod.more_ips))
    return frozenset(parsed for parsed in addresses if parsed is not None)


def is_at(member: Member, pod: Pod) -> bool:
    """Whether a member connects from an address that the pod has, shared with its node or not."""
    return address(member.host) in addresses_of(pod)


@functools.lru_cache(maxsize=65_536)
def address(text: str) -> Address | None:
    """Return the address that a text is, None for none.

    Brokers write IPv6 in full and Kubernetes in short; a socket for both families shows IPv4 as `::ffff:10.0.0.1`; a
    link-local address may carry its zone; and a broker that looked a name up writes `name/10.0.0.1`.
    """
    try:
        parsed = ipaddress.ip_address(text.rpartition("/")[2].partition("%")[0])
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return parsed if mapped is None else mapped
