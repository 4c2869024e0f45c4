"""From a review to its answer."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.api.slot_names import GATE, SLOT_LABEL, TOKEN_ANNOTATION
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.membership.values import Deletion, SlotRecord
from heartbeat_tuner.webhook.admission import review
from heartbeat_tuner.webhook.admission.admission import LATER_S, TRIES, Admission
from heartbeat_tuner.webhook.admission.enrolment import Enrolment
from heartbeat_tuner.webhook.admission.review_outcomes import ReviewAnswer, ReviewOutcome
from heartbeat_tuner.webhook.admission.tenant_work import TenantWork
from tests.support import reviews
from tests.support.reviews import VARIABLE
from tests.support.slots import NOW, PLACE, FakeClock, FakeSizes, FakeSlots, FakeTickets, enrolment, pod
from tests.support.webhooks import documents


class World:
    """An admission with everything that it needs."""

    def __init__(self, enrolled: Enrolment | None = None, size: int = 3) -> None:
        self.slots = FakeSlots()
        self.sizes = FakeSizes(size)
        self.gates = True
        self.enrolled = enrolment() if enrolled is None else enrolled
        self.admission = Admission(
            lambda place: [self.enrolled] if place == self.enrolled.place else [],
            self.slots,
            FakeTickets(),
            self.sizes,
            FakeClock(),
            may_gate=lambda: self.gates,
            aside=TenantWork(),
            sleep=self.pass_time,
        )
        self.paused_s: list[float] = []
        self.later: list[Callable[[], None]] = []

    async def pass_time(self, seconds: float) -> None:
        """Let what happens later happen, one thing in each pause."""
        self.paused_s.append(seconds)
        if self.later:
            self.later.pop(0)()

    async def ask(self, created: dict[str, Any] | None = None, **changed: Any) -> ReviewAnswer:
        """Ask about a pod."""
        return await self.admission.decide(review.read(reviews.body(reviews.request(created, **changed))))


async def test_a_pod_gets_the_lowest_free_slot() -> None:
    """Its id, the slot's number and the claim's token, in the container that the policy names."""
    world = World()
    answer = await world.ask(uid="r1")
    assert answer.outcome is ReviewOutcome.CLAIMED
    changed = reviews.patched(reviews.pod(), answer.patch)
    sidecar, app = changed["spec"]["containers"]
    assert sidecar == {"name": "sidecar"}
    assert app["env"][0] == {"name": VARIABLE, "value": PLACE.id_of(0)}
    assert changed["metadata"]["labels"] == {"pod-template-hash": "5d4f", SLOT_LABEL: "0"}
    assert changed["metadata"]["annotations"] == {TOKEN_ANNOTATION: "r1"}
    assert "schedulingGates" not in changed["spec"]
    record = world.slots.stored[0].record
    assert record is not None
    assert record.holder == "r1"


async def test_the_pod_of_another_installations_policy_is_left_to_its_webhook() -> None:
    """Two webhooks would both claim a slot for the pod, by rules of two versions."""
    world = World(enrolment(served_elsewhere=True))
    answer = await world.ask()
    assert (answer.outcome, answer.patch) == (ReviewOutcome.OTHER_INSTALLATION, ())
    assert not world.slots.stored


async def test_who_asks_again_gets_the_same_answer() -> None:
    """The API server asks again where an answer was lost."""
    world = World()
    assert await world.ask(uid="r1") == await world.ask(uid="r1")
    assert list(world.slots.stored) == [0]


async def test_many_at_a_time_get_different_slots_until_there_is_none() -> None:
    """The rest starts without."""
    world = World(size=3)
    answers = await asyncio.gather(*(world.ask(uid=f"r{number}") for number in range(5)))
    assert [answer.outcome for answer in answers].count(ReviewOutcome.CLAIMED) == 3
    assert [answer.outcome for answer in answers].count(ReviewOutcome.NO_SLOT) == 2
    assert len({item.record.holder for item in world.slots.stored.values() if item.record}) == 3
    assert world.slots.looks == 0  # within a replica they take turns, so that none is second
    assert not world.admission._turns


async def test_who_is_second_looks_and_takes_another() -> None:
    """A conflict is not an answer."""
    world = World()
    world.slots.put(0, SlotRecord(since=NOW, holder="other"), seen=False)
    answer = await world.ask()
    assert (answer.outcome, list(world.slots.stored)) == (ReviewOutcome.CLAIMED, [0, 1])


async def test_a_lease_that_nobody_can_see_does_not_hold_an_answer_up() -> None:
    """Conflicts are followed for a while only."""
    world = World()
    world.slots.put(0, SlotRecord(since=NOW, holder="other"), seen=False)
    world.slots.blind = True
    assert ((await world.ask()).outcome, world.slots.looks) == (ReviewOutcome.CONTENDED, TRIES)


async def test_a_pod_is_promised_the_slot_of_one_that_ends() -> None:
    """It is gated, where gates are lifted; else it starts without."""
    world = World(size=1)
    world.slots.put(0, SlotRecord(since=NOW, holder="old"))
    grace = _ending()
    world.slots.bodies = [pod(0, "old", deletion=grace)]
    answer = await world.ask()
    changed = reviews.patched(reviews.pod(), answer.patch)
    assert (answer.outcome, changed["spec"]["schedulingGates"]) == (ReviewOutcome.PROMISED, [{"name": GATE}])
    world.gates = False
    assert (await world.ask(uid="r2")).outcome is ReviewOutcome.NO_SLOT


async def test_a_pod_that_names_its_node_gets_no_gate() -> None:
    """The API server would refuse it; it starts without an id, or with one that is free."""
    world = World(size=1)
    world.slots.put(0, SlotRecord(since=NOW, holder="old"))
    world.slots.bodies = [pod(0, "old", deletion=_ending())]
    named = reviews.pod()
    named["spec"]["nodeName"] = "n"
    answer = await world.ask(named)
    assert (answer.outcome, list(answer.patch)) == (ReviewOutcome.NO_SLOT, [])
    world.sizes.count = 2
    assert (await world.ask(named)).outcome is ReviewOutcome.CLAIMED


async def test_a_pod_that_is_created_before_the_news_of_the_old_ones_end_waits_for_it() -> None:
    """Both are asked for at the same time, when a rollout replaces one by the other."""
    world = World(size=1)
    world.slots.put(0, SlotRecord(since=NOW, holder="old"))
    world.slots.bodies = [pod(0, "old")]
    world.later = [lambda: None, lambda: setattr(world.slots, "bodies", [pod(0, "old", deletion=_ending())])]
    assert (await world.ask()).outcome is ReviewOutcome.PROMISED
    assert tuple(world.paused_s) == LATER_S[:2]


async def test_a_pod_without_hope_for_a_slot_is_not_made_to_wait_for_one() -> None:
    """Where there is some, it is given up before the API server's patience ends."""
    world = World(size=0)
    answer = await world.ask()
    assert (answer.outcome, world.paused_s) == (ReviewOutcome.NO_SLOT, [])
    world = World(size=1)
    world.slots.put(0, SlotRecord(since=NOW, holder="old"))
    world.slots.bodies = [pod(0, "old")]
    answer = await world.ask()
    assert (answer.outcome, tuple(world.paused_s)) == (ReviewOutcome.NO_SLOT, LATER_S)
    patience_s = min(hook["timeoutSeconds"] for document in documents() for hook in document.get("webhooks", ()))
    assert sum(LATER_S) < patience_s / 2


