"""templates/operator: the Deployment and what belongs to it."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme

from heartbeat_tuner import __version__, settings
from heartbeat_tuner.domain.grants import Grant
from heartbeat_tuner.leader_election.candidates import Candidates
from heartbeat_tuner.leader_election.leadership import Timing
from heartbeat_tuner.settings.prometheus_settings import PrometheusSettings
from tests.chart import documented
from tests.chart.rendering import NAME, VARIANTS, Helm, RefusedError, Rendered
from tests.support import yaml_texts
from tests.support.electors import FakeLeases

_SECRETS = "/etc/heartbeat-tuner-secrets"


def loaded(rendered: Rendered, folder: Path, name: str = NAME) -> settings.Settings:
    """Load the rendered configuration beside the files that the pod would have, where the pod has them."""
    pod = rendered.pod("Deployment", name)
    (container,) = pod["spec"]["containers"]
    mounts = {volume_mount["name"]: volume_mount["mountPath"] for volume_mount in container["volumeMounts"]}
    files = rendered.files("Deployment", name)
    assert mounts.get("secrets", _SECRETS) == _SECRETS
    authority = trustme.CA()
    for path in (*files, "token"):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(authority.cert_pem.bytes() if path.endswith("ca.crt") else b"secret")
    text = rendered.one("ConfigMap", name)["data"]["config.yaml"]
    config = folder / "config.yaml"
    config.write_text(text.replace(_SECRETS, str(folder)))
    assert container["args"] == ["run", "--config", f"{mounts['config']}/config.yaml"]
    return settings.load(config)


def test_it_runs_as_the_documented_deployment_does(minimal: Rendered) -> None:
    """Command, probes, security, resources, volumes and the time to end are those of install.yaml."""
    by_hand = documented.manifest(documented.INSTALL)
    deployment, pod = minimal.one("Deployment"), minimal.pod("Deployment")
    assert documented.substance(pod) == documented.substance(by_hand.pod("Deployment"))
    assert deployment["spec"]["replicas"] == by_hand.one("Deployment")["spec"]["replicas"]
    assert documented.selects(deployment["spec"]["selector"]["matchLabels"], pod)


def test_one_pod_at_a_time_may_be_evicted(full: Rendered) -> None:
    """As by hand, and the budget is about these pods only."""
    budget = full.one("PodDisruptionBudget")["spec"]
    selector = budget.pop("selector")["matchLabels"]
    by_hand = documented.manifest(documented.INSTALL).one("PodDisruptionBudget")["spec"]
    assert budget == {name: value for name, value in by_hand.items() if name != "selector"}
    assert documented.selects(selector, full.pod("Deployment"))
    assert not documented.selects(selector, full.pod("Deployment", f"{NAME}-webhook"))
    assert not documented.selects(selector, full.pod("CronJob", f"{NAME}-fit"))


def test_its_rights_are_those_the_tests_run_with(minimal: Rendered) -> None:
    """No more and no less than sandbox/manifests/operator-role.yaml."""
    assert documented.rights(minimal, NAME) == documented.rights(documented.manifest(documented.OPERATOR_ROLE), NAME)
    documented.bound(minimal, NAME, NAME)


def test_another_name_is_that_of_the_lease_too(lake: Rendered, tmp_path: Path) -> None:
    """The Role allows the lease that the configuration names, and no other."""
    rule = documented.rights(lake, "tuner")["Role"][0]
    assert rule["resourceNames"] == ["tuner"] == [loaded(lake, tmp_path, "tuner").leader_election.lease_name]
    documented.bound(lake, "tuner", NAME)


def test_each_shard_has_a_lease_that_may_be_written_and_a_pod(helm: Helm, tmp_path: Path) -> None:
    """And one pod more, which takes over; the leases are those that the replicas seek, and no others."""
    found = helm.render(VARIANTS["minimal"], {"operator": {"shards": 3}})
    report = loaded(found, tmp_path)
    sought: list[str] = []

    def lease(suffix: str = "") -> FakeLeases:
        sought.append(report.leader_election.lease_name + suffix)
        return FakeLeases()

    Candidates(lease, report.shards, Timing(*[timedelta(seconds=1)] * 3), identity="a")
    rule = documented.rights(found, NAME)["Role"][0]
    assert sorted(rule["resourceNames"]) == sorted(set(sought))
    assert len(rule["resourceNames"]) == 1 + 3 + 1
    fence = found.one("ValidatingAdmissionPolicy", f"{NAME}-others.{NAME}")["spec"]["validations"][0]["expression"]
    assert f"object.metadata.name in {json.dumps(rule['resourceNames'], separators=(',', ':'))}" in fence
    assert found.one("Deployment")["spec"]["replicas"] == 4


@pytest.mark.parametrize(
    ("operator", "sentence"),
    [
        ({"shards": 3, "replicas": 2}, "operator.replicas 2 is less than operator.shards 3"),
        ({"shards": 6}, "operator.maxConcurrentRollouts 5 is less than operator.shards 6"),
        ({"shards": 17}, "at '/operator/shards': maximum: got 17, want 16"),
    ],
)
def test_shards_that_could_not_work_are_refused(helm: Helm, operator: dict[str, int], sentence: str) -> None:
    """Each needs a pod to lead it, and a rollout."""
    with pytest.raises(RefusedError) as caught:
        helm.render(VARIANTS["minimal"], {"operator": operator})
    assert sentence in str(caught.value)


def test_evictions_are_a_right_of_their_own(helm: Helm) -> None:
    """Without them the operator may evict nobody, and is told so; they need the webhook."""
    without = helm.render(VARIANTS["minimal"])
    assert "eviction" not in json.dumps(documented.rights(without, NAME))
    assert yaml_texts.document(without.one("ConfigMap", NAME)["data"]["config.yaml"])["rollout"]["canaries"] is False
    some = helm.render(VARIANTS["minimal"], {"operator": {"evictions": True}, "webhook": {"enabled": True}})
    rules = documented.rights(some, NAME)["ClusterRole"]
    assert {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]} in rules
    assert yaml_texts.document(some.one("ConfigMap", NAME)["data"]["config.yaml"])["rollout"]["canaries"] is True
    with pytest.raises(RefusedError, match=r"operator\.evictions is true, and webhook\.enabled is false"):
        helm.render(VARIANTS["minimal"], {"operator": {"evictions": True}})


@pytest.mark.parametrize(("replicas", "pods"), [(0, 0), (3, 3), (None, 4)])
def test_replicas_are_as_many_as_are_asked_for(helm: Helm, replicas: int | None, pods: int) -> None:
    """None at all stops the operator."""
    found = helm.render(VARIANTS["minimal"], {"operator": {"shards": 3, "replicas": replicas}})
    assert found.one("Deployment")["spec"]["replicas"] == pods


def test_the_least_gives_the_defaults(minimal: Rendered, tmp_path: Path) -> None:
    """What is not said is as the operator would have it."""
    found = loaded(minimal, tmp_path)
    assert found.prometheus.url == "http://prometheus.monitoring:9090"
    assert found.kafka.clusters["main"].bootstrap_servers == "kafka.kafka:9092"
    least = settings.Settings(prometheus=found.prometheus, kafka=found.kafka)
    assert found == least
    assert found.prometheus == PrometheusSettings(url=found.prometheus.url)
    assert minimal.files("Deployment") == {}


def test_what_is_said_reaches_the_configuration(full: Rendered, tmp_path: Path) -> None:
    """Every way to reach Prometheus and Kafka, each secret as a file that the pod has."""
    found = loaded(full, tmp_path)
    assert found.prometheus.headers == {"X-Scope-OrgID": "team-a"}
    assert found.prometheus.basic_auth is not None
    assert found.prometheus.basic_auth.username == "heartbeat-tuner"
    main, second, third = (found.kafka.clusters[name] for name in ("main", "second", "third"))
    assert (main.security_protocol, main.heartbeat_budget) == ("SASL_SSL", 500)
    assert main.alter_groups
    assert main.granted == (Grant(("shop", "billing"), ("orders", "shop-*")), Grant(("*",), ("shared",)))
    assert third.sasl is not None
    assert third.sasl.username_file == tmp_path / "kafka/third/username"
    assert second.tls is not None
    assert second.tls.key_password_file == tmp_path / "kafka/second/key-password"
    assert full.files("Deployment") == {
        "prometheus/password": ("secret", "prometheus-access", "password"),
        "prometheus/ca.crt": ("configMap", "prometheus-ca", "ca.crt"),
        "kafka/main/password": ("secret", "heartbeat-tuner-user", "password"),
        "kafka/main/ca.crt": ("secret", "kafka-cluster-ca-cert", "ca.crt"),
        "kafka/second/ca.crt": ("secret", "kafka-cluster-ca-cert", "ca.crt"),
        "kafka/second/tls.crt": ("secret", "second-user", "user.crt"),
        "kafka/second/tls.key": ("secret", "second-user", "user.key"),
        "kafka/second/key-password": ("secret", "second-user", "user.password"),
        "kafka/third/username": ("secret", "third-user", "username"),
        "kafka/third/password": ("secret", "third-user", "password"),
    }


def test_every_file_that_is_named_is_mounted(variants: dict[str, Rendered]) -> None:
    """A path in the configuration without a file would end the operator at its start."""
    for rendered in variants.values():
        (name,) = [name for name in rendered.names("Deployment") if not name.endswith("-webhook")]
        config = yaml_texts.document(rendered.one("ConfigMap", name)["data"]["config.yaml"])
        named = {path.removeprefix(f"{_SECRETS}/") for path in _texts(config) if path.startswith(_SECRETS)}
        assert named == set(rendered.files("Deployment", name))


def _texts(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [text for item in node.values() for text in _texts(item)]
    return [node] if isinstance(node, str) else []


@pytest.mark.parametrize(("given", "audience"), [({}, "prometheus"), ({"audience": "mimir"}, "mimir")])
def test_a_token_of_the_pod_is_for_prometheus_alone(helm: Helm, given: dict[str, str], audience: str) -> None:
    """It has an audience of its own, and is never the one that opens the API server."""
    access = {"url": "https://prometheus:9090", "bearerToken": {"serviceAccount": True, **given}}
    rendered = helm.render(VARIANTS["minimal"], {"prometheus": access})
    config = yaml_texts.document(rendered.one("ConfigMap")["data"]["config.yaml"])
    assert config["prometheus"]["bearerTokenFile"] == f"{_SECRETS}/prometheus/token"
    assert rendered.files("Deployment") == {"prometheus/token": ("serviceAccountToken", audience, "")}


@pytest.mark.parametrize(
    "mixed", [{"secret": "a"}, {"key": "b"}, {"secret": "a", "key": "b"}, {"serviceAccount": False}]
)
def test_a_token_has_one_source(helm: Helm, mixed: dict[str, Any]) -> None:
    """A key of a Secret, or the pod's account."""
    with pytest.raises(RefusedError, match="bearerToken"):
        helm.render(VARIANTS["minimal"], {"prometheus": {"bearerToken": {"serviceAccount": True, **mixed}}})


