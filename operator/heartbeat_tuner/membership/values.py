"""The nouns: slots as their Leases say, pods as they were seen, and what is to be done about both.

All moments are aware datetimes of wall clocks, the replicas' own or the API server's; `limits.CLOCK_SKEW` bounds how
far they are apart.
"""

import dataclasses
import enum
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

CLOSING_EXIT_CODES: Final = frozenset({0, 143})
"""A container that ended so is taken to have closed its consumer: by itself, or when it was asked to (SIGTERM)."""


class GroupProtocol(enum.StrEnum):
    """How a group's members speak to their coordinator; its names are Kafka's `group.protocol`.

    A group that is on its way from one to the other, or is not known, is to be given as `CONSUMER`: its slots rest.
    """

    CLASSIC = "classic"
    CONSUMER = "consumer"


class SlotRefusal(enum.StrEnum):
    """Why a pod gets no slot, or is not let go with the one it was promised."""

    NO_POOL = "NoPool"
    """The pool has no slots: static membership is off, or the workload is scaled to nothing."""
    ALL_HELD = "AllHeld"
    """Each slot has a holder that lives, or is kept for a pod that was promised it or may still come."""
    RESTING = "Resting"
    """As `ALL_HELD`, but some slot only waits for the end of a session, or for certainty after an edit by hand."""
    GATES_OFF = "GatesOff"
    """A slot could be promised, but nobody is known to lift gates, or the pod names its node and can have none."""
    CROWDED = "Crowded"
    """More pods or Leases carry the policy's ids than are looked through: `limits.MOST_PODS`."""
    COPIED = "Copied"
    """Another pod has the token already, say because a template was made of it: draw a new one and ask again."""
    HOLDER_STAYS = "HolderStays"
    """The holder of the promised slot should have ended and has not; its node may be lost."""
    NOT_PROMISED = "NotPromised"
    """The slot in the pod's env is not promised to it (any more)."""
    GATED_TOO_LONG = "GatedTooLong"
    """Whatever the reason was: nobody waits longer than `limits.longest_gate`."""
    NOT_THE_HOLDER = "NotTheHolder"
    """The pod runs with the id of a slot that another living pod holds."""


@dataclasses.dataclass(frozen=True, slots=True)
class SlotPool:
    """What the slots are for.

    Attributes:
        size: how many slots there are to give: the workload's replicas and its surge; 0 gives none.
        protocol: of the group.
        session_timeout: S, as the coordinator applies it.
        closing_exit_codes: of a consumer's container; one that ended so has closed its consumer.
    """

    size: int
    protocol: GroupProtocol
    session_timeout: timedelta
    closing_exit_codes: frozenset[int] = CLOSING_EXIT_CODES


@dataclasses.dataclass(frozen=True, slots=True)
class Promise:
    """A slot that a gated pod gets when its holder is gone.

    Attributes:
        token: of the promised pod.
        at: when it was given, while the pod was being created.
    """

    token: str
    at: datetime


@dataclasses.dataclass(frozen=True, slots=True)
class SlotRecord:
    """What a slot's Lease says; `records` turns it into the Lease's fields and back.

    It is *held* (by `holder`), *resting* (`rests_until`), or free.

    Attributes:
        since: when it was last given, or has had no holder: freed, or laid to rest, whose end does not count.
        holder: the token of the pod that has the slot; empty while nobody has.
        promise: to whom the slot goes next; None where it is nobody's yet.
        rests_until: not given to anybody before; None unless it is resting.
        former: the token of the last holder; empty where there was none or it is not known.
    """

    since: datetime
    holder: str = ""
    promise: Promise | None = None
    rests_until: datetime | None = None
    former: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Slot:
    """One Lease as it was read.

    Attributes:
        number: 0 or more; slots that have no Lease yet are in no view.
        version: the Lease's resourceVersion, on which a write of it rests.
        record: what it says; None where `records.read` found that somebody else wrote it.
    """

    number: int
    version: str
    record: SlotRecord | None


@dataclasses.dataclass(frozen=True, slots=True)
class ContainerEnd:
    """How the consumer's container ended for good: nothing will start it again in this pod.

    Attributes:
        exit_code: as `state.terminated` has it.
        ran_for: `finishedAt` less `startedAt`, two moments of one clock.
    """

    exit_code: int
    ran_for: timedelta


