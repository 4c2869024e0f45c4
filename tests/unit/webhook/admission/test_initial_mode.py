"""Mode Initial: what is set in a pod that is being created, and when nothing is."""

from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.webhook.admission import enrolment, initial_mode, review
from heartbeat_tuner.webhook.admission.admission import Admission
from heartbeat_tuner.webhook.admission.review_outcomes import ReviewAnswer, ReviewOutcome
from heartbeat_tuner.webhook.admission.tenant_work import TenantWork
from tests.support import reviews
from tests.support.slots import NOW, FakeClock, FakeSizes, FakeSlots, FakeTickets

CURED = {
    "KAFKA_SESSION_TIMEOUT_MS": "30000",
    "KAFKA_HEARTBEAT_INTERVAL_MS": "1000",
    "KAFKA_MAX_WAIT_TIME_MS": "1000",
}
VALUES = {"sessionTimeout": "30s", "heartbeatInterval": "1s", "fetchWait": "1s"}
NOW_SET = {"sessionTimeout": "1s", "heartbeatInterval": "333ms", "fetchWait": "5s"}


def policy(
    name: str = "orders", *, values: dict[str, str] | None = None, status: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """Return a policy whose status says what is to be set."""
    shown = VALUES if values is None else values
    return {
        "metadata": {
            "namespace": "shop",
            "name": name,
            "uid": name,
            "generation": 3,
            "creationTimestamp": "2026-03-01T00:00:00Z",
        },
        "spec": {
            "groupId": "orders",
            "clusterRef": "main",
            "workloadRef": {"name": "orders-consumer", "container": "app"},
            "client": {"library": "kafkajs"},
            "mode": "Initial",
            **spec,
        },
        "status": {
            "observedGeneration": 3,
            "groupProtocol": "Classic",
            "current": NOW_SET,
            "initial": {"values": shown, "expirationTime": "2026-03-03T12:00:00Z"},
            **(status or {}),
        },
    }


def pod(*env: dict[str, Any]) -> dict[str, Any]:
    """Return a pod whose consumer has this environment."""
    asked = reviews.pod()
    asked["spec"]["containers"][1]["env"] = list(env)
    return asked


async def _at_once(_seconds: float) -> None:
    """Wait for nothing."""


class World:
    """An admission and the policies of one Deployment."""

    def __init__(self, *policies: dict[str, Any]) -> None:
        enrolled = [item for item in map(enrolment.enrolment_of, policies) if item is not None]
        self.clock, self.slots, self.sizes, self.tickets = FakeClock(), FakeSlots(), FakeSizes(), FakeTickets()
        self.admission = Admission(
            lambda place: [item for item in enrolled if item.place == place],
            self.slots,
            self.tickets,
            self.sizes,
            self.clock,
            may_gate=lambda: True,
            aside=TenantWork(),
            sleep=_at_once,
        )

    async def ask(self, created: dict[str, Any] | None = None, **changed: Any) -> ReviewAnswer:
        """Ask about a pod."""
        return await self.admission.decide(review.read(reviews.body(reviews.request(created, **changed))))

    async def env(self, created: dict[str, Any] | None = None) -> dict[str, str]:
        """Return the consumer's environment in the pod as it is created."""
        asked = reviews.pod() if created is None else created
        changed = reviews.patched(asked, (await self.ask(asked)).patch)
        return {item["name"]: item.get("value", "") for item in changed["spec"]["containers"][1].get("env", ())}


async def test_a_pod_gets_the_values_of_the_status() -> None:
    """Under the library's names, beside what it has; and the pod says whose they are."""
    world = World(policy())
    answer = await world.ask()
    changed = reviews.patched(reviews.pod(), answer.patch)
    assert answer.outcome is ReviewOutcome.VALUES_SET
    assert await world.env() == {**CURED, "OTHER": "1"}
    assert changed["metadata"]["annotations"] == {initial_mode.ANNOTATION: "orders"}
    assert world.slots.stored == {}


async def test_literals_of_the_template_do_not_stand_in_the_way() -> None:
    """That is what the mode is for: the Deployment stays as Git has it."""
    literal = {"name": "KAFKA_SESSION_TIMEOUT_MS", "value": "1000"}
    mapped = {"name": "KAFKA_MAX_WAIT_TIME_MS", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}
    assert await World(policy()).env(pod(literal, mapped)) == CURED


async def test_settings_that_are_not_to_change_are_not_set() -> None:
    """They may be set in code, or be the library's own."""
    assert await World(policy(values={"fetchWait": "1s"})).env(pod()) == {"KAFKA_MAX_WAIT_TIME_MS": "1000"}


async def test_a_policy_s_own_names_are_used() -> None:
    """As in the operator's own writes."""
    client = {"library": "kafkajs", "env": {"sessionTimeout": {"name": "MY_S"}}}
    assert (await World(policy(client=client)).env(pod()))["MY_S"] == "30000"


@pytest.mark.parametrize(
    "body",
    [
        policy(status={"initial": None}),
        policy(status={"observedGeneration": 2}),
        policy(status={"groupProtocol": "Consumer"}),
        policy(status={"groupProtocol": "Streams"}),
        policy(values={}),
        policy(mode="Recommend"),
        policy(mode="Apply"),
        policy(suspend=True),
        policy(bounds={"sessionTimeout": {"max": "20s"}}),
        policy(bounds={"heartbeatInterval": {"min": "2s"}}),
        policy(values={"maxPollInterval": "5m"}),
        policy(status={"initial": {"values": VALUES, "expirationTime": "soon"}}),
    ],
    ids=[
        *("none", "of-another-spec", "kip-848", "kip-1071", "empty", "recommend", "apply", "suspended", "above-bounds"),
        *("below-bounds", "unknown-to-the-library", "unreadable"),
    ],
)
async def test_without_a_recommendation_that_holds_a_pod_is_left_alone(body: dict[str, Any]) -> None:
    """It starts as it was asked for, byte by byte."""
    answer = await World(body).ask()
    assert (answer.outcome, list(answer.patch), answer.message) == (ReviewOutcome.NOT_ENROLLED, [], "")


async def test_what_is_out_of_date_is_not_set() -> None:
    """An operator that has been away for days says nothing about today."""
    world = World(policy())
    world.clock.time = NOW + timedelta(days=1, seconds=-1)
    assert (await world.ask()).outcome is ReviewOutcome.VALUES_SET
    world.clock.time = NOW + timedelta(days=1)
    assert list((await world.ask()).patch) == []


@pytest.mark.parametrize(
    ("seen", "env"),
    [
        ("45s", {"name": "KAFKA_SESSION_TIMEOUT_MS", "value": "2000"}),
        ("45s", {"name": "KAFKA_SESSION_TIMEOUT_MS", "value": "two"}),
        ("1s", {"name": "OTHER", "value": "1"}),
        ("45s", {"name": "KAFKA_SESSION_TIMEOUT_MS", "value": "45"}),
    ],
    ids=["its-own", "unreadable", "as-was-seen", "seconds"],
)
async def test_values_that_would_keep_the_client_from_starting_are_not_set(seen: str, env: dict[str, str]) -> None:
    """The template may have changed since; whatever else is set, the pod starts as asked for; a log says so."""
    current = {**NOW_SET, "sessionTimeout": seen}
    body = policy(values={"heartbeatInterval": "3s"}, client={"library": "java"}, status={"current": current})
    answer = await World(body).ask(pod(env))
    assert (answer.outcome, list(answer.patch)) == (ReviewOutcome.VALUES_UNFIT, [])
    assert answer.message.startswith("shop/orders: ")


async def test_a_session_from_a_config_map_counts_as_it_was_seen() -> None:
    """What is in the map is not asked for while a pod waits."""
    mapped = {"name": "KAFKA_SESSION_TIMEOUT_MS", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}
    body = policy(values={"heartbeatInterval": "2s"}, status={"current": {**NOW_SET, "sessionTimeout": "45s"}})
    assert (await World(body).ask(pod(mapped))).outcome is ReviewOutcome.VALUES_SET


async def test_a_status_without_current_values_counts_as_the_library_s_defaults() -> None:
    """Nothing else is known then."""
    body = policy(values={"heartbeatInterval": "2s"}, status={"current": None})
    assert (await World(body).ask(pod())).outcome is ReviewOutcome.VALUES_SET


async def test_a_pod_without_the_container_is_left_alone() -> None:
    """Nothing is put into others."""
    answer = await World(policy(workloadRef={"name": "orders-consumer", "container": "nobody"})).ask()
    assert (answer.outcome, list(answer.patch)) == (ReviewOutcome.NOT_ENROLLED, [])


async def test_of_two_policies_for_one_container_the_older_sets_its_values() -> None:
    """Of two containers each gets its own."""
    older = policy("z", values={"sessionTimeout": "20s"})
    older["metadata"]["creationTimestamp"] = "2026-02-01T00:00:00Z"
    assert await World(policy(), older).env(pod()) == {"KAFKA_SESSION_TIMEOUT_MS": "20000"}
    sidecar = policy("side", workloadRef={"name": "orders-consumer", "container": "sidecar"})
    changed = reviews.patched(reviews.pod(), (await World(policy(), sidecar).ask()).patch)
    assert [item["name"] for item in changed["spec"]["containers"][0]["env"]] == list(CURED)
    assert changed["metadata"]["annotations"] == {initial_mode.ANNOTATION: "orders,side"}


async def test_ids_and_values_are_set_together() -> None:
    """Where there is no id to be had, the values are set all the same."""
    body = policy(staticMembership="Enabled", client={"library": "java"})
    body["metadata"]["uid"] = "0123456789"
    world = World(body)
    world.sizes.count = 1
    answer = await world.ask(uid="r1")
    names = [item["name"] for item in reviews.patched(reviews.pod(), answer.patch)["spec"]["containers"][1]["env"]]
    assert answer.outcome is ReviewOutcome.CLAIMED
    assert sorted(names) == sorted(["KAFKA_GROUP_INSTANCE_ID", "KAFKA_FETCH_MAX_WAIT_MS", *list(CURED)[:2], "OTHER"])
    assert (await world.ask(uid="r2")).outcome is ReviewOutcome.NO_SLOT
    assert "KAFKA_SESSION_TIMEOUT_MS" in await world.env()


async def test_a_dry_run_shows_the_values() -> None:
    """They cost nothing; ids do."""
    answer = await World(policy()).ask(dryRun=True)
    assert answer.outcome is ReviewOutcome.VALUES_SET
    both = await World(policy(staticMembership="Enabled", client={"library": "java"})).ask(dryRun=True)
    assert (both.outcome, len(both.patch)) == (ReviewOutcome.DRY_RUN, 2)
