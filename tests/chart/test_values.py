"""values.yaml, its schema and the chart's README: every value is known, documented and bounded."""

import json
import re
import runpy
from collections.abc import Iterator
from typing import Any, Final

import pytest

from heartbeat_tuner import __version__, settings
from heartbeat_tuner.domain import durations
from release.versions import semantic
from tests.chart.rendering import CHART, KUBERNETES, VARIANTS, Helm, RefusedError
from tests.documentation import links
from tests.documentation.markdown import Page
from tests.support import documents, yaml_texts
from tests.support.documents import CHECKOUT

_GENERATOR = runpy.run_path(str(CHECKOUT / "docs" / "reference" / "generate_chart.py"))
_SCHEMA: Final = json.loads((CHART / "values.schema.json").read_text())

_OPEN: Final = {"global", "affinity.nodeAffinity", "affinity.podAffinity", "affinity.podAntiAffinity"}
"""What Helm and Kubernetes define: the API server refuses what is wrong in it."""


def schema_of(node: dict[str, Any]) -> dict[str, Any]:
    """Return a part of the schema, from where a reference leads."""
    if "$ref" in node:
        (_, _, name) = node["$ref"].split("/")
        found: dict[str, Any] = _SCHEMA["$defs"][name]
        return found
    return node


def leaves(node: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield the paths of values that the schema knows; those of Kafka clusters under `NAME`."""
    found = schema_of(node)
    if path == "kafka.clusters":
        yield path
        yield from leaves(found["additionalProperties"], f"{path}.NAME")
        return
    # Whole objects of Kubernetes, and references, are one value each.
    parts = found.get("properties", {})
    whole = {"resources", "affinity", "bearerToken", "basicAuth", "password", "usernameFrom", "keyPassword", "global"}
    if not parts or path.rsplit(".", 1)[-1] in whole or {"key", "secret"} <= parts.keys():
        yield path
        return
    for name, child in parts.items():
        yield from leaves(child, f"{path}.{name}".lstrip("."))


def test_the_page_is_current() -> None:
    """The README is that of values.yaml (run `make docs`)."""
    assert (CHART / "README.md").read_text() == _GENERATOR["readme"]()


def test_its_links_lead_somewhere() -> None:
    """As those of all pages."""
    page = Page.read(documents.CHECKOUT, CHART / "README.md")
    assert list(links.check(page, documents.CHECKOUT)) == []


def test_what_is_known_is_documented() -> None:
    """Every value of the schema has a sentence, and no sentence is about a value that would be refused."""
    report = [item.path for item in _GENERATOR["values"]()]
    assert len(report) == len(set(report))
    assert set(report) == set(leaves(_SCHEMA)) - {"global"}


def test_every_object_is_closed() -> None:
    """A misspelt value is refused wherever it stands."""

    def open_parts(node: Any, path: str) -> Iterator[str]:
        if isinstance(node, dict):
            if node.get("type") == "object" and "additionalProperties" not in node:
                yield path
            for name, child in node.items():
                yield from open_parts(child, f"{path}.{name}")

    found = {re.sub(r"\.(\$defs|properties)(?=\.)", "", path).lstrip(".") for path in open_parts(_SCHEMA, "")}
    assert found == _OPEN


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("prometheus.urll", "http://x", "at '/prometheus': additional properties 'urll' not allowed"),
        ("operator.leaderElection.lease", "9s", "at '/operator/leaderElection': additional properties 'lease'"),
        ("kafka.clusters.main.bootstrap", "x:1", "at '/kafka/clusters/main': additional properties 'bootstrap'"),
        ("webhook.resources.limit", {}, "at '/webhook/resources': additional properties 'limit' not allowed"),
        ("fitting.history.sizes", "1Gi", "at '/fitting/history': additional properties 'sizes' not allowed"),
        ("monitoring.alerts", {}, "at '/monitoring': additional properties 'alerts' not allowed"),
        ("crd", {}, "additional properties 'crd' not allowed"),
        ("operator.interval", "60", "at '/operator/interval': '60' does not match pattern"),
        ("operator.maxConcurrentRollouts", -1, "at '/operator/maxConcurrentRollouts': minimum: got -1, want 0"),
        ("kafka.clusters.main.securityProtocol", "TLS", "at '/kafka/clusters/main/securityProtocol': value must be"),
        ("kafka.clusters.main.sasl", {"mechanism": "PLAIN"}, "at '/kafka/clusters/main/sasl': missing property 'pass"),
        (
            "kafka.clusters.main.grants",
            [{"namespaces": ["*"], "groups": ["a*b"]}],
            "at '/kafka/clusters/main/grants/0/groups/0': 'a*b' does not match pattern",
        ),
        (
            "kafka.clusters.main.grants",
            [{"namespaces": ["shop-*"], "groups": ["*"]}],
            "at '/kafka/clusters/main/grants/0/namespaces/0': 'shop-*' does not match pattern",
        ),
        ("prometheus.tls.cert", {"secret": "a", "key": "b"}, "at '/prometheus/tls': properties 'key' required"),
        ("prometheus.tls.ca", {"key": "b"}, "at '/prometheus/tls/ca': 'oneOf' failed"),
        ("prometheus.basicAuth.password", "123", "at '/prometheus/basicAuth/password': got string, want object"),
        ("prometheus.url", "prometheus:9090", "at '/prometheus/url': 'prometheus:9090' does not match pattern"),
        ("image.digest", "latest", "at '/image/digest': 'latest' does not match pattern"),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(helm: Helm, path: str, value: Any, sentence: str) -> None:
    """Whoever misspells a value reads where."""
    wrong: Any = value
    for name in reversed(path.split(".")):
        wrong = {name: wrong}
    with pytest.raises(RefusedError) as caught:
        helm.render(VARIANTS["minimal"], wrong)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("name", VARIANTS)
def test_supported_shapes_have_no_lint(helm: Helm, name: str) -> None:
    """As chart repositories look at it."""
    helm.run("lint", "--strict", str(CHART), f"--kube-version={KUBERNETES}", values=[VARIANTS[name]])


def test_an_old_kubernetes_is_refused(helm: Helm) -> None:
    """Before anything is installed."""
    with pytest.raises(RefusedError, match=r"requires kubeVersion: >=1\.34\.0-0 which is incompatible"):
        helm.run("template", str(CHART), "--kube-version=1.33.9", values=[VARIANTS["minimal"]])


def test_the_chart_and_the_package_are_of_the_version_of_the_code() -> None:
    """The image that the chart names by default is that of the same release."""
    text = (CHECKOUT / "pyproject.toml").read_text()
    (version,) = re.findall(r'^version = "(.+)"$', text, flags=re.MULTILINE)
    chart = yaml_texts.document((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == version == __version__
    assert chart["version"] == semantic(version)


def test_the_schema_bounds_as_the_settings_do() -> None:
    """What the operator would refuse at its start, Helm refuses before."""
    ours = settings.Settings.model_json_schema(by_alias=True)["$defs"]
    cluster = _SCHEMA["$defs"]["kafkaCluster"]["properties"]
    theirs = ours["KafkaClusterSettings"]["properties"]
    assert cluster["securityProtocol"]["enum"] == theirs["securityProtocol"]["enum"]
    assert cluster["sasl"]["properties"]["mechanism"]["enum"] == ours["SaslSettings"]["properties"]["mechanism"]["enum"]
    assert theirs["heartbeatBudget"]["anyOf"][0]["exclusiveMinimum"] == cluster["heartbeatBudget"]["exclusiveMinimum"]
    assert _SCHEMA["$defs"]["duration"]["pattern"] == durations.DURATION_PATTERN
    for found, wanted in (
        (
            _SCHEMA["properties"]["operator"]["properties"]["maxConcurrentRollouts"],
            ours["RolloutSettings"]["properties"]["maxConcurrent"],
        ),
        (
            _SCHEMA["properties"]["operator"]["properties"]["shards"],
            settings.Settings.model_json_schema(by_alias=True)["properties"]["shards"],
        ),
        (
            _SCHEMA["properties"]["prometheus"]["properties"]["maxAnswerBytes"],
            ours["PrometheusSettings"]["properties"]["maxAnswerBytes"],
        ),
    ):
        assert (found["minimum"], found["maximum"]) == (wanted["minimum"], wanted["maximum"])


def test_every_setting_can_be_reached() -> None:
    """A setting that is new gets a value, or its place in this list, with the reason."""
    fixed = {
        "http",  # the pod's port, which probes and Services know
        "leaderElection.namespace",  # the pod's
        "leaderElection.leaseName",  # the release's name, which the Role allows
    }
    by_value = {
        "interval": "operator.interval",
        "kubernetes.argoRollouts": "operator.argoRollouts",
        "kubernetes.namespaces": "watchNamespaces",
        "kubernetes.timeout": "operator.kubernetesTimeout",
        "rollout.maxConcurrent": "operator.maxConcurrentRollouts",
        "rollout.canaries": "operator.evictions",
        "shards": "operator.shards",
    }
    known = set(leaves(_SCHEMA))
    for path in _settings(settings.Settings.model_json_schema(by_alias=True)):
        if path in fixed:
            continue
        # Secrets: the settings name a file, the values what is in it.
        value = re.sub(r"(ca|cert|key|keyPassword|password|bearerToken)File$", r"\1", path)
        value = value.replace("usernameFile", "usernameFrom").replace("leaderElection.", "operator.leaderElection.")
        value = re.sub(r"^prometheus\.basicAuth\..*", "prometheus.basicAuth", value)
        assert by_value.get(path, value) in known, path


def _settings(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the paths of all settings; those of Kafka clusters under `NAME`."""

    def walk(node: dict[str, Any], path: str) -> Iterator[str]:
        for item in (node, *node.get("anyOf", ())):
            if "$ref" in item:
                below = schema["$defs"][item["$ref"].rsplit("/", 1)[-1]]["properties"]
                if path == "http":
                    yield path
                    return
                for name, child in below.items():
                    yield from walk(child, f"{path}.{name}")
                return
        if "$ref" in (values := node.get("additionalProperties") or {}):
            yield from walk(values, f"{path}.NAME")
            return
        yield path

    for name, child in schema["properties"].items():
        yield from walk(child, name)
