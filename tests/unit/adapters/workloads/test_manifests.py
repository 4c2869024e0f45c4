"""What Deployments, pods and ConfigMaps say."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from heartbeat_tuner.adapters.workloads import container_env, manifests
from heartbeat_tuner.adapters.workloads.container_env import SettingUnreadableError
from heartbeat_tuner.clients.formats import Format
from heartbeat_tuner.domain.evidence import Pod
from tests.support import manifests as made

NAME = "KAFKA_SESSION_TIMEOUT_MS"
MAPS = {
    "base": {NAME: "1000", "session": "2000", "SESSION_TIMEOUT_MS": "2500"},
    "later": {NAME: "3000"},
    "other": {"LOG_LEVEL": "debug"},
}


def _optional(config_map: str, key: str) -> dict[str, Any]:
    """Return an entry whose source may be missing."""
    entry = made.from_key(NAME, config_map, key)
    entry["valueFrom"]["configMapKeyRef"]["optional"] = True
    return entry


@pytest.mark.parametrize(
    ("env", "env_from", "milliseconds"),
    [
        ([made.literal(NAME, "4000")], [], 4_000),
        ([made.literal(NAME, "4000")], [made.from_map("base")], 4_000),  # an entry wins over envFrom
        ([made.from_key(NAME, "base", "session")], [made.from_map("later")], 2_000),  # so does one from a key
        ([made.literal("OTHER", "4000")], [made.from_map("base")], 1_000),
        ([], [made.from_map("base"), made.from_map("later")], 3_000),  # the last source wins
        ([], [made.from_map("later"), made.from_map("base")], 1_000),
        ([], [made.from_map("later"), made.from_map("other")], 3_000),  # but only if it has the name
        ([], [made.from_map("base", prefix="KAFKA_")], 2_500),  # the prefix stands before the key
        ([], [made.from_map("base", prefix="APP_")], None),
        ([made.literal(NAME, "4000"), made.literal(NAME, "5000")], [], 5_000),  # of two entries the last
        ([], [made.from_map("gone")], None),
        ([made.from_key(NAME, "base", "gone")], [], None),
        ([made.from_key(NAME, "gone", "session")], [], None),
        ([], [{"secretRef": {"name": "base"}}], None),  # secrets are not read
        ([_optional("base", "gone")], [made.from_map("base")], 1_000),  # the kubelet passes over it
        ([_optional("gone", "session")], [made.from_map("base")], 1_000),
        ([_optional("base", "session")], [made.from_map("later")], 2_000),
        ([_optional("gone", "session")], [], None),
        ([{"name": NAME, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}], [], None),
        (None, None, None),
    ],
)
def test_value_is_the_one_that_the_container_gets(
    env: list[dict[str, Any]] | None, env_from: list[dict[str, Any]] | None, milliseconds: int | None
) -> None:
    """Kubernetes' order: entries over sources, later sources over earlier ones."""
    found = container_env.duration_in(made.container(env=env, env_from=env_from), NAME, MAPS)
    assert found == (None if milliseconds is None else timedelta(milliseconds=milliseconds))


@pytest.mark.parametrize("entry", [{"name": NAME}, {"name": NAME, "value": ""}])
def test_an_entry_without_a_value_is_an_empty_text(entry: dict[str, Any]) -> None:
    """It hides what envFrom has of that name; nobody's default is in force."""
    container = made.container(env=[entry], env_from=[made.from_map("base")])
    assert container_env.value(container, NAME, MAPS) == ""
    with pytest.raises(SettingUnreadableError, match=f'container app has {NAME}="", which is no whole number'):
        container_env.duration_in(container, NAME, MAPS)