def test_credentials_over_http_are_allowed_by_name(helm: Helm) -> None:
    """For the operator, and for the fit."""
    access = {"prometheus": {"allowCredentialsOverHttp": True, "bearerToken": {"serviceAccount": True}}}
    fitting = {"fitting": {"enabled": True, "image": {"repository": "registry.example/fitting"}}}
    rendered = helm.render(VARIANTS["minimal"], access, fitting)
    config = yaml_texts.document(rendered.one("ConfigMap")["data"]["config.yaml"])
    assert config["prometheus"]["allowCredentialsOverHttp"] is True
    (container,) = rendered.pod("CronJob", f"{NAME}-fit")["spec"]["containers"]
    assert "--allow-credentials-over-http" in container["args"]


def test_a_token_and_a_certificate_are_files(helm: Helm) -> None:
    """Of the Secret that is named."""
    access = {
        "url": "https://prometheus:9090",
        "bearerToken": {"secret": "access", "key": "t"},
        "tls": {
            "cert": {"secret": "access", "key": "c"},
            "key": {"secret": "access", "key": "k"},
            "serverName": "prometheus.internal",
        },
    }
    rendered = helm.render(VARIANTS["minimal"], {"prometheus": access})
    assert rendered.files("Deployment") == {
        "prometheus/token": ("secret", "access", "t"),
        "prometheus/tls.crt": ("secret", "access", "c"),
        "prometheus/tls.key": ("secret", "access", "k"),
    }
    found = yaml_texts.document(rendered.one("ConfigMap")["data"]["config.yaml"])["prometheus"]
    assert found["bearerTokenFile"] == f"{_SECRETS}/prometheus/token"
    assert found["tls"] == {
        "certFile": f"{_SECRETS}/prometheus/tls.crt",
        "keyFile": f"{_SECRETS}/prometheus/tls.key",
        "serverName": "prometheus.internal",
    }


