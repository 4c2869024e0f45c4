"""Which edits of a spec ask for values again, and which do not."""

import copy
from typing import Any

import pytest

from heartbeat_tuner.api import parsing
from tests.support import manifests

BODY = manifests.policy(spec={"bounds": {"sessionTimeout": {"max": "60s"}}})


def asked(**spec: Any) -> str:
    """Return the fingerprint of a policy with these fields of its spec; None takes one out."""
    body = copy.deepcopy(BODY)
    body["spec"] = {name: value for name, value in (body["spec"] | spec).items() if value is not None}
    return parsing.policy_of(body).spec


@pytest.mark.parametrize(
    "spec",
    [
        {"mode": "Recommend"},
        {"suspend": True},
        {"rollout": {"cooldown": "48h"}},
        {"rollout": {"horizon": "720h", "verification": {"revert": False}}},
        {"rollout": {"windows": [{"schedule": "0 2 * * *", "duration": "3h", "timeZone": "UTC"}]}},
        {"metrics": {"convention": "auto"}},
        {"objective": {"maxDetectionTime": "300s"}},
        {"objective": {"maxDetectionTime": "5m", "maxFalseEvictionsPerMonth": 1}},
        {"bounds": {"sessionTimeout": {"max": "1m"}, "fetchWait": {}}},
        {"client": {"library": "kafkajs", "env": {"sessionTimeout": {"name": "KAFKA_SESSION_TIMEOUT_MS"}}}},
    ],
)
def test_what_no_value_depends_on_asks_for_nothing_again(spec: dict[str, Any]) -> None:
    """Nor does a default that is written out, by a person or by the API server of a newer version."""
    assert asked(**spec) == asked()


@pytest.mark.parametrize(
    "spec",
    [
        {"groupId": "billing"},
        {"clusterRef": "other"},
        {"objective": {"maxDetectionTime": "60s"}},
        {"objective": {"maxFalseEvictionsPerMonth": 2}},
        {"bounds": None},
        {"bounds": {"sessionTimeout": {"max": "61s"}}},
        {"bounds": {"sessionTimeout": {"min": "60s"}}},
        {"bounds": {"fetchWait": {"max": "60s"}}},
        {"client": {"library": "java"}},
        {"client": {"library": "kafkajs", "env": {"sessionTimeout": {"name": "SESSION_MS"}}}},
        {"client": {"library": "kafkajs", "current": {"sessionTimeout": "30s"}}},
        {"workloadRef": {"kind": "StatefulSet", "name": "orders-consumer", "container": "app"}},
        {"workloadRef": {"kind": "Deployment", "name": "another", "container": "app"}},
        {"workloadRef": {"kind": "Deployment", "name": "orders-consumer", "container": "worker"}},
    ],
)
def test_what_values_depend_on_asks_again(spec: dict[str, Any]) -> None:
    """Whoever edits it has read why the values failed, or has another group."""
    assert asked(**spec) != asked()


TWO: list[dict[str, Any]] = [{"name": "orders-consumer", "container": "app"}, {"name": "batch", "container": "app"}]


def test_another_order_of_several_workloads_asks_for_nothing_again() -> None:
    """Another workload does, and so does a list in the place of one; a list of one is that one."""
    several = asked(workloadRef=None, workloadRefs=TWO)
    assert several == asked(workloadRef=None, workloadRefs=TWO[::-1])
    assert several != asked(workloadRef=None, workloadRefs=[TWO[0], {"name": "other", "container": "app"}])
    assert several != asked()
    assert asked(workloadRef=None, workloadRefs=TWO[:1]) == asked()
