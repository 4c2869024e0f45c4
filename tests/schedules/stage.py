"""Where a schedule is played: two fleets that take turns, two replicas, and the audit log of what they write.

While one fleet is on stage, the other's pods are rolled back into the storm.
"""

import dataclasses
import itertools
import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict
from sandbox import progress, scenario
from sandbox.audit import Tail
from sandbox.control_plane import ADMIN
from sandbox.environment import OPERATOR_USERS
from sandbox.errors import SandboxError
from sandbox.processes import wait_until
from tests.schedules.at_once import Beside, Deed
from tests.schedules.replicas import Replicas
from tests.schedules.schedule import CUTS, Act, Event
from tests.schedules.surroundings import REVERTED, Surroundings
from tests.schedules.trail import Trail
from tests.support import written
from tests.support.fleets import Fleet, deployment

SIZE: Final = 20
"""Policies of a fleet."""

CRASHING: Final = 4
"""Of its Deployments, the last ones: their pods crash with any other values than the storm's."""

SESSION_FLOORS_S: Final = range(31, 31 + SIZE)
"""Each policy has a value of its own that is right for it."""

_AUDIT_LAG_S: Final = 0.3
_LOOK_EVERY_S: Final = 0.6  # each look reads a whole fleet
_FIRST_APPLY_TIMEOUT_S: Final = 60.0
NOTE_EVERY_S: Final = 0.1
"""So often somebody else writes into a Deployment; its controller then writes three objects."""

_MARGIN_S: Final = 0.8
"""Between the end of a leadership and the next one: `LEASE_TIMES`' lease duration less its renew deadline."""

_YOUNG: Final = {Reason.TOO_LITTLE_DATA, Reason.TOO_EARLY}
"""Nothing is known of a change before a minute of records, and nothing proven long after that.

Which of the two stands at the end depends on how long a schedule took, and waiting for the minute would triple that.
"""

Shown = dict[str, Any]
"""What is compared of one policy and its Deployment at the end."""


@dataclasses.dataclass(frozen=True)
class Played:
    """What came of a schedule.

    Attributes:
        trail: everybody's writes, from the creation of the policies to the end state.
        end: what stood at the end, for each policy in the order of the fleet.
        hits: what happened to a replica that led and was well until then, and when.
        fleet: names of the Deployments that were to be written, with their namespace.
        took_s: how long it all took.
        had_outage: whether the broker was away for a while.
        note_every_s: how often somebody else wrote.
    """

    trail: Trail
    end: list[Shown]
    hits: list[tuple[datetime, Act]]
    fleet: list[tuple[str, str]]
    took_s: float
    had_outage: bool = False
    note_every_s: float = NOTE_EVERY_S

    @property
    def interrupted(self) -> bool:
        """Whether a leader was killed, stopped or cut off when some values had been applied and some not."""
        first, last = self.trail.applied_between()
        return any(first < at < last for at, _ in self.hits)

    @property
    def struck_before_reverts(self) -> bool:
        """Likewise between the writes of values and those that took them back."""
        return any(written < at < back for at, _ in self.hits for written, back in self.trail.taken_back_between())

    @property
    def stood_still(self) -> bool:
        """Whether wires or API server did, for so long that what had left under the lease could come without it."""
        return self.trail.longest_pause_s(ADMIN) > self.note_every_s + _MARGIN_S / 2


