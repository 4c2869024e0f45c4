"""What the API server itself says of a policy: no operator runs here."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from tests.e2e.teams import Team, policy_document

pytestmark = pytest.mark.timeout(120)

TWO: list[dict[str, Any]] = [{"name": "orders", "container": "app"}, {"name": "orders-batch", "container": "app"}]

IMPOSSIBLE: dict[str, tuple[dict[str, Any], str]] = {
    "min-above-max": (
        {"bounds": {"sessionTimeout": {"min": "20s", "max": "10s"}}},
        "spec.bounds.sessionTimeout: .*min must not be greater than max",
    ),
    "heartbeat-outlasts-session": (
        {"bounds": {"heartbeatInterval": {"min": "30s"}, "sessionTimeout": {"max": "30s"}}},
        "spec.bounds: .*heartbeatInterval.min must be below sessionTimeout.max",
    ),
    "session-above-detection": (
        {"bounds": {"sessionTimeout": {"min": "90s"}}, "objective": {"maxDetectionTime": "1m"}},
        "spec: .*bounds.sessionTimeout.min must not exceed objective.maxDetectionTime",
    ),
    "session-above-default-detection": (
        {"bounds": {"sessionTimeout": {"min": "301s"}}},
        "spec: .*bounds.sessionTimeout.min must not exceed objective.maxDetectionTime, which is 300s for kafkajs",
    ),
    "session-above-default-detection-of-java": (
        {"client": {"library": "java"}, "bounds": {"sessionTimeout": {"min": "90s"}}},
        "spec: .*bounds.sessionTimeout.min must not exceed objective.maxDetectionTime, which is 60s for java",
    ),
    "detection-too-short": (
        {"objective": {"maxDetectionTime": "500ms"}},
        "spec: .*objective.maxDetectionTime must be at least 1s",
    ),
    "unknown-library": (
        {"client": {"library": "pykafka"}},
        'spec.client.library: Unsupported value: "pykafka": supported values: "aiokafka", "confluent-kafka-dotnet"',
    ),
    "no-such-bound": (
        {"bounds": {"maxPollInterval": {"max": "10m"}}},
        "spec: .*kafkajs, .* has no maxPollInterval; leave it out of client.env, client.current and bounds",
    ),
    "no-such-env": (
        {"client": {"library": "kafkajs", "env": {"maxPollInterval": {"name": "MAX_POLL"}}}},
        "spec: .*kafkajs, .* has no maxPollInterval",
    ),
    "no-such-value": (
        {"client": {"library": "kafkajs", "current": {"maxPollInterval": "10m"}}},
        "spec: .*kafkajs, .* has no maxPollInterval",
    ),
    "no-such-bound-of-connect": (
        {"client": {"library": "connect"}, "bounds": {"fetchWait": {"max": "1s"}}},
        "spec: .*connect has no fetchWait; leave it out of client.env, client.current and bounds",
    ),
    "wrong-exporter-of-connect": (
        {"client": {"library": "connect"}, "metrics": {"convention": "jmx-exporter"}},
        "spec: .*metrics.convention of a connect consumer must be one of auto, connect-worker",
    ),
    "no-env-name": (
        {"client": {"library": "kafkajs", "env": {"sessionTimeout": {"name": "1BAD NAME"}}}},
        "spec.client.env.sessionTimeout.name: .*must be an environment variable's name",
    ),
    "duration-in-words": (
        {"objective": {"maxDetectionTime": "5 minutes"}},
        "spec.objective.maxDetectionTime: .*must be a duration such as 45s",
    ),
    "control-character": ({"groupId": "or\tders"}, "spec.groupId: .*must not hold control or replacement characters"),
    "duration-beyond-clocks": (
        {"rollout": {"cooldown": "99999999999h"}},
        "spec.rollout.cooldown: .*must be a duration of at most 999999h",
    ),
    "bound-beyond-clocks": (
        {"bounds": {"sessionTimeout": {"min": "99999999999999s"}}},
        "spec.bounds.sessionTimeout.min: .*must be a duration of at most 999999h",
    ),
    "bound-in-words": (
        {"bounds": {"sessionTimeout": {"min": "thirty", "max": "60s"}, "heartbeatInterval": {"min": ""}}},
        "spec.bounds.sessionTimeout.min: .*must be a duration such as 45s",
    ),
    "days-last": ({"objective": {"maxDetectionTime": "1h1d"}}, "spec.objective.maxDetectionTime: .*whole days first"),
    "window-without-a-unit": (
        {"rollout": {"windows": [{"schedule": "0 2 * * *", "duration": "3"}]}},
        r"spec.rollout.windows\[0\].duration: .*must be a duration such as 45s",
    ),
    "infinite-evictions": (
        {"objective": {"maxFalseEvictionsPerMonth": "1e400"}},
        "spec.objective.maxFalseEvictionsPerMonth: .*must be from 0 to 100000; a fraction as text, such as '0.5'",
    ),
    "duration-of-half-a-day": (
        {"rollout": {"cooldown": "0.5d"}},
        "spec.rollout.cooldown: .*must be a duration .*whole days first",
    ),
    "bounds-in-days-the-wrong-way-round": (
        {"bounds": {"sessionTimeout": {"min": "1d1s", "max": "24h"}}},
        "spec.bounds.sessionTimeout: .*min must not be greater than max",
    ),
    "window-of-six-fields": (
        {"rollout": {"windows": [{"schedule": "0 0 2 * * 1-5", "duration": "3h"}]}},
        r"spec.rollout.windows\[0\].schedule: .*must be five fields",
    ),
    "window-by-a-nickname": (
        {"rollout": {"windows": [{"schedule": "@daily", "duration": "3h"}]}},
        r"spec.rollout.windows\[0\].schedule: .*must be five fields",
    ),
    "window-at-an-hour-25": (
        {"rollout": {"windows": [{"schedule": "0  25 * * *", "duration": "3h"}]}},
        r"spec.rollout.windows\[0\].schedule: .*hour 25 is out of range: write 0 to 23, or \*, a range such as 1-5",
    ),
    "window-on-a-weekday-8": (
        {"rollout": {"windows": [{"schedule": "0 2 * * mon,8", "duration": "3h"}]}},
        r"spec.rollout.windows\[0\].schedule: .*weekday mon,8 is out of range: write 0 to 7 or sun to sat",
    ),
    "window-that-crons-read-differently": (
        {"rollout": {"windows": [{"schedule": "0 2 */2 * MON", "duration": "3h"}]}},
        r"spec.rollout.windows\[0\].schedule: .*crons differ on a step over all days",
    ),
    "window-of-no-time": (
        {"rollout": {"windows": [{"schedule": "0 2 * * *", "duration": "0s"}]}},
        r"spec.rollout.windows\[0\]: .*duration must be 1m to 168h",
    ),
    "window-of-eight-days": (
        {"rollout": {"windows": [{"schedule": "0 2 * * *", "duration": "192h"}]}},
        r"spec.rollout.windows\[0\]: .*duration must be 1m to 168h",
    ),
    "zone-that-is-a-path": (
        {"rollout": {"windows": [{"schedule": "0 2 * * *", "duration": "3h", "timeZone": "../UTC"}]}},
        r"spec.rollout.windows\[0\].timeZone: .*must be an IANA time zone",
    ),
    "eleven-windows": (
        {"rollout": {"windows": [{"schedule": "0 2 * * *", "duration": "3h"}] * 11}},
        "spec.rollout.windows: Too many: 11: must have at most 10 items",
    ),
    "no-group": ({"groupId": None}, "spec.groupId: Required value"),
    "empty-group": ({"groupId": ""}, "spec.groupId: .*at least 1 chars"),
    "negative-evictions": (
        {"objective": {"maxFalseEvictionsPerMonth": -1}},
        "spec.objective.maxFalseEvictionsPerMonth: .*must be from 0 to 100000; a fraction as text, such as '0.5'",
    ),
    "evictions-as-a-number-with-a-fraction": (
        {"objective": {"maxFalseEvictionsPerMonth": 0.5}},
        "spec.objective.maxFalseEvictionsPerMonth: .*must be of type ",
    ),
    "evictions-in-words": (
        {"objective": {"maxFalseEvictionsPerMonth": "few"}},
        "spec.objective.maxFalseEvictionsPerMonth: .*must be from 0 to 100000; a fraction as text",
    ),
    "unknown-mode": ({"mode": "Force"}, 'spec.mode: Unsupported value: "Force"'),
    "unknown-kind": (
        {"workloadRef": {"kind": "CronJob", "name": "x", "container": "app"}},
        'spec.workloadRef.kind: Unsupported value: "CronJob": supported values: "Deployment"',
    ),
    "one-workload-and-several": (
        {"workloadRefs": TWO},
        "spec: .*exactly one of workloadRef and workloadRefs must be set",
    ),
    "no-workload": ({"workloadRef": None}, "spec: .*exactly one of workloadRef and workloadRefs must be set"),
    "none-of-several-workloads": (
        {"workloadRef": None, "workloadRefs": []},
        "spec.workloadRefs: .*should have at least 1 items",
    ),
    "nine-workloads": (
        {"workloadRef": None, "workloadRefs": [{"name": f"w{number}", "container": "app"} for number in range(9)]},
        "spec.workloadRefs: Too many: 9: must have at most 8 items",
    ),
    "a-workload-twice": (
        {"workloadRef": None, "workloadRefs": [*TWO, {"kind": "Deployment", "name": "orders", "container": "other"}]},
        r"spec.workloadRefs\[2\]: Duplicate value: .*orders",
    ),
    "static-ids-of-several-workloads": (
        {"workloadRef": None, "workloadRefs": TWO, "staticMembership": "Auto"},
        "spec: .*staticMembership must be Disabled with several workloadRefs",
    ),
    "initial-values-of-several-workloads": (
        {"workloadRef": None, "workloadRefs": TWO, "mode": "Initial"},
        "spec: .*mode cannot be Initial with several workloadRefs",
    ),
    "unknown-convention": (
        {"metrics": {"convention": "kafka-js"}},
        'spec.metrics.convention: Unsupported value: "kafka-js": supported values: "auto", "jmx-exporter"',
    ),
    "another-library-s-convention": (
        {"metrics": {"convention": "micrometer"}},
        "spec: .*metrics.convention of a kafkajs consumer must be one of auto, kafkajs",
    ),
    "convention-that-never-knows": (
        {"metrics": {"convention": "node-rdkafka-prometheus"}},
        'spec.metrics.convention: Unsupported value: "node-rdkafka-prometheus": supported values: "auto"',
    ),
    "metric-that-is-none": (
        {"metrics": {"names": {"heartbeats": 'a"} or {b="'}}},
        "spec.metrics.names.heartbeats: .*must be a metric's or label's name",
    ),
    "label-that-is-none": (
        {"metrics": {"labels": {"group": "__name__"}}},
        "spec.metrics.labels.group: .*must be a metric's or label's name: no leading __",
    ),
    "unknown-quantity": ({"metrics": {"names": {"beats": "a"}}}, 'unknown field "spec.metrics.names.beats"'),
    "unknown-field": ({"cooldwon": "1h"}, 'unknown field "spec.cooldwon"'),
    "unknown-deep-field": (
        {"objective": {"maxDetection": "60s"}},
        'unknown field "spec.objective.maxDetection"',
    ),
}


@pytest.fixture(scope="module")
def team(sandbox: Sandbox) -> Iterator[Team]:
    """A namespace without a workload."""
    made = Team(sandbox, "refused")
    made.create()
    yield made
    made.delete()


@pytest.mark.parametrize(("changes", "sentence"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_impossible_policy_is_refused(team: Team, changes: dict[str, Any], sentence: str) -> None:
    """`kubectl apply` of a policy that nothing could satisfy fails with the field and the rule."""
    with pytest.raises(SandboxError) as refused:
        team.apply_policy_spec(**changes)

    said = str(refused.value).replace("\n", " ")
    assert re.search(sentence, said)
    assert "type conversion error" not in said  # of a rule that compares what another one has refused already


def test_names_of_its_own_are_taken(team: Team) -> None:
    """In UTF-8, as Prometheus takes them."""
    metrics = {"convention": "kafkajs", "names": {"heartbeats": "größe.total"}, "labels": {"pod": "k8s.pod.name"}}
    team.apply_policy_spec("named", metrics=metrics)

    assert team.policy("named")["spec"]["metrics"] == metrics


def test_several_workloads_are_taken(team: Team) -> None:
    """Each with its kind; one of a name may be a Deployment, another a StatefulSet."""
    refs = [*TWO, {"kind": "StatefulSet", "name": "orders", "container": "app"}]
    team.apply_policy_spec("several", workloadRef=None, workloadRefs=refs)

    assert team.policy("several")["spec"]["workloadRefs"] == [{"kind": "Deployment", **ref} for ref in TWO] + refs[2:]


def test_group_cannot_be_changed(team: Team) -> None:
    """A policy's group is for ever, and the refusal says what to do instead."""
    team.apply_policy_spec("settled")

    with pytest.raises(SandboxError, match="groupId cannot be changed; delete the policy and create another"):
        team.apply_policy_spec("settled", groupId="another")