@pytest.mark.parametrize(
    "value", ["30s", "0", "-1", "1.5", "", " 1", "1\n", "$(OTHER)", "\u0664", "2147483648", "9" * 5_000]
)
def test_a_value_that_is_no_number_of_milliseconds_is_refused(value: str) -> None:
    """Kafka's clients take whole milliseconds in 32 bits; the message names container, variable, value and rule."""
    with pytest.raises(SettingUnreadableError) as caught:
        container_env.duration_in(made.container(env=[{"name": NAME, "value": value}]), NAME, {})
    message = str(caught.value)
    assert f"container app has {NAME}=" in message
    assert "no whole number of milliseconds between 1 and 2147483647" in message
    assert "spec.client.env" in message
    assert len(message) < 400


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("30s", "'30s'"),
        ("-1", "'-1'"),
        ("1.5", "'1.5'"),
        ("hunter2", "a text of 7 characters"),
        ("", '""'),
        ("30000\n", "'30000' with white space around it"),
        (" hunter2", "a text of 8 characters"),
        ("30000" + " " * 9_999, "'30000' with white space around it"),
        ("$(OTHER)", r"a reference to another variable, \$\(NAME\)"),
        ("$(not a name)", "a text of 13 characters"),
    ],
)
def test_only_what_looks_like_a_duration_is_shown(value: str, shown: str) -> None:
    """The policy may name any variable; a status must not tell what a password is."""
    with pytest.raises(SettingUnreadableError, match=f"{NAME}={shown},"):
        container_env.duration_in(made.container(env=[{"name": NAME, "value": value}]), NAME, {})


def test_a_duration_in_go_is_read_as_one_and_a_number_is_none() -> None:
    """What an application in Go refuses is nothing that its settings can be."""
    container = made.container(env=[made.literal(NAME, "1m30s"), made.literal("OTHER", "90000")])
    assert container_env.duration_in(container, NAME, {}, Format.GO) == timedelta(seconds=90)
    with pytest.raises(SettingUnreadableError, match="OTHER='90000', which is no duration as Go writes it"):
        container_env.duration_in(container, "OTHER", {}, Format.GO)


def test_the_longest_value_is_read() -> None:
    """A bound is a value still."""
    assert container_env.duration_in(made.container(env=[made.literal(NAME, "2147483647")]), NAME, {}) == timedelta(
        milliseconds=2_147_483_647
    )


def test_keys_of_config_maps_are_named_by_entries_and_sources() -> None:
    """Only what is named, and for variables that somebody asks about, has to be read."""
    container = made.container(
        env=[
            made.literal("A", "1"),
            made.from_key("B", "one", "b"),
            made.from_key("OTHER", "four", "o"),
            {"name": "C", "valueFrom": {"fieldRef": {}}},
        ],
        env_from=[
            made.from_map("two"),
            made.from_map("two", prefix="A_"),
            made.from_map("one", prefix="X_"),
            {"secretRef": {"name": "three"}},
        ],
    )
    asked = {"A", "B", "C", "A_D"}
    assert container_env.config_map_keys(container, asked) == {"one": {"b"}, "two": {"A", "B", "C", "A_D", "D"}}
    assert container_env.config_map_keys(made.container(), asked) == {}


def test_containers_are_found_by_name() -> None:
    """A sidecar's env is not ours."""
    spec = {"containers": [made.container(name="sidecar"), made.container(name="app")]}
    found = manifests.container_of(spec, "app")
    assert found is not None
    assert found["name"] == "app"
    assert manifests.container_of(spec, "gone") is None


def test_entries_belong_to_their_managers() -> None:
    """Two managers may own one entry; another container's entries are not meant."""
    found = manifests.ownership(
        made.deployment(
            made.owned("heartbeat-tuner", "A", "B"),
            made.owned("helm", "B", "C"),
            made.owned("kubectl", "D", container="sidecar"),
            {"manager": "controller", "subresource": "status", "fieldsV1": {"f:status": {}}},
            {"manager": "odd"},
        ),
        "app",
    )
    assert found.managers == {"A": ("heartbeat-tuner",), "B": ("heartbeat-tuner", "helm"), "C": ("helm",)}
    assert found.foreign("A", us="heartbeat-tuner") is None
    assert found.foreign("B", us="heartbeat-tuner") == "helm"
    assert found.foreign("C", us="heartbeat-tuner") == "helm"
    assert found.foreign("D", us="heartbeat-tuner") is None