class Stage:
    """Plays schedules, one after the other.

    Args:
        fleets: that take turns.
        replicas: that are disturbed.
        tail: of the audit log.
        surroundings: what is disturbed beside the replicas; None for nothing.
        settled_timeout_s: how long to wait for the end state.
        note_every_s: how often somebody else writes into a Deployment.
    """

    def __init__(
        self,
        fleets: Sequence[Fleet],
        replicas: Replicas,
        tail: Tail,
        surroundings: Surroundings | None = None,
        settled_timeout_s: float = 90.0,
        note_every_s: float = NOTE_EVERY_S,
    ) -> None:
        self._settled_timeout_s = settled_timeout_s
        self._note_every_s = note_every_s
        self._fleets = itertools.cycle(fleets)
        self._replicas = replicas
        self._tail = tail
        self._surroundings = surroundings
        self._holder = ""

    def play(self, name: str, events: Sequence[Event | Beside], wanted: list[Shown] | None = None) -> Played:
        """Create a fleet's policies, let the events happen, heal everything and wait for the end.

        Args:
            name: for progress lines.
            events: in the order of their times; none for an undisturbed run.
            wanted: the end state to wait for; None for whatever stands when all values are applied, or taken back.
        """
        fleet = next(self._fleets)
        fleet.await_rolled_out()
        self._replicas.await_ready()
        time.sleep(_AUDIT_LAG_S)
        trail = self._trail([])
        replicas = _ordered(trail.last_holder)
        self._holder = trail.last_holder
        progress.say(name, f"A is {replicas[0]}: {', '.join(map(str, events)) or 'nothing happens'}")
        with self._cleared(fleet):
            played = self._played(name, fleet, events, replicas, wanted)
        self._holder = played.trail.last_holder
        return played

    def _played(
        self,
        name: str,
        fleet: Fleet,
        events: Sequence[Event | Beside],
        replicas: Sequence[str],
        wanted: list[Shown] | None,
    ) -> Played:
        self._replicas.slow_down()
        created = time.monotonic()
        fleet.create_policies(mode="Apply", session_floors_s=SESSION_FLOORS_S)
        writes = self._first_applied(name) if events else []
        began = time.monotonic()
        hits: list[tuple[datetime, Act]] = []
        struck: dict[str, datetime] = {}
        had_outage = any(isinstance(event, Beside) and event.deed is Deed.BROKER_CUT for event in events)
        with _notes(fleet, seed=name, every_s=self._note_every_s) if events else _quiet():
            for event in events:
                time.sleep(max(0.0, began + event.at_s - time.monotonic()))
                writes += self._tail.writes()
                if isinstance(event, Beside):
                    assert self._surroundings is not None
                    self._surroundings.disturb(event.deed, fleet)
                    continue
                replica, trail = replicas[event.replica], Trail.of(self._holder, writes)
                if event.act in {Act.KILL, Act.STOP, *CUTS}:
                    # The lease may still name one who was struck before, and leads no more.
                    was_well = replica not in struck or trail.claimed_since(replica, struck[replica])
                    if trail.last_holder == replica and was_well:
                        hits.append((datetime.now(UTC), event.act))
                    struck[replica] = datetime.now(UTC)
                self._replicas.befall(replica, event.act)
            self._heal()
            end = self._settled(name, fleet, wanted, had_outage=had_outage)
        time.sleep(_AUDIT_LAG_S)
        return Played(
            trail=self._trail(writes),
            end=end,
            hits=hits,
            fleet=[(fleet.namespace, name) for name in fleet.names],
            took_s=time.monotonic() - created,
            had_outage=had_outage,
            note_every_s=self._note_every_s,
        )

    @contextmanager
    def _cleared(self, fleet: Fleet) -> Iterator[None]:
        """Heal everything and clear a fleet, however its play ends: the next one needs both."""
        try:
            yield
        finally:
            self._heal()
            if self._surroundings is not None:
                self._surroundings.give_up()
            fleet.delete_policies()
            fleet.undo_applies()

    def _heal(self) -> None:
        self._replicas.heal()
        if self._surroundings is not None:
            self._surroundings.heal()

    def _first_applied(self, name: str) -> list[Any]:
        """Wait until a replica writes to a Deployment; return all writes up to then.

        A schedule that began by the clock would strike before or after the applies, as quick as the machine is.
        """
        writes: list[Any] = []

        def has_begun() -> bool:
            writes.extend(self._tail.writes())
            return any(write.user in OPERATOR_USERS and write.resource == "deployments" for write in writes)

        wait_until(has_begun, part=name, what="the first apply", timeout_s=_FIRST_APPLY_TIMEOUT_S, poll_s=0.02)
        return writes

    def _trail(self, writes: list[Any]) -> Trail:
        return Trail.of(self._holder, [*writes, *self._tail.writes()])

    def _settled(self, name: str, fleet: Fleet, wanted: list[Shown] | None, *, had_outage: bool) -> list[Shown]:
        """Wait for the end state, for so long; return what stands then."""
        shown: list[Shown] = []

        def stands() -> bool:
            nonlocal shown
            self._replicas.tend()
            is_over = self._surroundings is None or self._surroundings.is_over()
            shown = end_state(fleet)
            if wanted is not None:
                return is_over and not differences(shown, wanted, had_outage=had_outage)
            return is_over and _are_over(shown, has_persons=self._surroundings is not None)

        try:
            wait_until(stands, part=name, what="the end state", timeout_s=self._settled_timeout_s, poll_s=_LOOK_EVERY_S)
        except SandboxError as error:
            progress.say(name, str(error))  # what stands instead is for the test to say
        return shown