def test_smallest_policy_gets_its_defaults(team: Team) -> None:
    """A policy of required fields only is stored with every default written out."""
    team.apply_policy_spec("smallest")

    assert team.policy("smallest")["spec"] == {
        **policy_document(team.name)["spec"],
        "workloadRef": {"kind": "Deployment", "name": team.name, "container": "app"},
        "mode": "Recommend",
        "objective": {"maxFalseEvictionsPerMonth": 1},
        "rollout": {
            "cooldown": "24h",
            "horizon": "336h",
            "verification": {"revert": True},
            "canary": {"share": "25%", "duration": "1h"},
        },
        "staticMembership": "Disabled",
        "suspend": False,
    }


def test_fullest_policy_is_stored_as_it_is(team: Team) -> None:
    """A policy with every field set is accepted, and nothing of it is lost."""
    spec: dict[str, Any] = {
        "groupId": "orders.v2",
        "clusterRef": "main",
        "workloadRef": {"kind": "Deployment", "name": "orders", "container": "app"},
        "client": {
            "library": "kafkajs",
            "env": {name: {"name": f"MY_{name}"} for name in ("sessionTimeout", "heartbeatInterval", "fetchWait")},
            "current": {"sessionTimeout": "1s", "heartbeatInterval": "2s", "fetchWait": "5s"},
        },
        "mode": "Apply",
        "objective": {"maxDetectionTime": "2m", "maxFalseEvictionsPerMonth": "0.5"},
        "bounds": {
            "sessionTimeout": {"min": "10s", "max": "1m30s"},
            "heartbeatInterval": {"min": "1s", "max": "10s"},
            "fetchWait": {"min": "500ms", "max": "10s"},
        },
        "rollout": {
            "verification": {"revert": False},
            "canary": {"share": "10%", "duration": "2h"},
            "cooldown": "1h",
            "horizon": "72h",
            "windows": [{"schedule": "0-59/15 2 ? jan-MAR 1-5,sat", "duration": "3h", "timeZone": "Europe/Berlin"}],
        },
        "staticMembership": "Disabled",
        "suspend": True,
    }

    team.apply_policy_spec("fullest", **spec)

    assert team.policy("fullest")["spec"] == spec


def test_definition_is_established_and_structural(sandbox: Sandbox) -> None:
    """The API server serves the definition and finds nothing to say against its schema."""
    name = "consumergrouppolicies.heartbeat-tuner.dev"
    found = json.loads(sandbox.control_plane.kubectl("get", "crd", name, "-o", "json"))
    conditions = {condition["type"]: condition["status"] for condition in found["status"]["conditions"]}

    assert conditions == {"NamesAccepted": "True", "Established": "True"}
