"""Who is in a group and not of the workload: another Deployment, a person's tool.

Members are told by the address that they connect from, as the broker shows it. Where no address is a pod's (behind a
gateway, or where no broker was asked) nobody can say who is whose, and nobody is called an outsider. Pure.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from heartbeat_tuner.domain import members_at_pods
from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.domain.kafka_groups import Member
from heartbeat_tuner.domain.sentences import Reading, Sentence, say

NAMED: Final = 3
"""A sentence names so many, and counts the rest."""

LONGEST_NAME: Final = 60
"""A client.id may be of any length, and hold anything."""


def outsiders(members: Iterable[Member], pods: Iterable[Pod]) -> tuple[Member, ...]:
    """Return the members that connect from no pod's address, in a fixed order; none where no member can be tied."""
    addresses = frozenset().union(*(members_at_pods.addresses_of(pod) for pod in pods))
    there = list(members)
    others = [member for member in there if members_at_pods.address(member.host) not in addresses]
    if len(others) == len(there):
        return ()
    return tuple(sorted(others, key=lambda member: (member.host, member.client_id, member.member_id)))


def described(members: Sequence[Member]) -> Sentence:
    """Return the first few by client id and address, and how many more there are."""
    places = list(dict.fromkeys(f"{_shown(member.client_id)} at {_shown(member.host)}" for member in members))
    more = say(" and {more} more", more=Reading(len(places) - NAMED)) if len(places) > NAMED else ""
    return say("{members}{more}", members=", ".join(places[:NAMED]), more=more)


def _shown(name: str) -> str:
    plain = "".join(character if character.isprintable() else "?" for character in name) or "a client without an id"
    return plain if len(plain) <= LONGEST_NAME else f"{plain[:LONGEST_NAME]}…"
