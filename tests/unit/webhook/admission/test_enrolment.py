"""Whose pod it is."""

from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.membership.values import GroupProtocol
from heartbeat_tuner.webhook.admission import enrolment
from tests.support import reviews, slots


def policy(*, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """Return a policy as the API server has it."""
    return {
        "metadata": {
            "namespace": "shop",
            "name": "orders",
            "uid": "u1",
            "generation": 1,
            "creationTimestamp": "2026-03-01T00:00:00Z",
        },
        "spec": {
            "groupId": "orders",
            "clusterRef": "main",
            "workloadRef": {"name": "orders-consumer", "container": "app"},
            "client": {"library": "java"},
            "staticMembership": "Enabled",
            **spec,
        },
        "status": status or {},
    }


def test_a_policy_with_static_membership_enrols_its_deployment() -> None:
    """Under the library's variable; what is not known yet needs more care."""
    found = enrolment.enrolment_of(policy())
    assert found is not None
    assert found.place == ("Deployment", slots.DEPLOYMENT)
    assert (found.container, found.variable) == ("app", reviews.VARIABLE)
    assert (found.protocol, found.session_timeout) == (GroupProtocol.CONSUMER, timedelta(minutes=1))
    assert not found.suspended
    assert found.pool(4).size == 4
    assert found.slots.id_of(2) == "orders-consumer-u1-2"


@pytest.mark.parametrize(
    ("owner", "installation", "elsewhere"),
    [
        ("tuner/second", "tuner/first", True),
        ("tuner/first", "tuner/first", False),
        ("", "tuner/first", False),  # no operator has looked at the policy yet
        ("tuner/second", None, False),  # a webhook that serves every operator's policies
    ],
)
def test_the_webhook_of_the_installation_that_wrote_the_status_serves_a_policy(
    owner: str, installation: str | None, *, elsewhere: bool
) -> None:
    """A new policy's first pods need not wait for its operator."""
    status = {"installation": {"name": owner, "scope": "Cluster"}} if owner else {}
    found = enrolment.enrolment_of(policy(status=status), installation=installation)
    assert found is not None
    assert found.served_elsewhere is elsewhere


@pytest.mark.parametrize(
    ("seen", "protocol"), [("Classic", GroupProtocol.CLASSIC), ("Consumer", GroupProtocol.CONSUMER)]
)
def test_the_operator_s_word_counts(seen: str, protocol: GroupProtocol) -> None:
    """A session that is longer than brokers usually allow, too."""
    current = {"sessionTimeout": "90s", "heartbeatInterval": "3s", "fetchWait": "500ms"}
    found = enrolment.enrolment_of(policy(status={"groupProtocol": seen, "current": current}))
    assert found is not None
    assert (found.protocol, found.session_timeout) == (protocol, timedelta(seconds=90))


@pytest.mark.parametrize(
    ("status", "gives"),
    [
        ({}, False),
        ({"staticIds": {"given": False, "worth": "Costs", "message": ""}}, False),
        ({"staticIds": {"given": True, "worth": "Close", "message": ""}}, True),
        # A newer operator beside a webhook that is not replaced yet: its pods need their ids all the same.
        ({"staticIds": {"given": True, "worth": "Close", "message": ""}, "reason": "OfTheFuture"}, True),
    ],
)
def test_in_auto_the_operator_s_word_decides(status: dict[str, Any], *, gives: bool) -> None:
    """Whatever the advice of the day is; a policy of a library that is refused has no variable."""
    found = enrolment.enrolment_of(policy(staticMembership="Auto", status=status))
    assert (found is not None and found.gives_ids) == gives
    refused = policy(staticMembership="Auto", client={"library": "kafkajs"}, status=status)
    assert enrolment.enrolment_of(refused) is None


def test_who_has_no_static_membership_enrols_nothing() -> None:
    """Not asked for, not possible, not readable, or on its way out."""
    ending = policy()
    ending["metadata"]["deletionTimestamp"] = "2026-03-02T00:00:00Z"
    without = [policy(staticMembership="Disabled"), policy(client={"library": "kafkajs"}), policy(groupId=7), ending]
    assert [enrolment.enrolment_of(body) for body in without] == [None] * 4


def test_of_two_policies_the_older_holds() -> None:
    """Also where it is suspended."""
    older = slots.enrolment(policy=ObjectKey("shop", "z"), suspended=True)
    younger = slots.enrolment(created=slots.NOW)
    assert enrolment.holder([younger, older]) is older
    assert enrolment.holder([]) is None


def _owned(**owner: Any) -> dict[str, Any]:
    (reference,) = reviews.pod()["metadata"]["ownerReferences"]
    return reviews.pod(ownerReferences=[{**reference, **owner}])


def test_a_replica_set_s_name_tells_its_deployment() -> None:
    """Less the hash, which the pod has as a label."""
    assert enrolment.workload_of(reviews.pod(), "shop") == ("Deployment", slots.DEPLOYMENT)


def test_another_hash_says_that_it_is_a_rollout() -> None:
    """Argo's ReplicaSets are called like a Deployment's, and their pods have another label."""
    hashed = reviews.pod()["metadata"]["labels"]["pod-template-hash"]
    rolled = reviews.pod(labels={"rollouts-pod-template-hash": hashed})
    assert enrolment.workload_of(rolled, "shop") == ("Rollout", slots.DEPLOYMENT)


def test_a_rollout_s_pods_are_lent_slots() -> None:
    """Like a Deployment's: their names do not stay."""
    reference = {"kind": "Rollout", "name": "orders-consumer", "container": "app"}
    found = enrolment.enrolment_of(policy(workloadRef=reference))
    assert found is not None
    assert (found.lends_slots, found.place) == (True, ("Rollout", slots.DEPLOYMENT))


def test_a_stateful_set_owns_its_pods() -> None:
    """By its own name; their numbers are at the end of theirs."""
    owned = _owned(kind="StatefulSet", name="orders-consumer")
    assert enrolment.workload_of(owned, "shop") == ("StatefulSet", slots.DEPLOYMENT)
    for name, number in (
        ("orders-consumer-0", 0),
        ("orders-consumer-12", 12),
        ("orders-consumer-x", None),
        (None, None),
    ):
        owned["metadata"]["name"] = name
        assert enrolment.ordinal_of(owned, "orders-consumer") == number


@pytest.mark.parametrize(
    "pod",
    [
        reviews.pod(ownerReferences=None),
        reviews.pod(labels=None),
        reviews.pod(labels={"pod-template-hash": ""}),
        _owned(kind="Job"),
        _owned(apiVersion="example.dev/v1"),
        _owned(controller=False),
        _owned(name="orders-consumer"),
        _owned(name="-5d4f"),
    ],
)
def test_other_pods_are_made_for_no_deployment(pod: dict[str, Any]) -> None:
    """No owner, no hash, another kind of owner, or one that is no Deployment's."""
    assert enrolment.workload_of(pod, "shop") is None
