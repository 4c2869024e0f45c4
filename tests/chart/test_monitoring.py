"""templates/monitoring: what is scraped, alerts that fire when they should, a dashboard that finds data."""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from prometheus_client import CollectorRegistry

from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ConditionStatus, ConditionType
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.webhook.webhook_telemetry import WebhookTelemetry
from tests.chart import documented
from tests.chart.rendering import MONITORING, NAME, VARIANTS, Helm, Rendered
from tests.support import exposed, yaml_texts

_CASES: Final = Path(__file__).parent / "alerts.yaml"
_METRIC: Final = re.compile(r"\b((?:[a-z_]+:)?(?:heartbeat_tuner|kube|kafka|kafkajs)_\w+(?::[a-z]+)?)")
_MATCHER: Final = re.compile(r'(\w+)(=~|=)"([^"]*)"')


def samples(*registries: CollectorRegistry) -> dict[str, dict[str, set[str]]]:
    """Return what registries expose: name -> label -> values."""
    found: dict[str, dict[str, set[str]]] = {}
    for registry in registries:
        for family in registry.collect():
            for sample in family.samples:
                labels = found.setdefault(sample.name, {})
                for label, value in sample.labels.items():
                    labels.setdefault(label, set()).add(value)
    return found


_EXPOSED: Final = samples(exposed.telemetry().registry, WebhookTelemetry().registry)

_WORDS: Final[Mapping[str, set[str]]] = {
    "namespace": {NAME, "shop"},
    "policy": {"orders"},
    "reason": {reason.value for reason in Reason},
    "status": {status.value for status in ConditionStatus},
    "type": {kind.value for kind in ConditionType},
}
"""Values of labels beyond those that two policies happen to have."""


def all_rules(rendered: Rendered) -> list[Mapping[str, Any]]:
    """Return the rendered rules."""
    return [rule for group in rendered.one("PrometheusRule")["spec"]["groups"] for rule in group["rules"]]


def rules(rendered: Rendered) -> list[Mapping[str, Any]]:
    """Return the rendered alerts."""
    return [rule for rule in all_rules(rendered) if "alert" in rule]


def recorded(rendered: Rendered) -> dict[str, str]:
    """Return what is recorded: name -> expression."""
    return {rule["record"]: rule["expr"] for rule in all_rules(rendered) if "record" in rule}


def dashboard(rendered: Rendered) -> Any:
    """Return the rendered dashboard."""
    return json.loads(rendered.one("ConfigMap", f"{NAME}-dashboard")["data"]["heartbeat-tuner.json"])


def queries(rendered: Rendered) -> Iterator[str]:
    """Yield the expressions of the dashboard's panels, with Grafana's variables filled in."""
    for panel in dashboard(rendered)["panels"]:
        yield from (_query(target) for target in panel.get("targets", ()))


def marks(rendered: Rendered) -> dict[str, Mapping[str, Any]]:
    """Return what the dashboard marks on its panels: name -> annotation."""
    return {mark["name"]: mark for mark in dashboard(rendered)["annotations"]["list"]}


def _query(target: Mapping[str, Any]) -> str:
    expression: str = target["expr"].replace("$__rate_interval", "5m").replace("$tuner", NAME)
    return expression.replace("$namespace", "shop").replace("$policy", "orders")


