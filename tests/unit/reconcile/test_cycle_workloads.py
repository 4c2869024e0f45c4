"""Whole cycles on fakes: which workload a policy has, and who of several may write it."""

import pytest

from heartbeat_tuner.domain.errors import (
    ApiServerError,
)
from heartbeat_tuner.domain.policies import ObjectKey
from tests.support import manifests, stages
from tests.support.stages import CONSUMER, ORDERS, Stage


@pytest.mark.parametrize(
    ("cluster", "group", "reason", "sentence"),
    [
        ("nowhere", "orders", "ClusterNotConfigured", "clusterRef 'nowhere' names no Kafka cluster"),
        ("mian", "orders", "ClusterNotConfigured", "of the operator's configuration; did you mean main?"),
        ("other", "orders", "GroupNotFound", "Kafka cluster other knows no consumer group orders"),
    ],
)
async def test_names_that_lead_nowhere_are_told(cluster: str, group: str, reason: str, sentence: str) -> None:
    """A person sees which name to correct."""
    stage = stages.storm(clusterRef=cluster, groupId=group)
    await stage.cycle()
    assert stage.condition("Ready") == ("False", reason)
    assert sentence in stage.message("Ready")
    assert stage.policies.status_of(ORDERS)["verdict"] == "Unknown"


async def test_a_missing_workload_is_told_and_recovered_from() -> None:
    """A policy may come before its Deployment."""
    stage = stages.storm()
    deployment = stage.workloads.stored.pop(CONSUMER)
    await stage.cycle()
    await stage.cycle()
    assert stage.condition("Ready") == ("False", "WorkloadNotFound")
    assert stage.policies.writes == 1
    stage.workloads.stored[CONSUMER] = deployment
    await stage.cycle()
    assert stage.condition("Ready") == ("True", "Watching")
    assert len(stage.workloads.writes) == 1


async def test_an_api_server_that_refuses_to_read_is_told() -> None:
    """The condition repeats its answer."""
    stage = stages.storm()
    stage.workloads.read_error = ApiServerError("refused with 403")
    await stage.cycle()
    assert (stage.condition("Ready"), stage.message("Ready")) == (("False", "ApiServerError"), "refused with 403")


async def test_the_older_of_two_rivals_holds() -> None:
    """Two policies for one container would undo each other's work."""
    stage = Stage(
        [
            manifests.policy("aaa-younger", creationTimestamp="2026-03-01T12:00:01Z"),
            manifests.policy(creationTimestamp="2026-03-01T12:00:00Z"),
        ]
    )
    younger = ObjectKey("shop", "aaa-younger")
    await stage.cycle()
    assert stage.condition("Ready", younger) == ("False", "Conflict")
    assert "policy shop/orders is older" in stage.message("Ready", younger)
    assert stage.condition("Ready") == ("True", "Watching")
    assert len(stage.workloads.writes) == 1


async def test_a_rival_takes_over_when_the_older_is_deleted() -> None:
    """The conflict is one of today, not for ever."""
    stage = Stage([manifests.policy(), manifests.policy("rival", creationTimestamp="2026-03-01T12:00:01Z")])
    await stage.cycle()
    stage.policies.delete_from_watch(ORDERS)
    await stage.cycle()
    assert stage.condition("Ready", ObjectKey("shop", "rival")) == ("True", "Watching")


async def test_containers_of_one_pod_have_a_policy_each() -> None:
    """Rivals are those who would write the same entries."""
    other = manifests.policy("sidecar", creationTimestamp="2026-03-01T12:00:01Z")
    other["spec"]["workloadRef"]["container"] = "sidecar"
    stage = Stage([manifests.policy(mode="Recommend"), other])
    await stage.cycle()
    assert stage.condition("Ready", ObjectKey("shop", "sidecar")) == ("True", "Watching")