def _ending() -> Deletion:
    """Return that somebody has just asked for a pod's end."""
    return Deletion(NOW + timedelta(seconds=30), timedelta(seconds=30))


async def test_a_token_that_a_pod_has_already_is_not_used_twice() -> None:
    """A new one is drawn."""
    world = World()
    world.slots.bodies = [pod(0, "r1")]
    answer = await world.ask(uid="r1")
    token = reviews.patched(reviews.pod(), answer.patch)["metadata"]["annotations"][TOKEN_ANNOTATION]
    assert (answer.outcome, token == "r1") == (ReviewOutcome.CLAIMED, False)  # noqa: S105 - a claim's name


@pytest.mark.parametrize(
    ("enrolled", "asked", "outcome"),
    [
        (enrolment(), {"created": reviews.pod(ownerReferences=None)}, ReviewOutcome.NOT_ENROLLED),
        (enrolment(), {"namespace": "other"}, ReviewOutcome.NOT_ENROLLED),
        (enrolment(suspended=True), {}, ReviewOutcome.SUSPENDED),
        (enrolment(container="nobody"), {}, ReviewOutcome.NO_CONTAINER),
        (enrolment(variable="OTHER"), {}, ReviewOutcome.OWN_ID),
        (enrolment(), {"dryRun": True}, ReviewOutcome.DRY_RUN),
    ],
    ids=lambda outcome: str(outcome) if isinstance(outcome, ReviewOutcome) else "",
)
async def test_others_are_left_alone(enrolled: Enrolment, asked: dict[str, Any], outcome: ReviewOutcome) -> None:
    """Nothing is put into them, nothing is written."""
    world = World(enrolled)
    answer = await world.ask(**asked)
    assert (answer.outcome, list(answer.patch), world.slots.stored) == (outcome, [], {})


async def test_nothing_is_given_on_a_view_that_is_out_of_touch() -> None:
    """The pod starts without."""
    world = World()
    world.slots.as_of = None
    assert (await world.ask()).outcome is ReviewOutcome.NOT_READY
    assert world.slots.stored == {}


def _stateful(**metadata: Any) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "orders-consumer", "controller": True}
    return reviews.pod(ownerReferences=[owner], **metadata)


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_stateful_set_s_pod_has_its_own_number(*, dry_run: bool) -> None:
    """No Lease is needed: there is one pod of its name at a time. So a dry run shows it, too."""
    world = World(enrolment(kind="StatefulSet"))
    world.slots.as_of = None
    asked = _stateful(name="orders-consumer-3")
    answer = await world.ask(asked, dryRun=dry_run)
    changed = reviews.patched(asked, answer.patch)
    assert answer.outcome is ReviewOutcome.ORDINAL
    assert changed["spec"]["containers"][1]["env"][0] == {"name": VARIABLE, "value": "orders-consumer-01234567-s3"}
    assert changed["metadata"] == asked["metadata"]
    assert world.slots.stored == {}


async def test_a_stateful_set_s_pod_without_a_number_starts_without() -> None:
    """Nobody knows what it is."""
    answer = await World(enrolment(kind="StatefulSet")).ask(_stateful(generateName="x"))
    assert (answer.outcome, list(answer.patch)) == (ReviewOutcome.NO_SLOT, [])
    assert "does not end in a number" in answer.message


async def test_a_deployment_s_slots_are_not_for_a_stateful_set_of_its_name() -> None:
    """Nor the other way round."""
    assert (await World().ask(_stateful(name="orders-consumer-3"))).outcome is ReviewOutcome.NOT_ENROLLED
    assert (await World(enrolment(kind="StatefulSet")).ask()).outcome is ReviewOutcome.NOT_ENROLLED


async def test_a_failure_leaves_nobody_waiting() -> None:
    """It is the server's to answer; the next one has its turn."""
    world = World()
    world.sizes.error = ApiServerError("down")
    with pytest.raises(ApiServerError):
        await world.ask()
    world.sizes.error = None
    assert (await world.ask()).outcome is ReviewOutcome.CLAIMED