def run(program: Path, *words: str | Path) -> str:
    """Return what promtool says; its exit status must be 0."""
    done = subprocess.run([str(program), *map(str, words)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check_names(expressions: Iterable[str], others: AbstractSet[str] = frozenset()) -> None:
    """Check that the tuner exposes what expressions name, or others do, with these values of labels."""
    for expression in expressions:
        names = set(_METRIC.findall(re.sub(r"\{.*?\}", "", expression, flags=re.DOTALL)))
        assert names, expression
        assert names <= _EXPOSED.keys() | others, expression
        known: dict[str, set[str]] = {}
        for name in names & _EXPOSED.keys():
            known |= _EXPOSED[name]
        for label, words in _WORDS.items():
            known[label] = known.get(label, set()) | words
        for label, _, values in _MATCHER.findall(expression):
            assert set(values.split("|")) <= known[label], expression


def _filled(text: str, labels: Mapping[str, str]) -> str:
    """Return an annotation with its labels filled in, as Prometheus does."""
    return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels[found[1]], text)


def test_nothing_of_it_is_there_unless_asked_for(minimal: Rendered) -> None:
    """The Prometheus Operator's kinds may not exist."""
    assert not minimal.kinds() & set(MONITORING)
    assert f"{NAME}-dashboard" not in minimal.names("ConfigMap")
    assert minimal.names("Service") == []


def test_operator_and_webhook_are_scraped(full: Rendered) -> None:
    """The monitor finds their Services, these the pods, at the port where metrics are."""
    monitor = full.one("ServiceMonitor")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint == {"port": "http", "path": "/metrics", "interval": "30s", "honorLabels": True}
    for name in (NAME, f"{NAME}-webhook"):
        service = full.one("Service", name)
        assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert service["metadata"]["namespace"] == monitor["metadata"]["namespace"]
        pod = full.pod("Deployment", name)
        assert documented.selects(service["spec"]["selector"], pod)
        (target,) = [port["targetPort"] for port in service["spec"]["ports"] if port["name"] == endpoint["port"]]
        ports = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
        assert ports[target] == 8080


def test_alerts_are_about_what_is_on(helm: Helm, full: Rendered) -> None:
    """A webhook that was never installed is not down."""
    only = helm.render(VARIANTS["minimal"], {"monitoring": {"prometheusRule": {"enabled": True}}})
    assert {rule["alert"] for rule in rules(only)} < {rule["alert"] for rule in rules(full)}
    assert not [rule["alert"] for rule in rules(only) if "Webhook" in rule["alert"] or "Models" in rule["alert"]]
    assert full.one("PrometheusRule")["metadata"]["labels"]["release"] == "prometheus"


def test_alerts_name_what_the_tuner_exposes(full: Rendered) -> None:
    """A metric or a label's value that is gone would make an alert silent for ever."""
    check_names(rule["expr"] for rule in rules(full))
    check_names(recorded(full).values())


def test_alerts_name_the_release(helm: Helm) -> None:
    """Of two installations each is watched by its own."""
    rendered = helm.render(VARIANTS["full"], release="second", namespace="streams")
    groups = rendered.one("PrometheusRule", "second-heartbeat-tuner")["spec"]["groups"]
    texts = [
        text
        for group in groups
        for rule in group["rules"]
        for text in (rule["expr"], *rule.get("annotations", {}).values())
    ]
    assert not [text for text in texts if "RELEASE" in text]
    named = [(label, value) for text in texts for label, _, value in _MATCHER.findall(text)]
    assert {value for label, value in named if label == "namespace"} == {"streams"}


def test_alerts_fire_when_they_should(full: Rendered, promtool: Path, tmp_path: Path) -> None:
    """Prometheus' own evaluation of the rendered rules."""
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(full.one("PrometheusRule")["spec"]))
    document, by_name = yaml_texts.document(_CASES.read_text()), {rule["alert"]: rule for rule in rules(full)}
    for case in (case for test in document["tests"] for case in test["alert_rule_test"]):
        rule = by_name[case["alertname"]]
        for expected in case["exp_alerts"]:
            expected["exp_labels"] = rule["labels"] | expected.get("exp_labels", {})
            description = rule["annotations"]["description"]
            expected["exp_annotations"]["description"] = _filled(description, expected["exp_labels"])
    (tmp_path / "alerts.yaml").write_text(yaml.safe_dump(document))
    run(promtool, "check", "rules", "--lint=all", "--lint-fatal", tmp_path / "rules.yaml")
    run(promtool, "test", "rules", tmp_path / "alerts.yaml")


def test_every_alert_is_seen_to_fire_and_to_keep_still(full: Rendered) -> None:
    """None is only supposed to."""
    seen: dict[str, set[bool]] = {}
    for case in yaml_texts.document(_CASES.read_text())["tests"]:
        for item in case["alert_rule_test"]:
            seen.setdefault(item["alertname"], set()).add(bool(item["exp_alerts"]))
    assert seen == {rule["alert"]: {True, False} for rule in rules(full)}