def test_its_own_values_reach_the_configuration(helm: Helm, tmp_path: Path) -> None:
    """All that are about more than the pod."""
    own = {
        "interval": "30s",
        "maxConcurrentRollouts": 0,
        "shards": 2,
        "kubernetesTimeout": "5s",
        "argoRollouts": True,
        "leaderElection": {"leaseDuration": "30s", "renewDeadline": "20s", "retryPeriod": "4s"},
    }
    others = {"prometheus": {"maxAnswerBytes": 1_000_000_000}, "kafka": {"timeout": "7s"}}
    found = loaded(helm.render(VARIANTS["minimal"], {"operator": own, **others}), tmp_path)
    assert (found.interval.seconds, found.kubernetes.timeout.seconds, found.kafka.timeout.seconds) == (30, 5, 7)
    assert (found.rollout.max_concurrent, found.shards, found.kubernetes.argo_rollouts) == (0, 2, True)
    election = found.leader_election
    assert [item.seconds for item in (election.lease_duration, election.renew_deadline, election.retry_period)] == [
        30,
        20,
        4,
    ]
    assert found.prometheus.max_answer_bytes == 1_000_000_000


def test_a_changed_configuration_replaces_the_pods(helm: Helm, minimal: Rendered) -> None:
    """It is read at the start only; what does not change it replaces nobody."""
    changed = helm.render(VARIANTS["minimal"], {"operator": {"interval": "30s"}})
    same = helm.render(VARIANTS["minimal"], {"crds": {"keep": False}, "webhook": {"enabled": True}})
    marks = [item.pod("Deployment")["metadata"]["annotations"] for item in (minimal, changed, same)]
    assert marks[0] != marks[1]
    assert marks[0] == marks[2]


