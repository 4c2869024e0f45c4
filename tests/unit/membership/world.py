"""An API server, nodes and a coordinator for the rules of slots to live in, with replicas that see them late.

The API server compares and swaps: a write that rests on a version which is not the last one is refused. Everything that
happens is a method; what must never happen is an assertion in it. Nothing here asks the rules whether they are right.
"""

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from heartbeat_tuner.membership import records
from heartbeat_tuner.membership.claiming import claim
from heartbeat_tuner.membership.lifting import lift
from heartbeat_tuner.membership.settling import settle
from heartbeat_tuner.membership.values import (
    Claimed,
    ContainerEnd,
    Deletion,
    GroupProtocol,
    Lift,
    Refused,
    Remove,
    Replace,
    Slot,
    SlotPod,
    SlotPool,
    View,
    Write,
)

START = datetime(2026, 3, 1, tzinfo=UTC)
SESSION = timedelta(seconds=45)
STORED_WITHIN = timedelta(seconds=67)
"""The API server gives up on a request after 60 s, and etcd 7 s later."""
SKEWS = (timedelta(seconds=-2), timedelta(0), timedelta(seconds=3))
"""Of the replicas' clocks."""


def seconds(number: float) -> timedelta:
    """Return a span of time."""
    return timedelta(seconds=number)


@dataclasses.dataclass(slots=True)
class Body:
    """A pod as it really is."""

    pod: SlotPod
    revision: int
    started_at: datetime | None = None
    refused: bool = False
    ended: bool = False
    """No process of it runs, or ever will."""

    @property
    def may_run(self) -> bool:
        """Whether it runs or may start any time."""
        return not self.pod.gone and not self.ended and not self.pod.gated

    @property
    def runs(self) -> bool:
        """Whether its process runs."""
        return self.started_at is not None and not self.ended


@dataclasses.dataclass(slots=True)
class Session:
    """What the coordinator knows of a member; it is held until `until`, or for as long as its process runs."""

    uid: str
    until: datetime | None = None


@dataclasses.dataclass(slots=True)
class Admission:
    """A pod that is being created."""

    token: str
    asked_at: datetime
    revision: int
    answer: Claimed | Refused
    claimed: bool = False


@dataclasses.dataclass(slots=True)
class Replica:
    """One replica of the webhook: what it has in its cache."""

    skew: timedelta
    slots: Mapping[int, Slot] = dataclasses.field(default_factory=dict)
    pods: Mapping[str, SlotPod] = dataclasses.field(default_factory=dict)
    as_of: datetime = START - timedelta(days=1)

    @property
    def view(self) -> View:
        """What it knows."""
        return View(list(self.slots.values()), list(self.pods.values()), self.as_of)


