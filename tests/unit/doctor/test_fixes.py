"""What is told to be pasted makes metrics that are known: each rule is applied to what the exporter would match."""

import re
from collections.abc import Iterator

import pytest
import yaml

from heartbeat_tuner.doctor import fixes
from heartbeat_tuner.doctor.uses import USES
from heartbeat_tuner.metrics.conventions import java_metrics, known_conventions
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.vocabulary import Quantity

BEANS = {
    Quantity.HEARTBEATS: ("consumer-coordinator-metrics", "heartbeat-total"),
    Quantity.REBALANCES: ("consumer-coordinator-metrics", "rebalance-total"),
    Quantity.REBALANCE_TIME: ("consumer-coordinator-metrics", "rebalance-latency-total"),
    Quantity.FAILED_REBALANCES: ("consumer-coordinator-metrics", "failed-rebalance-total"),
    Quantity.JOIN_ANSWERS: ("consumer-coordinator-metrics", "join-total"),
    Quantity.POLL_GAP_MAX: ("consumer-metrics", "time-between-poll-max"),
    Quantity.POLL_AGE: ("consumer-metrics", "last-poll-seconds-ago"),
}
"""MBean and attribute as Kafka's documentation has them."""


def applied(snippet: str, group: str, attribute: str) -> Iterator[dict[str, str]]:
    """Yield the labels that the rules of a JMX exporter give to an attribute of a consumer, as the exporter does.

    It matches `domain<key=value, ...><>attribute: value`, writes $1 and so on, and makes `_` of what no name may hold.
    """
    line = f"kafka.consumer<type={group}, client-id=consumer-orders-1><>{attribute}: 42"
    for rule in yaml.safe_load(snippet)["rules"]:
        found = re.fullmatch(f"^.*(?:{rule['pattern']}).*$", line)
        if found is not None:
            filled = {
                key: re.sub(r"\$(\d)", lambda number, found=found: found[int(number[1])], text)  # type: ignore[misc]
                for key, text in {"__name__": rule["name"], **rule["labels"]}.items()
            }
            yield {**filled, "__name__": re.sub(r"[^a-zA-Z0-9_:]", "_", filled["__name__"])}


@pytest.mark.parametrize(
    "convention",
    [java_metrics.JMX_EXPORTER, java_metrics.STRIMZI, java_metrics.STRIMZI_BRIDGE],
    ids=lambda convention: convention.name,
)
@pytest.mark.parametrize("quantity", BEANS, ids=lambda quantity: quantity.camel)
def test_a_rule_gives_the_missing_quantity_the_exporters_name(convention: Convention, quantity: Quantity) -> None:
    """Pasted, it is read; a rule that makes other names would send a user in a circle."""
    fix = fixes.of_quantities(convention, [quantity])
    labels, *_ = applied(fix.snippet, *BEANS[quantity])  # the first that matches, as the exporter does
    metric = convention.metric_of(labels)
    assert metric is not None
    assert metric.quantity is quantity
    assert labels[convention.client_label] == "consumer-orders-1"


def test_strimzis_rules_are_as_few_as_are_missing() -> None:
    """The shortest fix: who lacks maxima only, adds one rule."""
    assert len(yaml.safe_load(fixes.of_quantities(java_metrics.STRIMZI, [Quantity.POLL_GAP_MAX]).snippet)["rules"]) == 1
    assert len(yaml.safe_load(fixes.of_quantities(java_metrics.STRIMZI, list(BEANS)).snippet)["rules"]) == 3


@pytest.mark.parametrize("convention", known_conventions.TUNED, ids=lambda convention: convention.name)
@pytest.mark.parametrize("quantity", USES, ids=lambda quantity: quantity.camel)
def test_what_is_to_be_pasted_is_whole_yaml__or_a_program(convention: Convention, quantity: Quantity) -> None:
    """Every exporter has a snippet for what is used; integration tests run the JavaScript and the Python."""
    fix = fixes.of_quantities(convention, [quantity])
    assert fix.snippet.endswith("\n")
    assert fix.language in {"yaml", "javascript", "java", "python", "sh"}
    if fix.language == "yaml":
        assert isinstance(yaml.safe_load(fix.snippet), dict)


@pytest.mark.parametrize("fix", [fixes.OWN_CLIENT_ID, fixes.NO_PLACE, fixes.SCRAPE_MORE], ids=lambda fix: fix.sentence)
def test_scrape_configurations_are_yaml(fix: fixes.Fix) -> None:
    """They go into a job of prometheus.yml."""
    job = yaml.safe_load(fix.snippet)
    assert set(job) <= {"relabel_configs", "scrape_interval"}
    assert all(rule["source_labels"] and rule["target_label"] for rule in job.get("relabel_configs", ()))


def test_an_exporter_without_a_snippet_has_a_sentence() -> None:
    """Its own reason why it lacks something, or what may have dropped it."""
    bare = Convention("bare", "a bare exporter", ("java",), (), withheld={Quantity.POLL_AGE: "it has none"})
    assert fixes.of_quantities(bare, [Quantity.HEARTBEATS, Quantity.POLL_AGE]) == fixes.Fix("it has none")
    assert "metric_relabel_configs" in fixes.of_quantities(bare, [Quantity.HEARTBEATS]).sentence