def test_a_manager_without_a_name_is_one() -> None:
    """The API allows it; an entry with an owner is not nobody's."""
    found = manifests.ownership(made.deployment(made.owned(None, "A")), "app")
    assert found.foreign("A", us="heartbeat-tuner") == "an unnamed manager"


@pytest.mark.parametrize(
    ("deployment", "rolling_out"),
    [
        (made.deployment(), False),
        (made.deployment(observedGeneration=1), True),  # the controller has not seen the newest template
        (made.deployment(updatedReplicas=2), True),
        (made.deployment(replicas=4), True),
        (made.deployment() | {"status": {"observedGeneration": 2, "replicas": 4, "updatedReplicas": 3}}, True),
        (made.deployment() | {"status": {}}, True),
        (made.deployment() | {"status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3}}, False),
        (made.deployment(unavailableReplicas=3), False),  # pods of a storm may never become available
        (made.deployment(replicas=0) | {"status": {"observedGeneration": 2}}, False),
        (made.deployment(replicas=None) | {"status": {"observedGeneration": 2, "updatedReplicas": 1}}, False),
    ],
)
def test_a_rollout_goes_on_until_all_pods_are_of_the_newest_template(
    deployment: dict[str, Any],
    rolling_out: bool,  # noqa: FBT001 - a table's column
) -> None:
    """Whatever their availability."""
    assert manifests.is_rolling_out(deployment) is rolling_out


def changed(manager: str, at: str) -> dict[str, Any]:
    """Return an entry of `managedFields` of who changed the template at a time."""
    return {**made.owned(manager, "A"), "time": f"2026-03-02T11:00:{at}Z"}


SCALED = {"manager": "hpa", "time": "2026-03-02T11:00:59Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}}


@pytest.mark.parametrize(
    ("managed", "is_ours"),
    [
        ((), False),
        ((changed("us", "10"),), True),
        ((changed("us", "10"), SCALED), True),
        ((changed("us", "10"), changed("helm", "09")), True),
        ((changed("us", "10"), changed("helm", "10")), True),  # in doubt it is
        ((changed("us", "10"), changed("helm", "11")), False),
        ((changed("helm", "11"),), False),
        ((made.owned("us", "A"),), True),  # entries may have no time
    ],
)
def test_a_template_is_of_who_changed_it_last(
    managed: tuple[dict[str, Any], ...],
    is_ours: bool,  # noqa: FBT001 - a table's column
) -> None:
    """Whether its rollout goes on or is finished."""
    assert manifests.is_template_of(made.deployment(*managed, updatedReplicas=2), "us") is is_ours
    assert manifests.is_template_of(made.deployment(*managed), "us") is is_ours


def test_a_pod_is_of_the_workload_that_controls_it() -> None:
    """A Deployment by one of its ReplicaSets, a StatefulSet itself; who only has the name of the other kind is none."""
    workload = {"metadata": {"name": "orders"}}

    def owned(kind: str, name: str, *, controls: bool = True) -> dict[str, Any]:
        owner = {"kind": kind, "name": name, "controller": controls}
        return {"metadata": {"labels": {"pod-template-hash": "5d4f"}, "ownerReferences": [owner]}}

    of_set, of_replicas = owned("StatefulSet", "orders"), owned("ReplicaSet", "orders-5d4f")
    assert manifests.is_pod_of(of_set, workload, "StatefulSet")
    assert manifests.is_pod_of(of_replicas, workload, "Deployment")
    others = [of_replicas, owned("StatefulSet", "other"), owned("StatefulSet", "orders", controls=False)]
    assert not any(manifests.is_pod_of(other, workload, "StatefulSet") for other in others)
    assert not manifests.is_pod_of(of_set, workload, "Deployment")


def test_a_pod_of_a_rollout_is_told_by_its_label() -> None:
    """Of a Deployment and a Rollout of one name, each has its own pods."""
    owner = {"kind": "ReplicaSet", "name": "orders-5d4f", "controller": True}
    rolled = {"metadata": {"labels": {"rollouts-pod-template-hash": "5d4f"}, "ownerReferences": [owner]}}
    assert manifests.workload_of(rolled) == ("Rollout", "orders")
    other = {"metadata": {"labels": {"rollouts-pod-template-hash": "77"}, "ownerReferences": [owner]}}
    assert manifests.workload_of(other) is None


def test_a_running_pod_is_described() -> None:
    """By its own container: a sidecar's restarts are not its."""
    assert manifests.running_pod(made.running_pod(), "app") == Pod(
        name="orders-0",
        uid="uid-0",
        ip="10.0.0.1",
        started=datetime(2026, 3, 2, 11, 0, tzinfo=UTC),
        restarts=2,
    )


@pytest.mark.parametrize(
    ("spec", "addresses", "more", "shared"),
    [
        ({}, {}, (), False),
        ({}, {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}, ("fd00::1",), False),
        ({}, {"podIPs": [], "hostIPs": [], "hostIP": "192.168.0.1"}, (), False),
        ({"hostNetwork": True}, {}, (), True),
        ({}, {"hostIP": "10.0.0.1"}, (), True),
        ({}, {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "hostIPs": [{"ip": "fd00::1"}]}, ("fd00::1",), True),
    ],
    ids=["one", "both families", "empty lists", "host network", "its node's", "one of its node's"],
)
def test_a_pod_has_all_its_addresses_and_may_share_them_with_its_node(
    spec: dict[str, Any], addresses: dict[str, Any], more: tuple[str, ...], *, shared: bool
) -> None:
    """Whoever is on the host's network says so, or shows it by the address."""
    raw = made.running_pod()
    found = manifests.running_pod({**raw, "spec": {**raw["spec"], **spec}, "status": raw["status"] | addresses}, "app")
    assert found is not None
    assert (found.ip, found.more_ips, found.on_host_network) == ("10.0.0.1", more, shared)


@pytest.mark.parametrize(
    "pod",
    [
        made.running_pod(metadata={"name": "a", "uid": "b", "deletionTimestamp": "2026-03-02T11:00:00Z"}),
        made.running_pod(status={}),
        made.running_pod(status={"podIP": "10.0.0.1"}),
        made.running_pod(
            status={"podIP": "10.0.0.1", "containerStatuses": [{"name": "app", "state": {"waiting": {}}}]}
        ),
        made.running_pod(
            status={"containerStatuses": [{"name": "app", "state": {"running": {"startedAt": "2026-03-02T11:00:00Z"}}}]}
        ),
    ],
    ids=["deleted", "new", "no container", "waiting", "no address"],
)
def test_other_pods_are_not_running(pod: dict[str, Any]) -> None:
    """A pod that is not up, or on its way out, is no member of the group."""
    assert manifests.running_pod(pod, "app") is None


@pytest.mark.parametrize(
    ("selector", "parameter"),
    [
        ({"matchLabels": {"app": "orders", "tier": "1"}}, "app=orders,tier=1"),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}, "app in (a,b)"),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}, "app notin (a)"),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, "app"),
        ({"matchLabels": {"x": "y"}, "matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, "x=y,!a"),
    ],
)
def test_selectors_are_asked_for_whole(selector: dict[str, Any], parameter: str) -> None:
    """A selector without matchLabels must not select every pod of the namespace."""
    assert manifests.label_selector(selector) == parameter


@pytest.mark.parametrize(
    ("metadata", "ours"),
    [
        ({}, True),
        ({"labels": {"pod-template-hash": "other"}}, False),
        ({"labels": {}}, False),
        ({"ownerReferences": []}, False),
        ({"ownerReferences": [{"kind": "ReplicaSet", "name": "orders-consumer-5f7"}]}, False),
        ({"ownerReferences": [{"kind": "Job", "name": "orders-consumer-5f7", "controller": True}]}, False),
    ],
)
def test_pods_belong_to_the_deployment_that_controls_them(metadata: dict[str, Any], ours: bool) -> None:  # noqa: FBT001
    """A pod that only carries the labels is somebody else's."""
    owner = {"kind": "ReplicaSet", "name": "orders-consumer-5f7", "controller": True}
    own = {"labels": {"pod-template-hash": "5f7"}, "ownerReferences": [owner]}
    assert manifests.is_pod_of({"metadata": {**own, **metadata}}, made.deployment()) is ours