class World:
    """One workload and all that is around it."""

    def __init__(self, protocol: GroupProtocol, *, replicas: int = 2, surge: int = 0) -> None:
        self.now = START
        self.protocol, self.replicas, self.surge, self.revision = protocol, replicas, surge, 0
        self.leases: dict[int, Slot] = {}
        self.bodies: dict[str, Body] = {}
        self.sessions: dict[int, Session] = {}
        self.admissions: list[Admission] = []
        self.webhooks = [Replica(skew) for skew in SKEWS]
        self._made = 0

    @property
    def pool(self) -> SlotPool:
        """What the webhook is told."""
        return SlotPool(self.replicas + self.surge, self.protocol, SESSION)

    def clock(self, replica: Replica) -> datetime:
        """Return the time by a replica's clock."""
        return self.now + replica.skew

    # The webhook: seeing, deciding, writing.

    def watch(self, replica: Replica, *, slots: bool = True, pods: bool = True) -> None:
        """Bring a cache up to date as watches do, one or both; how pods ended is remembered."""
        if slots:
            replica.slots = dict(self.leases)
        if pods:
            replica.pods = {name: body.pod for name, body in self.bodies.items()}

    def list_anew(self, replica: Replica, *, forget: bool = False) -> None:
        """List all; who was restarted knows nothing of pods that are gone."""
        known = {} if forget else {name: pod for name, pod in replica.pods.items() if pod.gone}
        replica.slots = dict(self.leases)
        replica.pods = known | {name: body.pod for name, body in self.bodies.items() if not body.pod.gone}
        replica.as_of = self.clock(replica)

    def ask(self, replica: Replica, *, may_gate: bool = True, token: str = "") -> Admission:
        """Begin a pod's creation: a replica decides, and has not written yet."""
        self._made += 1
        token = token or f"t{self._made}"
        answer = claim(token, replica.view, self.pool, may_gate=may_gate, now=self.clock(replica))
        admission = Admission(token, self.now, self.revision, answer)
        self.admissions.append(admission)
        return admission

    def ask_again(self, admission: Admission, replica: Replica) -> None:
        """Ask for the same pod once more: after a conflict, or because another webhook changed the pod."""
        admission.answer = claim(admission.token, replica.view, self.pool, may_gate=True, now=self.clock(replica))
        admission.claimed = False

    def write_claim(self, admission: Admission) -> bool:
        """Write what an answer rests on; False on a conflict."""
        answer = admission.answer
        write = answer.write if isinstance(answer, Claimed) else None
        admission.claimed = isinstance(answer, Claimed) and (write is None or self.write(write))
        return admission.claimed or isinstance(answer, Refused)

    def store(self, admission: Admission, *, answered: bool = True) -> Body | None:
        """End a pod's creation; without the webhook's answer it is a dynamic member, and too late it is none at all."""
        self.admissions.remove(admission)
        if self.now > admission.asked_at + STORED_WITHIN:
            return None
        answer = admission.answer if admission.claimed and answered else None
        slot = answer.number if isinstance(answer, Claimed) else None
        gated = isinstance(answer, Claimed) and answer.gated
        self._made += 1
        name = f"p{self._made}"
        token = admission.token if slot is not None else ""
        pod = SlotPod(name, name, "1", self.now, token, slot, gated=gated, bound=False, phase="Pending")
        self.bodies[name] = body = Body(pod, admission.revision)
        self._check(slot)
        return body

    def settle(self, replica: Replica) -> list[Write | Remove]:
        """Return what a replica would write."""
        return list(settle(replica.view, self.pool, now=self.clock(replica)))

    def lift(self, replica: Replica) -> list[Lift | Replace]:
        """Return what a replica would do with pods."""
        return list(lift(replica.view, self.pool, now=self.clock(replica)))

    def do(self, action: Write | Remove | Lift | Replace) -> bool:
        """Carry out what was decided; False if the API server refused it."""
        if isinstance(action, Write):
            return self.write(action)
        if isinstance(action, Remove):
            found = self.leases.get(action.number)
            if found is None or found.version != action.version:
                return False
            del self.leases[action.number]
            return True
        body = self.bodies[action.pod.name]
        if body.pod.gone or body.pod.version != action.pod.version:
            return False
        if isinstance(action, Replace):
            assert body.pod.gated, "nothing that may run is ever ended here: there is no second holder"
            self.delete(body)
            return True
        self._now(body, gated=False)
        self._check(body.pod.slot)
        return True

    def write(self, write: Write) -> bool:
        """Compare and swap one Lease."""
        found = self.leases.get(write.number)
        if (None if found is None else found.version) != write.version:
            return False
        holder, annotations = records.fields(write.number, write.record)
        self.edit(write.number, holder, annotations)
        return True

    def edit(self, number: int, holder: str, annotations: Mapping[str, str]) -> None:
        """Write a Lease as anybody may."""
        self._made += 1
        self.leases[number] = Slot(number, str(self._made), records.read(number, holder, annotations))

    # The nodes and the coordinator.

    def run(self) -> None:
        """Let nodes start what may start."""
        for body in list(self.bodies.values()):
            if body.may_run and body.started_at is None and body.pod.deletion is None:
                self._now(body, bound=True, phase="Running")
                self._start(body)

    def delete(self, body: Body, grace: timedelta = timedelta(seconds=30)) -> None:
        """Delete a pod: at once where it has no node."""
        if not body.pod.bound:
            self.remove(body)
        elif body.pod.deletion is None:
            self._now(body, deletion=Deletion(self.now + grace, grace))

    def end(self, body: Body, exit_code: int, *, phase: str = "Running") -> None:
        """Let a container end for good."""
        assert body.started_at is not None
        restarted = body.pod.restarted
        end = ContainerEnd(exit_code, self.now - body.started_at)
        self._stop(body, closes=exit_code in {0, 143})
        body.ended = True
        self._now(body, end=end, containers_ended=True, phase=phase, restarted=restarted)

    def crash(self, body: Body) -> None:
        """Let a container be killed and started again in its pod."""
        self._stop(body, closes=False)
        self._now(body, restarted=True)
        self._start(body)

    def lose(self, body: Body) -> None:
        """Say `Failed` of a pod whose node is lost, as the collector of pods does; its process lives on."""
        self._now(body, phase="Failed")

    def remove(self, body: Body) -> None:
        """Let a pod's object go; a process that still runs is killed."""
        if body.runs:
            self._stop(body, closes=False)
        body.ended = True
        self._now(body, gone=True)

    def _now(self, body: Body, **changes: object) -> None:
        body.pod = dataclasses.replace(body.pod, version=str(int(body.pod.version) + 1), **changes)  # type: ignore[arg-type]

    def _start(self, body: Body) -> None:
        body.started_at, body.refused = self.now, False
        slot, uid = body.pod.slot, body.pod.uid
        if slot is None:
            return
        session = self.sessions.get(slot)
        lasts = session is not None and (session.until is None or self.now < session.until)
        if session is not None and lasts and self.protocol is GroupProtocol.CONSUMER:
            assert session.uid == uid, f"slot {slot} was given on within its session"
            body.refused = True
        else:
            self.sessions[slot] = Session(uid)

    def _stop(self, body: Body, *, closes: bool) -> None:
        slot = body.pod.slot
        if slot is None or body.refused:
            return
        if closes:
            self.sessions.pop(slot, None)
        else:
            self.sessions[slot] = Session(body.pod.uid, self.now + SESSION)

    def _check(self, slot: int | None) -> None:
        """Never two who have one id and may run."""
        having = [
            body.pod.name
            for body in self.bodies.values()
            if slot is not None and body.pod.slot == slot and body.may_run
        ]
        assert len(having) <= 1, f"slot {slot} is held by {having}"