@dataclasses.dataclass(frozen=True, slots=True)
class Deletion:
    """That somebody asked for a pod's end.

    Attributes:
        due: `metadata.deletionTimestamp`: the API server has added the grace already.
        grace: `metadata.deletionGracePeriodSeconds`.
    """

    due: datetime
    grace: timedelta


@dataclasses.dataclass(frozen=True, slots=True)
class SlotPod:
    """One pod of the workload as it was last seen, with those that are gone, for as long as a Lease names them.

    Attributes:
        name: `metadata.name`.
        uid: `metadata.uid`.
        version: `metadata.resourceVersion`; lifting and replacing rest on it.
        created_at: `metadata.creationTimestamp`.
        token: of its claim, from its annotation; empty where it has none: it keeps others from the slot of its id, and
            is left alone.
        slot: the slot whose id stands in its container's env: nobody can change that, as one could an annotation;
            None where it has no id, or one that is of no slot.
        gated: our scheduling gate is on it.
        bound: it has a node. Of a pod that is gone whose last state was missed: True.
        phase: `status.phase`.
        containers_ended: each container is `terminated`, or the kubelet turned the pod away (it is `Failed` and has no
            container statuses). The collector of lost pods sets `Failed` on pods whose containers nobody saw end.
        deletion: that it is Terminating; None while it is not.
        gone: the watch said that it was deleted. A pod that a view never had, or has forgotten, is simply not in it.
        end: of its consumer's container; None where it runs, was not seen to end, or may be started again (which ends
            with the pod's deletion, or its phase).
        restarted: its consumer's container was started more than once.
    """

    name: str
    uid: str
    version: str
    created_at: datetime
    token: str
    slot: int | None
    gated: bool = False
    bound: bool = True
    phase: str = "Running"
    containers_ended: bool = False
    deletion: Deletion | None = None
    gone: bool = False
    end: ContainerEnd | None = None
    restarted: bool = False

    @property
    def is_over(self) -> bool:
        """Whether no process of it runs, or ever will. What is over stays over, so an old view does no harm here."""
        return self.gone or (self.phase in {"Succeeded", "Failed"} and self.containers_ended)


@dataclasses.dataclass(frozen=True, slots=True)
class View:
    """What one replica of the webhook knows of one workload.

    Attributes:
        slots: all Leases of it, in any order.
        pods: all pods of it with a token or a slot, in any order.
        as_of: slots and pods are complete up to here: when the last list of each that was not served from a cache was
            *asked for*; what watches brought since is in the view too, but promises nothing. Who sees that a wait
            depends on it lists again.
    """

    slots: Sequence[Slot]
    pods: Sequence[SlotPod]
    as_of: datetime


@dataclasses.dataclass(frozen=True, slots=True)
class Write:
    """To be written into a slot's Lease: all of its record, resting on a version.

    Attributes:
        number: of the slot.
        version: that was read; None creates the Lease. On a conflict (409) nothing was decided: look and ask again.
        record: what it is to say.
    """

    number: int
    version: str | None
    record: SlotRecord


@dataclasses.dataclass(frozen=True, slots=True)
class Remove:
    """A slot's Lease is to be deleted; on a conflict nothing was decided.

    Attributes:
        number: of the slot.
        version: that was read.
    """

    number: int
    version: str


@dataclasses.dataclass(frozen=True, slots=True)
class Claimed:
    """A pod that is being created gets a slot, once `write` is done.

    Attributes:
        number: of the slot.
        gated: it is a promise: the pod gets the scheduling gate, or must not get the id.
        write: to be written first; None where the Lease says so already (the same token asked before).
    """

    number: int
    gated: bool
    write: Write | None


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """A pod that is being created gets no slot, and starts as a dynamic member.

    Attributes:
        reason: why; a look that is not served from a cache may find better.
    """

    reason: SlotRefusal


@dataclasses.dataclass(frozen=True, slots=True)
class Lift:
    """A pod's scheduling gate is to be taken off, resting on the pod's version.

    Attributes:
        pod: as it was seen.
    """

    pod: SlotPod


@dataclasses.dataclass(frozen=True, slots=True)
class Replace:
    """A pod is to be deleted, resting on its uid and version; its controller makes another, which asks again.

    By a delete and not by an eviction: the chart's fence sees which pod a delete is about. A pod that never ran goes at
    once.

    Attributes:
        pod: as it was seen.
        reason: why it cannot have its slot.
    """

    pod: SlotPod
    reason: SlotRefusal
