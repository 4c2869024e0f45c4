"""What must hold of slots whatever happens, in which order, seen however late.

CI plays three hundred new schedules each time, and the campaign three thousand.
"""

import dataclasses
from datetime import timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from heartbeat_tuner.membership import limits, records
from heartbeat_tuner.membership.values import Claimed, GroupProtocol, Lift, Remove, Replace, Write
from tests.unit.membership.world import Body, Replica, World

pytestmark = pytest.mark.no_cover  # plays hundreds of schedules

INDEX = st.integers(min_value=0, max_value=7)
WEBHOOK = st.sampled_from([0, 1, 2])
LOOK = st.sampled_from(["old", "slots", "pods", "watch", "list"])
FATE = st.sampled_from(["now", "now", "later", "never"])


class Schedules(RuleBasedStateMachine):
    """Everything that may happen to one workload's slots."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(GroupProtocol.CLASSIC)
        self.late: list[Write | Remove | Lift | Replace] = []

    @initialize(protocol=st.sampled_from(list(GroupProtocol)), replicas=st.integers(1, 3), surge=st.integers(0, 1))
    def begin(self, protocol: GroupProtocol, replicas: int, surge: int) -> None:
        """Start with the pods of a first rollout."""
        self.world = World(protocol, replicas=replicas, surge=surge)
        for _ in range(replicas):
            self._create(self.world.webhooks[0])
        self.world.run()

    # The webhook's replicas.

    @rule(webhook=WEBHOOK)
    def restart_the_webhook(self, webhook: int) -> None:
        """A replica that begins again has not seen how pods ended."""
        self.world.list_anew(self.world.webhooks[webhook], forget=True)

    @rule(webhook=WEBHOOK, look=LOOK, fate=FATE)
    def settle(self, webhook: int, look: str, fate: str) -> None:
        """A replica may die between its decision and its writes, or they may take their time."""
        replica = self.world.webhooks[webhook]
        self._look(replica, look)
        self._do(self.world.settle(replica), fate)

    @rule(webhook=WEBHOOK, look=LOOK, fate=FATE)
    def lift(self, webhook: int, look: str, fate: str) -> None:
        """Likewise."""
        replica = self.world.webhooks[webhook]
        self._look(replica, look)
        self._do(self.world.lift(replica), fate)

    @precondition(lambda self: self.late)
    @rule(index=INDEX)
    def arrive_late(self, index: int) -> None:
        """What was decided some time ago arrives at the API server now."""
        self.world.do(self.late.pop(index % len(self.late)))

    # The controller that creates and deletes pods, and the nodes that run them.

    @rule(
        webhook=WEBHOOK,
        look=LOOK,
        steps=st.lists(st.sampled_from(["turn", "turn", "change", "run", "end", "kill", "care", "wait"]), min_size=1),
        anew=st.sampled_from([False, False, True]),
    )
    def roll_out(self, webhook: int, look: str, steps: list[str], *, anew: bool) -> None:
        """Go on with a rollout or a scaling, or begin another on top of it or back."""
        replica = self.world.webhooks[webhook]
        self._look(replica, look)
        self.world.revision += anew
        for step in steps:
            if step in {"change", "turn"}:
                self._control(replica)
            if step == "turn":  # who was deleted is still Terminating when the next one is created
                self.world.watch(replica)
                self._control(replica)
            if step in {"end", "kill", "turn"}:
                self._end(0, 137 if step == "kill" else 143)
            if step in {"wait", "turn"}:
                self.world.now += timedelta(seconds=3)
            if step in {"care", "turn"}:
                self._care(replica)
            if step in {"run", "turn"}:
                self.world.run()

    @rule(replicas=st.integers(0, 4), webhook=WEBHOOK, look=LOOK, may_gate=st.booleans())
    def scale(self, replicas: int, webhook: int, look: str, *, may_gate: bool) -> None:
        """Change the number of replicas, and let the controller begin."""
        self.world.replicas = replicas
        self._look(self.world.webhooks[webhook], look)
        for _ in range(2):
            self._control(self.world.webhooks[webhook], may_gate=may_gate)

    @rule(index=INDEX, exit_code=st.sampled_from([0, 143, 137, 1]), removed=st.sampled_from([True, True, False]))
    def end(self, index: int, exit_code: int, *, removed: bool) -> None:
        """A Terminating pod's container ends, and its object goes, unless a finalizer holds it."""
        self._end(index, exit_code, removed=removed)

    @rule(seconds=st.sampled_from([1, 5, 20, 41, 60, 80, 130]))
    def wait(self, seconds: int) -> None:
        """Time passes."""
        self.world.now += timedelta(seconds=seconds)

    @rule(index=INDEX, what=st.sampled_from(["delete", "delete slowly", "remove", "crash", "evict", "lose"]))
    def harm_a_pod(self, index: int, what: str) -> None:
        """Delete it, kill it in its pod or with it, or take its node away."""
        bodies = [body for body in self.world.bodies.values() if not body.pod.gone and (body.runs or "e" in what[:2])]
        if not bodies:
            return
        body = bodies[index % len(bodies)]
        if what.startswith("delete"):
            self.world.delete(body, timedelta(seconds=30 if what == "delete" else 600))
        elif what == "remove":
            self.world.remove(body)  # by force, or because its last finalizer is gone
        elif body.runs and what == "evict":
            self.world.end(body, index % 2, phase="Failed")
        elif body.runs and what == "lose":
            self.world.delete(body)
            self.world.lose(body)
        elif body.runs and not body.pod.deletion:
            self.world.crash(body)

    # A creation that takes its time.

    @rule(webhook=WEBHOOK, look=LOOK)
    def begin_to_create(self, webhook: int, look: str) -> None:
        """What is decided is not written yet."""
        self._look(self.world.webhooks[webhook], look)
        self.world.ask(self.world.webhooks[webhook])

    @precondition(lambda self: self.world.admissions)
    @rule(
        index=INDEX,
        webhook=WEBHOOK,
        what=st.lists(
            st.sampled_from(["write", "write", "store", "store", "ask again", "lose", "refuse"]), min_size=1, max_size=3
        ),
    )
    def go_on_creating(self, index: int, webhook: int, what: list[str]) -> None:
        """The replica's answer may be lost, another webhook may change the pod, a quota may refuse it."""
        admission = self.world.admissions[index % len(self.world.admissions)]
        for item in what:
            if item == "write" and not admission.claimed:
                self.world.write_claim(admission)
            elif item == "ask again":
                self.world.ask_again(admission, self.world.webhooks[webhook])
                self.world.write_claim(admission)
            elif item == "refuse":
                self.world.admissions.remove(admission)
                return
            elif item in {"store", "lose"}:
                self.world.store(admission, answered=item == "store")
                return

    # People.

    @precondition(lambda self: self.world.leases)
    @rule(
        index=INDEX, number=st.integers(0, 5), what=st.sampled_from(["clear", "write", "copy", "copy holder", "delete"])
    )
    def edit_a_lease(self, index: int, number: int, what: str) -> None:
        """Take a holder away, write nonsense, or copy a Lease or its holder over another or to a new number."""
        slot = list(self.world.leases.values())[index % len(self.world.leases)]
        if what == "delete":
            self._delete_a_lease(slot.number)
        elif slot.record is not None:
            holder, annotations = records.fields(slot.number, slot.record)
            if what.startswith("copy"):
                self.world.edit(number, holder, annotations if what == "copy" else {})
            else:
                self.world.edit(slot.number, "" if what == "clear" else "nonsense", annotations)

    # What must hold.

    @invariant()
    def an_id_has_one_holder(self) -> None:
        """At most one pod with each id may run; `World` says so of sessions and evictions as they happen."""
        held = [body.pod.slot for body in self.world.bodies.values() if body.may_run and body.pod.slot is not None]
        assert len(held) == len(set(held))

    def teardown(self) -> None:
        """Nothing stays gated, and nothing is lost, once one replica is there and time passes."""
        world = self.world
        world.admissions.clear()
        replica = world.webhooks[1]
        world.list_anew(replica, forget=True)
        self._nobody_stays_gated(replica)
        self._the_pool_is_used(replica)
        self._no_slot_is_lost(replica)

    def _nobody_stays_gated(self, replica: Replica) -> None:
        world = self.world
        gated = [body for body in world.bodies.values() if body.pod.gated]
        until = world.now + limits.longest_gate(world.pool)
        while world.now < until and any(body.pod.gated and not body.pod.gone for body in gated):
            world.now += timedelta(seconds=20)
            self._care(replica)
        assert not [body.pod for body in gated if body.pod.gated and not body.pod.gone]
        world.run()

    def _the_pool_is_used(self, replica: Replica) -> None:
        world = self.world
        for _ in range(4):
            world.now += limits.PLACED_WITHIN
            self._care(replica)
        used = {body.pod.slot for body in world.bodies.values() if not body.pod.is_over}
        for number in range(world.pool.size):
            if number not in used:
                body = self._create(replica)
                assert body is not None
                assert body.pod.slot == number
                assert not body.pod.gated
                world.list_anew(replica)
        world.run()

    def _no_slot_is_lost(self, replica: Replica) -> None:
        world = self.world
        for body in world.bodies.values():
            if not body.pod.gone:
                world.remove(body)
        for _ in range(4):
            world.now += limits.PLACED_WITHIN
            self._care(replica)
        assert set(world.leases) <= set(range(world.pool.size))
        for slot in world.leases.values():
            assert slot.record is not None
            assert dataclasses.replace(slot.record, former="") == type(slot.record)(since=slot.record.since)

    # How it is done.

    def _look(self, replica: Replica, look: str) -> None:
        if look == "list":
            self.world.list_anew(replica)
        elif look != "old":
            self.world.watch(replica, slots=look != "pods", pods=look != "slots")

    def _care(self, replica: Replica) -> None:
        for _ in range(2):
            self.world.list_anew(replica)
            self._do(self.world.settle(replica), "now")
        self.world.list_anew(replica)
        self._do(self.world.lift(replica), "now")

    def _do(self, actions: list[Write | Remove] | list[Lift | Replace], fate: str) -> None:
        for action in actions:
            if fate == "now":
                self.world.do(action)
            elif fate == "later":
                self.late.append(action)

    def _create(self, replica: Replica, *, may_gate: bool = True) -> Body | None:
        """Create a pod without a fault; who is refused looks again once, and then there must be no room."""
        world = self.world
        admission = world.ask(replica, may_gate=may_gate)
        if not world.write_claim(admission) or not isinstance(admission.answer, Claimed):
            world.list_anew(replica)
            world.ask_again(admission, replica)
            assert world.write_claim(admission), "nobody else writes meanwhile"
            if not isinstance(admission.answer, Claimed):
                room = [number for number in range(world.pool.size) if self._is_vacant(number)]
                assert not room, f"refused for {admission.answer.reason} with {room} free"
        return world.store(admission)

    def _is_vacant(self, number: int) -> bool:
        """Whether a slot is free by all that is true: of an edited one nobody knows."""
        world = self.world
        slot = world.leases.get(number)
        record = None if slot is None else slot.record
        stored = slot is not None and (record is None or record.holder != "" or record.rests_until is not None)
        having = any(body.pod.slot == number and not body.pod.is_over for body in world.bodies.values())
        return not stored and not having

    def _control(self, replica: Replica, *, may_gate: bool = True) -> None:
        """Do one thing, as the Deployment's controller does."""
        world = self.world
        live = [body for body in world.bodies.values() if self._counts(body)]
        new = [body for body in live if body.revision == world.revision]
        old = [body for body in live if body.revision < world.revision]
        wanted, creating = world.replicas, len(world.admissions)
        if len(live) + creating < wanted + world.surge and len(new) + creating < wanted:
            self._create(replica, may_gate=may_gate)
        elif len(live) > wanted:
            world.delete((old or new)[0])
        elif old and not world.surge:
            world.delete(old[0])

    def _end(self, index: int, exit_code: int, *, removed: bool = True) -> None:
        ending = [body for body in self.world.bodies.values() if body.runs and body.pod.deletion]
        if ending:
            body = ending[index % len(ending)]
            self.world.end(body, exit_code)
            if removed:
                self.world.remove(body)

    def _delete_a_lease(self, number: int) -> None:
        """Not while a pod of it is being created, was not seen by all, or left a session: its page says what follows.

        A replica sees it, and settles it, before anything else happens to its pod.
        """
        world = self.world
        names = [body.pod.name for body in world.bodies.values() if body.pod.slot == number]
        unseen = any(name not in replica.pods for name in names for replica in world.webhooks)
        left = number in world.sessions and world.sessions[number].until is not None
        if not unseen and not left and not world.admissions and not self.late:
            world.leases.pop(number, None)
            self._care(world.webhooks[1])

    @staticmethod
    def _counts(body: Body) -> bool:
        return not body.pod.gone and not body.ended and body.pod.deletion is None


TestSchedules = pytest.mark.timeout(600)(Schedules.TestCase)
TestSchedules.settings = settings(max_examples=max(300, settings().max_examples), stateful_step_count=40, deadline=None)
