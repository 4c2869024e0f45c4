"""What slots are called: static ids, their Leases, and the marks by which pods and Leases are found.

An id is the Deployment's name, eight digits of the policy's uid, and the slot's number, so that a policy that was
deleted and made again never gives an id that a pod of the old one still has. The Lease has the id's own name. A pod of
a StatefulSet has no slot: its id ends in its own number. Libraries with several members in a process put a dash and a
number behind an id; what comes of that is no other pod's id, nor another's with a number behind it.
"""

import dataclasses
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from heartbeat_tuner.domain.policies import DEPLOYMENT, ROLLOUT, ObjectKey

SLOT_LABEL: Final = "heartbeat-tuner.dev/slot"
"""On pods and Leases: the slot's number. Watches select by it."""

TOKEN_ANNOTATION: Final = "heartbeat-tuner.dev/slot-token"  # noqa: S105 - names a claim, opens nothing
"""On pods: which claim is theirs."""

GATE: Final = "heartbeat-tuner.dev/slot"
"""The scheduling gate of a pod whose slot is promised."""

LONGEST_NAME: Final = 200
"""Characters of the Deployment's name in an id: Kafka takes 249 in all."""

UID_DIGITS: Final = 8

NUMBER_DIGITS: Final = 5

LONGEST_ID: Final = 249
"""What Kafka takes."""

MOST_SLOTS: Final = 10_000
"""Of one policy. Larger than any group there is, and few enough to be looked through: a Deployment may ask for 2**31
pods and as many of surge, in no more than a line. Pods beyond it get no id. Their numbers fit `NUMBER_DIGITS`."""

HASH_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {"pod-template-hash": DEPLOYMENT, "rollouts-pod-template-hash": ROLLOUT}
)
"""On the pods of each kind of workload that has ReplicaSets: what a ReplicaSet's name has more than the workload's."""

LENDING_KINDS: Final = frozenset(HASH_LABELS.values())
"""Kinds of workloads whose pods get other names in each rollout: static ids are lent to them, as slots."""

_ID: Final = re.compile(rf"(?P<prefix>[-.a-z0-9]+-[0-9a-f]{{{UID_DIGITS}}}-)(?P<number>[0-9]{{1,{NUMBER_DIGITS}}})")


@dataclasses.dataclass(frozen=True, slots=True)
class SlotPlace:
    """The slots of one policy.

    Attributes:
        namespace: of the policy, its pods and Leases.
        prefix: of all its ids.
    """

    namespace: str
    prefix: str

    def id_of(self, number: int) -> str:
        """Return a slot's `group.instance.id`, which is its Lease's name, too."""
        return f"{self.prefix}{number}"

    def is_of(self, deployment: str) -> bool:
        """Whether a Deployment of this name, in the same namespace, may have these slots."""
        return self.prefix[: -UID_DIGITS - 2] == deployment[:LONGEST_NAME]


@dataclasses.dataclass(frozen=True, slots=True)
class Owner:
    """The policy to which Leases belong; it is in their namespace."""

    name: str
    uid: str


def place_of(policy_uid: str, deployment: ObjectKey) -> SlotPlace:
    """Return where a policy's slots are."""
    return SlotPlace(deployment.namespace, f"{deployment.name[:LONGEST_NAME]}-{policy_uid[:UID_DIGITS]}-")


def ordinal_id(policy_uid: str, stateful_set: ObjectKey, number: int) -> str:
    """Return the id of a StatefulSet's pod: never one of a Deployment's slots, though that had the same name."""
    return f"{place_of(policy_uid, stateful_set).prefix}s{number}"


def parse(namespace: str, text: str) -> tuple[SlotPlace, int] | None:
    """Return the place and number of an id; None where it is none of ours."""
    # A pod's variable may hold a megabyte, in which the pattern would look for an id at each character.
    match = _ID.fullmatch(text) if len(text) <= LONGEST_ID else None
    return None if match is None else (SlotPlace(namespace, match["prefix"]), int(match["number"]))


def workload_of_replicas(metadata: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return kind and name of the Deployment or Rollout that a pod is made for; None if it is made for none.

    A ReplicaSet owns it, which may be too new for any list; but that one's name is its workload's, a dash and the hash
    that the pod has as a label. Which label it is says the kind.
    """
    labels = metadata.get("labels") or {}
    for owner in metadata.get("ownerReferences") or ():
        if not owner.get("controller") or (owner.get("apiVersion"), owner.get("kind")) != ("apps/v1", "ReplicaSet"):
            continue
        name = str(owner.get("name"))
        for label, kind in HASH_LABELS.items():
            ending = f"-{labels.get(label, '')}"
            if len(ending) > 1 and name.endswith(ending) and name != ending:
                return kind, name.removesuffix(ending)
    return None
