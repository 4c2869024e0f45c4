"""What the webhook gives to new pods while a canary runs: its values, to one pod for each ticket."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.api import canary_notes, parsing
from heartbeat_tuner.api.canary_notes import canary_status
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.verifications import Canary, CanaryPhase
from heartbeat_tuner.webhook.admission import enrolment, initial_mode, review
from heartbeat_tuner.webhook.admission.admission import Admission
from heartbeat_tuner.webhook.admission.review_outcomes import ReviewAnswer, ReviewOutcome
from heartbeat_tuner.webhook.admission.tenant_work import TenantWork
from tests.support import manifests, reviews, worlds
from tests.support.slots import NOW, FakeClock, FakeSizes, FakeSlots, FakeTickets

ENTRIES = {"KAFKA_SESSION_TIMEOUT_MS": "20000"}
CANARY = Canary(
    since=NOW - timedelta(minutes=1),
    until=NOW + timedelta(days=1),
    values=worlds.settings("20s"),
    previous=worlds.settings("30s"),
    entries=ENTRIES,
    pods=2,
    workload_uid="workload-1",
    template="t",
    spec="",
    ticket=1,
)


def policy(spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """Return a policy whose canary gives a pod its values, but for what is said."""
    body = manifests.policy(spec=spec)
    asked = parsing.policy_of(body)
    noted = canary_status(dataclasses.replace(CANARY, **{"spec": asked.spec, **changes}))
    document = noted.model_dump(mode="json", by_alias=True, exclude_none=True)
    body["status"] = {"observedGeneration": 1, "groupProtocol": "Classic", "canary": document, **(status or {})}
    return body


class World:
    """Replicas of the webhook beside each other, whose tickets are one Lease's."""

    def __init__(self, body: dict[str, Any], replicas: int = 1) -> None:
        enrolled = [item for item in [enrolment.enrolment_of(body)] if item is not None]
        self.tickets, self.clock = FakeTickets(), FakeClock()
        self.replicas = [
            Admission(
                lambda place: [item for item in enrolled if item.place == place],
                FakeSlots(),
                self.tickets,
                FakeSizes(),
                self.clock,
                may_gate=lambda: True,
                aside=TenantWork(),
            )
            for _ in range(replicas)
        ]

    async def ask(self, uid: str = "r1", replica: int = 0, **changed: Any) -> ReviewAnswer:
        """Ask a replica about a pod."""
        asked = review.read(reviews.body(reviews.request(uid=uid, **changed)))
        return await self.replicas[replica].decide(asked)


async def test_a_pod_with_the_ticket_gets_the_values_and_says_so() -> None:
    """And what the canary does not try stays as the template has it."""
    answer = await World(policy()).ask()
    changed = reviews.patched(reviews.pod(), answer.patch)
    env = {item["name"]: item["value"] for item in changed["spec"]["containers"][1]["env"]}
    assert env == {**ENTRIES, "OTHER": "1"}
    assert changed["metadata"]["annotations"] == {initial_mode.CANARY_ANNOTATION: "orders"}
    assert answer.outcome is ReviewOutcome.VALUES_SET


async def test_a_ticket_is_good_for_one_pod_whichever_replica_is_asked() -> None:
    """A rollout, an autoscaler and the eviction create pods at the same time; who asks again is answered the same."""
    world = World(policy(), replicas=2)
    given = [await world.ask(uid, replica) for uid, replica in (("a", 0), ("b", 1), ("c", 0), ("a", 1))]
    assert [bool(answer.patch) for answer in given] == [True, False, False, True]


@pytest.mark.parametrize(
    "body",
    [
        policy(ticket=0),
        policy(phase=CanaryPhase.PASSED),
        policy(phase=CanaryPhase.FAILED),
        policy(phase=CanaryPhase.ENDED),
        policy(spec={"suspend": True}),
        policy(spec={"mode": "Recommend"}),
        policy(spec={"bounds": {"sessionTimeout": {"min": "25s"}}}),
        policy(status={"observedGeneration": 0}),
        policy(status={"groupProtocol": "Consumer"}),
        policy(until=NOW),
    ],
    ids=["none", "passed", "failed", "ended", "suspended", "mode", "bounds", "edited", "protocol", "too late"],
)
async def test_else_pods_start_as_they_were_asked_for(body: dict[str, Any]) -> None:
    """And no ticket is taken."""
    world = World(body)
    assert not (await world.ask()).patch
    assert world.tickets.taken == []


async def test_values_of_another_spec_are_given_to_nobody() -> None:
    """The operator has not looked at the edit yet, or another version wrote the note."""
    other = policy()
    other["status"]["canary"]["spec"] = "another"
    assert not (await World(other).ask()).patch


async def test_a_trial_takes_no_ticket() -> None:
    """`kubectl create --dry-run=server` may ask as often as it likes."""
    world = World(policy())
    assert not (await world.ask(dryRun=True)).patch
    assert world.tickets.taken == []


async def test_a_pod_that_the_values_do_not_fit_takes_none() -> None:
    """It has another container, or values beside which the library would not start."""
    other = reviews.pod()
    other["spec"]["containers"][1]["name"] = "another"
    world = World(policy())
    assert not (await world.ask(object=other)).patch
    assert world.tickets.taken == []


async def test_where_no_ticket_can_be_taken_the_pod_starts_without() -> None:
    """A pod never waits for its values."""
    world = World(policy())
    world.tickets.error = ApiServerError("no answer")
    assert not (await world.ask()).patch


def test_the_lease_is_the_policys_own() -> None:
    """By which the API server takes it away with the policy."""
    (values,) = enrolment.in_containers([item for item in [enrolment.enrolment_of(policy())] if item is not None])
    assert values.ticket is not None
    assert values.ticket.owner.uid == "uid-of-shop-orders"
    assert values.ticket.text.endswith("/1")
    assert canary_notes.SLOT_NUMBER == 0