def deploy(fleet: Fleet) -> None:
    """Put a fleet into a storm, and let the last of its Deployments be such that no cure suits them."""
    fleet.deploy(scenario.STORMING)
    stormy = scenario.STORMING.session_timeout_ms
    script = f'[ "$KAFKA_SESSION_TIMEOUT_MS" = {stormy} ] || exit 7; exec sleep infinity'
    probe = {"exec": {"command": ["true"]}, "initialDelaySeconds": 1, "periodSeconds": 1}
    for name in fleet.names[-CRASHING:]:
        change = written.container(fleet, script, readinessProbe=probe)
        document = deployment(fleet.namespace, name)
        document["spec"]["template"]["spec"] |= change["template"]["spec"]
        # By kubectl, as it was deployed: who writes notes into it must not seem to have changed its template.
        fleet.apply(json.dumps(document))
    fleet.await_rolled_out()


def end_state(fleet: Fleet) -> list[Shown]:
    """Return what of each policy and Deployment must not depend on what happened to the replicas.

    Times, names and sentences do. So does `Feasible`: it is said with a verdict to change something, which whoever
    comes after the apply has no more reason to give.
    """
    deployments, policies = fleet.deployments(), fleet.policies()
    return [_shown(deployments[name], policies.get(name, {})) for name in fleet.names]


def differences(end: Sequence[Shown], undisturbed: Sequence[Shown], *, had_outage: bool = False) -> list[str]:
    """Return where an end state differs from that of an undisturbed run, a line for each field of a policy.

    Args:
        end: what stands.
        undisturbed: what stands when nothing happens.
        had_outage: whether the broker was away for a while: then values may be left unblamed.
    """
    return [
        f"policy {place}: {field} is {shown[field]}, undisturbed {wanted[field]}"
        for place, (shown, wanted) in enumerate(zip(end, undisturbed, strict=True))
        if not (had_outage and is_unblamed(shown, wanted))
        for field in wanted
        if shown[field] != wanted[field]
    ]


def is_unblamed(shown: Shown, undisturbed: Shown) -> bool:
    """Whether pods crash with the values that are taken back when nothing happens, and these still stand.

    For ten minutes after an outage of the brokers the operator blames no values for pods that crash.
    """
    conditions = shown["conditions"]
    is_verifying = conditions.get("Verified") == ("Unknown", "Verifying")
    is_failing = conditions.get("Applied") == ("False", "RolloutFailed")
    return is_verifying and is_failing and bool(shown["values"] == undisturbed["previous"])


def _shown(deployment: dict[str, Any], policy: dict[str, Any]) -> Shown:
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    status = policy.get("status", {})
    applied = status.get("applied", {})
    is_young = status.get("reason") in _YOUNG
    return {
        "env": {entry["name"]: entry["value"] for entry in container.get("env", ())},
        "verdict": "young" if is_young else status.get("verdict"),
        "reason": "young" if is_young else status.get("reason"),
        "current": status.get("current"),
        "values": applied.get("values"),
        "previous": applied.get("previous"),
        "of this object": applied.get("workloadUid") == deployment["metadata"]["uid"],
        "conditions": {
            condition["type"]: _said(condition, status)
            for condition in status.get("conditions", ())
            if condition["type"] != "Feasible"
        },
    }


def _said(condition: dict[str, Any], status: dict[str, Any]) -> tuple[str, str]:
    """Return status and reason; that pods with the values have yet to stay ready for a minute is not waited for."""
    if condition["reason"] == "RollingOut" and status.get("current") == status.get("applied", {}).get("values"):
        return "True", "Applied"
    if condition["reason"] in _YOUNG:
        return "", "young"
    return condition["status"], condition["reason"]


def _are_over(shown: Sequence[Shown], *, has_persons: bool) -> bool:
    """Whether all values are applied, and those that were taken back are demanded again and not written."""
    answers = [item["conditions"].get("Applied") for item in shown]
    wanted = [("True", "Applied")] * (SIZE - CRASHING) + [("False", "FailedBefore")] * CRASHING
    if not has_persons:
        return answers == wanted
    wanted[REVERTED] = ("False", "TakenBack")
    return answers == wanted and all(item["verdict"] != Verdict.UNKNOWN for item in shown)


def _ordered(leader: str) -> tuple[str, str]:
    """Return the replicas, the leader first."""
    first = leader or OPERATOR_USERS[0]
    return first, next(user for user in OPERATOR_USERS if user != first)


@contextmanager
def _notes(fleet: Fleet, *, seed: str, every_s: float) -> Iterator[None]:
    """Let somebody else write into Deployments all the time, so that what the operator has read gets old."""
    ended, chance = threading.Event(), random.Random(seed)  # noqa: S311 - likewise to repeat

    def work() -> None:
        for number in itertools.count():
            fleet.annotate(chance.choice(fleet.names), str(number))
            if ended.wait(every_s):
                return

    thread = threading.Thread(target=work, name="notes")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _quiet() -> Iterator[None]:
    yield