def test_pods_are_placed_as_said(full: Rendered) -> None:
    """Labels, annotations, nodes, priority and secrets of the registry."""
    pod = full.pod("Deployment")
    assert pod["metadata"]["labels"]["team"] == "streams"
    assert pod["metadata"]["annotations"]["example.com/owner"] == "streams"
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert pod["spec"]["tolerations"][0]["key"] == "dedicated"
    assert "nodeAffinity" in pod["spec"]["affinity"]
    assert pod["spec"]["priorityClassName"] == "system-cluster-critical"
    assert pod["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == "Always"


def test_services_have_the_ip_families_that_are_asked_for(full: Rendered, minimal: Rendered) -> None:
    """Both Services; where nothing is asked for, the cluster decides."""
    services = [item for item in full.objects if item["kind"] == "Service"]
    assert [item["spec"]["ipFamilyPolicy"] for item in services] == ["PreferDualStack"] * 2
    assert not [item for item in minimal.objects if "ipFamilyPolicy" in item.get("spec", {})]


def test_images_are_named_by_digest_tag_or_version(full: Rendered, lake: Rendered, minimal: Rendered) -> None:
    """In that order."""
    images = [
        item.pod("Deployment", name)["spec"]["containers"][0]["image"]
        for item, name in ((full, NAME), (lake, "tuner"), (minimal, NAME))
    ]
    assert images == [
        "registry.example/heartbeat-tuner:built-by-you",
        f"registry.example/heartbeat-tuner@sha256:{'0' * 64}",
        f"registry.example/heartbeat-tuner:{__version__}",
    ]


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ("prometheus", "prometheus.url is not set: give the base address"),
        ("kafka", "kafka.clusters is empty: name at least one Kafka cluster"),
        ("image", "image.repository is not set: no image is published yet"),
    ],
)
def test_what_is_missing_is_named(helm: Helm, missing: str, sentence: str) -> None:
    """Before anything is installed, with the value and what to write there."""
    values = yaml_texts.document(VARIANTS["minimal"].read_text())
    del values[missing]
    with pytest.raises(RefusedError, match=sentence):
        helm.render(values)


def test_whatever_ends_says_why_where_people_look(full: Rendered) -> None:
    """`kubectl describe pod` repeats the last lines of the log: why a start was refused is one of them."""
    pods = [full.pod("Deployment", name) for name in (NAME, f"{NAME}-webhook")]
    pods.append(full.one("CronJob", f"{NAME}-fit")["spec"]["jobTemplate"]["spec"]["template"])
    for pod in pods:
        (container,) = pod["spec"]["containers"]
        assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_operator_and_webhook_may_write_why_they_cannot_run(full: Rendered, variants: dict[str, Rendered]) -> None:
    """An Event about their own pod, in their own namespace: they know the pod, and have the right once."""
    events = {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}
    known = {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "POD_UID": "metadata.uid"}
    for release in (full, variants["namespaced"]):
        for name in (NAME, f"{NAME}-webhook"):
            (container,) = release.pod("Deployment", name)["spec"]["containers"]
            report = {item["name"]: item["valueFrom"]["fieldRef"]["fieldPath"] for item in container["env"]}
            assert report == known
            rules = [rule for found in documented.rights(release, name).values() for rule in found]
            assert rules.count(events) == 1
