"""Whose pod it is: from a pod to the policies that give it a static id, or values.

A StatefulSet owns its pods, and their names end in numbers that stay. The pod of a Deployment, or of a
Rollout, is owned by a ReplicaSet, whose name tells the workload's.
"""

import dataclasses
import heapq
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from heartbeat_tuner.api import parsing, slot_names
from heartbeat_tuner.api.slot_names import LENDING_KINDS, SlotPlace
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import Status
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import InvalidPolicyError
from heartbeat_tuner.domain.policies import STATEFUL_SET, Mode, ObjectKey, Policy, StaticMembership
from heartbeat_tuner.membership.values import GroupProtocol, SlotPool
from heartbeat_tuner.webhook.admission import initial_mode
from heartbeat_tuner.webhook.admission.initial_mode import InitialValues

CLASSIC: Final = "Classic"
"""As a policy's status has it."""

_ORDINAL: Final = re.compile(r"[0-9]{1,5}")

_GIVEN: Final = frozenset({StaticMembership.ENABLED, StaticMembership.AUTO})

LONGEST_SESSION: Final = timedelta(minutes=1)
"""What a broker lets a group of the consumer protocol have at most, by default."""

MOST_POLICIES: Final = 32
"""Of one workload, the oldest ones: each sets values in another container of a pod, and each costs the review time."""


class OwnerWorkload(NamedTuple):
    """A workload whose pods are created."""

    kind: str
    key: ObjectKey


@dataclasses.dataclass(frozen=True, slots=True)
class Enrolment:
    """What a policy says of the pods of its workload that are created.

    Attributes:
        policy: the policy.
        policy_uid: its uid: another of the same name has slots of its own.
        created: when the policy was made.
        workload: whose pods.
        kind: of the workload.
        container: which of their containers has the consumer.
        variable: where the id goes; empty where none is given.
        protocol: of the group, as the operator saw it last; the one that needs more care where it did not.
        session_timeout: S as the operator saw it last, but a minute at least.
        suspended: whether nothing is done for now.
        served_elsewhere: whether the webhook of another installation, which owns the policy, serves these pods. All
            policies of a namespace have one owner.
        values: what is set in pods; None where nothing is.
    """

    policy: ObjectKey
    policy_uid: str
    created: datetime
    workload: ObjectKey
    kind: str
    container: str
    variable: str
    protocol: GroupProtocol
    session_timeout: timedelta
    suspended: bool
    served_elsewhere: bool = False
    values: InitialValues | None = None

    @property
    def gives_ids(self) -> bool:
        """Whether pods get static ids."""
        return bool(self.variable)

    @property
    def lends_slots(self) -> bool:
        """Whether these ids are slots; the pods of a StatefulSet have their own."""
        return self.gives_ids and self.kind in LENDING_KINDS

    @property
    def place(self) -> OwnerWorkload:
        """Where it is looked for."""
        return OwnerWorkload(self.kind, self.workload)

    @property
    def slots(self) -> SlotPlace:
        """Where its slots are."""
        return slot_names.place_of(self.policy_uid, self.workload)

    def pool(self, size: int) -> SlotPool:
        """Return what there is to give where so many pods may be there at a time."""
        return SlotPool(size, self.protocol, self.session_timeout)


def enrolment_of(body: Mapping[str, Any], *, installation: str | None = None) -> Enrolment | None:
    """Return what a policy enrols; None if it asks for nothing in pods, is on its way out, or cannot be read.

    Args:
        body: the policy, as the API server has it.
        installation: of the operator whose policies this webhook serves; None for all.
    """
    spec = body.get("spec") or {}
    has_canary = "canary" in (body.get("status") or {})
    if spec.get("staticMembership") not in _GIVEN and spec.get("mode") != Mode.INITIAL and not has_canary:
        return None  # before anything is parsed: most policies are such, and each of their statuses comes by
    if "deletionTimestamp" in body["metadata"]:
        return None
    try:
        policy = parsing.policy_of(body)
    except InvalidPolicyError:
        return None  # the operator says so in the policy's status
    status = parsing.status_of(body)
    values = initial_mode.of_policy(policy, status)
    variable = policy.instance_id_env if _gives_ids(policy, status) else None
    if variable is None and values is None:
        return None
    enrolled = _enrolment(policy, variable or "", status, values)
    return dataclasses.replace(enrolled, served_elsewhere=_is_of_another(status, installation))


def _is_of_another(status: Status, installation: str | None) -> bool:
    """Whether another installation wrote the status; where nobody did, the first pods need not wait for it."""
    if installation is None or status.installation is None:
        return False
    return status.installation.name != installation


def _gives_ids(policy: Policy, status: Status) -> bool:
    """Whether pods are to have ids; in Auto, whether the operator says so."""
    if policy.static_membership is StaticMembership.AUTO:
        return status.static_ids is not None and status.static_ids.given
    return policy.static_membership is StaticMembership.ENABLED


def _enrolment(policy: Policy, variable: str, status: Status, values: InitialValues | None) -> Enrolment:
    current = [] if status.current is None else [durations.parse(status.current.session_timeout)]
    return Enrolment(
        policy=policy.key,
        policy_uid=policy.uid,
        created=policy.created,
        workload=policy.workload.key,
        kind=policy.workload.kind,
        container=policy.workload.container,
        variable=variable,
        protocol=GroupProtocol.CLASSIC if status.group_protocol == CLASSIC else GroupProtocol.CONSUMER,
        session_timeout=max([LONGEST_SESSION, *current]),
        suspended=policy.suspended,
        values=values,
    )


def holder(enrolments: Iterable[Enrolment]) -> Enrolment | None:
    """Return which of several policies gives one Deployment's pods their ids: the older; None if none does."""
    return min((enrolment for enrolment in enrolments if enrolment.gives_ids), key=_age, default=None)


def in_containers(enrolments: Iterable[Enrolment]) -> Sequence[InitialValues]:
    """Return what several policies set in one Deployment's pods: in each container the values of the oldest."""
    by_container: dict[str, InitialValues] = {}
    for enrolment in heapq.nsmallest(MOST_POLICIES, enrolments, key=_age):
        if enrolment.values is not None:
            by_container.setdefault(enrolment.container, enrolment.values)
    return list(by_container.values())


def _age(enrolment: Enrolment) -> tuple[datetime, ObjectKey]:
    return enrolment.created, enrolment.policy


def workload_of(pod: Mapping[str, Any], namespace: str) -> OwnerWorkload | None:
    """Return the workload that a pod is made for; None if it is made for none."""
    lending = slot_names.workload_of_replicas(pod["metadata"])
    if lending is not None:
        kind, name = lending
        return OwnerWorkload(kind, ObjectKey(namespace, name))
    for owner in pod["metadata"].get("ownerReferences") or ():
        if owner.get("controller") and (owner.get("apiVersion"), owner["kind"]) == ("apps/v1", STATEFUL_SET):
            return OwnerWorkload(STATEFUL_SET, ObjectKey(namespace, str(owner.get("name"))))
    return None


def ordinal_of(pod: Mapping[str, Any], stateful_set: str) -> int | None:
    """Return the number in the name of a StatefulSet's pod; None if there is none."""
    number = str(pod["metadata"].get("name")).removeprefix(f"{stateful_set}-")
    return int(number) if _ORDINAL.fullmatch(number) else None