def test_every_record_is_run_and_looked_at(full: Rendered) -> None:
    """What is recorded costs Prometheus something every half minute."""
    asked = {
        item["expr"]
        for case in yaml_texts.document(_CASES.read_text())["tests"]
        for item in case.get("promql_expr_test", ())
    }
    for name, expression in recorded(full).items():
        assert any(name in item for item in asked), name
        assert any(name in query or expression in query for query in queries(full)), name


def test_every_alert_says_what_to_do(full: Rendered) -> None:
    """A sentence with the finding, and one with what it means and where to look."""
    for rule in rules(full):
        assert rule["annotations"].keys() == {"summary", "description"}
        assert rule["labels"]["severity"] in {"info", "warning"}


def test_the_dashboard_finds_data(full: Rendered, promtool: Path, tmp_path: Path) -> None:
    """Its expressions are PromQL, and name what the tuner exposes or what it reads of consumers."""
    found = list(queries(full))
    consumers = {
        name for convention in known_conventions.CONVENTIONS for metric in convention.metrics for name in metric.names
    }
    check_names(found, consumers | recorded(full).keys())
    document = {
        "groups": [
            {
                "name": "panels",
                "rules": [{"record": f"panel:{number}", "expr": item} for number, item in enumerate(found)],
            }
        ]
    }
    (tmp_path / "panels.yaml").write_text(yaml.safe_dump(document))
    run(promtool, "check", "rules", tmp_path / "panels.yaml")


def test_the_dashboard_marks_changes_at_their_moments(full: Rendered, promtool: Path, tmp_path: Path) -> None:
    """Grafana takes a sample's value for the time of a mark, in milliseconds: one mark, however many leaders say so."""
    found, orders = marks(full), '{namespace="shop", policy="orders"}'
    check_names(_query(mark["target"]) for mark in found.values())
    moments = {"Changes": "last_applied", "Landed": "last_landed", "Reverts": "last_reverted"}
    assert found.keys() == moments.keys()
    for mark in found.values():
        assert (mark["useValueForTime"], mark["datasource"]["uid"]) == (True, "${datasource}")
    series = [
        {"series": f'heartbeat_tuner_policy_{name}_timestamp_seconds{{namespace="shop", policy="orders", pod="{pod}"}}'}
        for name in moments.values()
        for pod in ("a", "b")
    ]
    asked = [
        {
            "expr": _query(mark["target"]),
            "eval_time": "5m",
            "exp_samples": [{"labels": orders, "value": 1_772_452_800_000}],
        }
        for mark in found.values()
    ]
    inputs = [{**named, "values": "1772452800x10"} for named in series]
    (tmp_path / "marks.yaml").write_text(
        yaml.safe_dump({"tests": [{"interval": "1m", "input_series": inputs, "promql_expr_test": asked}]})
    )
    run(promtool, "test", "rules", tmp_path / "marks.yaml")


def test_every_metric_of_the_tuner_is_on_the_dashboard(full: Rendered) -> None:
    """What is worth exposing is worth looking at."""
    shown = "\n".join(queries(full))
    families = {re.sub(r"_(created|bucket|sum|count)$", "", name) for name in _EXPOSED}
    assert {name for name in families if name not in shown and f"{name}_total" not in families} == set()


def test_the_dashboard_is_found_by_grafana(full: Rendered) -> None:
    """By the label that its sidecar looks for; panels have ids of their own and one source of data."""
    assert full.one("ConfigMap", f"{NAME}-dashboard")["metadata"]["labels"]["grafana_dashboard"] == "1"
    panels = dashboard(full)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert {panel["datasource"]["uid"] for panel in panels if panel["type"] != "row"} == {"${datasource}"}


@pytest.mark.parametrize("kind", MONITORING)
def test_they_are_of_the_version_that_is_served(full: Rendered, kind: str) -> None:
    """The Prometheus Operator's only one."""
    assert full.one(kind)["apiVersion"] == "monitoring.coreos.com/v1"
