"""`doctor`, `recommend` and `report` against a real Prometheus: only it knows what our queries mean to it."""

import json
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.doctor import fixes
from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from sandbox import consumers, forked_commands
from sandbox.binaries import Binaries
from sandbox.prometheus import Prometheus
from tests.support import cases, counters, pushed, worlds
from tests.support.pages import parsed

pytestmark = pytest.mark.timeout(120)

POLICY = """\
apiVersion: heartbeat-tuner.dev/v1alpha1
kind: ConsumerGroupPolicy
metadata: {name: orders, namespace: shop}
spec:
  groupId: orders
  clusterRef: main
  workloadRef: {name: orders, container: app}
  client: {library: kafkajs, current: {sessionTimeout: 1s, heartbeatInterval: 333ms, fetchWait: 5s}}
"""
"""One that was never in a cluster: it says what is set."""

LATELY = timedelta(hours=1, minutes=5)
NOTHING_AROUND = {"no-kube-state-metrics", "no-cadvisor", "no-garbage-collection"}
NASTY = 'x"}\n\x1b[31mred\u202e{{.*|' + "é" * 10_000


@pytest.fixture
def bare(tmp_path: Path, binaries: Binaries) -> Iterator[Prometheus]:
    """A Prometheus that scrapes nothing, with a motley site's series; a new one each time, since they get stale."""
    with Prometheus(tmp_path / "bare", binaries, kubeconfig=None) as started:
        now = datetime.now(UTC)
        pushed.push(started.url, site(now))
        nan = named(java_metrics.JMX_EXPORTER, Quantity.POLL_GAP_MAX, "mute", namespace="bank", pod="m-0")
        pushed.push_nan(started.url, nan, at_s=now.timestamp())
        pushed.push(started.url, [flat(now, {"__name__": "app_kafka_rebalance_total", "namespace": "odd", "c": NASTY})])
        yield started


def named(convention: Convention, quantity: Quantity, group: str, **labels: str) -> dict[str, str]:
    """Return the labels of one of a Java group's metrics."""
    metric = convention.by_quantity[quantity]
    fingerprint = dict.fromkeys(convention.with_labels, "1")
    return {"__name__": metric.names[0], **fingerprint, convention.client_label: f"consumer-{group}-1", **labels}


def flat(now: datetime, labels: dict[str, str], *, age_s: float = 0.0) -> Series:
    """Return a series that stands still, a sample in 30 s; of long labels, which each sample carries, few."""
    newest_s, count = now.timestamp() - age_s, 4 if any(NASTY in value for value in labels.values()) else 100
    return Series.from_raw(labels, ((newest_s - 30 * number, 1.0) for number in range(count, -1, -1)))


def site(now: datetime) -> list[Series]:
    """Return a storm, and Java groups: whole, without maxima, ended, of an own client.id, of a nasty name."""
    begins, pods = now - LATELY, worlds.pods()
    found = counters.exported(counters.stormy(pods, begins, now), kafkajs_metrics.EXPORTER)
    groups: list[tuple[Convention, str, float, set[Quantity]]] = [
        (java_metrics.MICROMETER, "whole", 0, set()),
        (java_metrics.STRIMZI, "poor", 0, {Quantity.POLL_GAP_MAX}),
        (java_metrics.JMX_EXPORTER, "ended", 1500, set()),
        (java_metrics.OPENTELEMETRY, "otel", 0, set()),
        (java_metrics.JMX_EXPORTER, NASTY, 0, set()),
    ]
    for convention, group, age_s, without in groups:
        for quantity in set(convention.by_quantity) - without:
            labels = named(convention, quantity, group, namespace="bank", pod="p-0")
            found.append(flat(now, labels, age_s=age_s))
    own = named(java_metrics.JMX_EXPORTER, Quantity.HEARTBEATS, "x", namespace="bank", pod="q-0") | {
        "client_id": "billing"
    }
    return [*found, flat(now, own)]


def run(*arguments: str) -> tuple[int, str]:
    """Run a command as people do; return its exit status and what it prints."""
    done = forked_commands.run(*arguments)
    assert done.stderr == ""
    return done.returncode, done.stdout


def doctor(prometheus: Prometheus, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Return what it finds, and its exit status."""
    status, said = run("doctor", "--prometheus", prometheus.url, "-o", "json", *arguments)
    return status, json.loads(said)


def test_a_motley_site_is_seen_as_it_is(bare: Prometheus) -> None:
    """Every group with its exporter, and what each lacks, in the first look."""
    status, found = doctor(bare)
    groups = {group["group"]: group for group in found["groups"]}
    assert status == 1
    assert {name: (group["convention"], group["measurable"]) for name, group in groups.items()} == {
        "orders": ("kafkajs", True),
        "whole": ("micrometer", True),
        "poor": ("strimzi", True),
        "ended": ("jmx-exporter", False),
        "otel": ("opentelemetry", True),
        "mute": ("jmx-exporter", False),
        NASTY: ("jmx-exporter", True),
    }
    assert (groups["orders"]["pods"], groups["orders"]["scrapeIntervalSeconds"]) == (
        ["orders-0", "orders-1", "orders-2"],
        5.0,
    )
    assert groups["poor"]["quantities"]["pollGapMax"] is False
    assert groups["mute"]["quantities"]["pollGapMax"] is True  # there, though it is no number yet
    report = {(finding["id"], finding["subject"][0]) for finding in found["findings"]}
    assert {(name, "whole") for name in NOTHING_AROUND} <= report
    assert {item for item in report if item[0] not in {*NOTHING_AROUND, "no-event-loop"}} == {
        ("group-not-told", "pods"),
        ("needed-missing", "mute"),
        ("stale", "ended"),
        ("quantity-missing", "poor"),
        ("nothing-accepted", "orders"),
        ("names-unknown", "pods"),
    }


def test_a_whole_namespace_and_a_whole_group_are_well(bare: Prometheus) -> None:
    """What is wrong elsewhere is not theirs."""
    status, found = doctor(bare, "--namespace", "shop")
    assert status == 0
    assert [group["group"] for group in found["groups"]] == ["orders"]
    assert doctor(bare, "--group", "whole")[0] == 0
    assert doctor(bare, "--group", NASTY)[0] == 0
    status, found = doctor(bare, "--group", "order")
    assert status == 1
    assert "orders" in found["findings"][0]["message"]


def test_text_is_harmless_and_its_snippets_are_whole(bare: Prometheus) -> None:
    """However the labels look."""
    status, said = run("doctor", "--prometheus", bare.url)
    assert status == 1
    assert all(item.isprintable() or item == "\n" for item in said)
    assert 'rebalances: "app_kafka_rebalance_total"' in said


def test_a_storm_is_cured_from_metrics_alone(bare: Prometheus) -> None:
    """As the operator would, for the settings that somebody says are set."""
    now = ("--session-timeout", "1s", "--heartbeat-interval", "333ms", "--fetch-wait", "5s")
    given = ("--prometheus", bare.url, "--group", "orders", "--client", "kafkajs", *now)
    status, said = run("recommend", *given, "-o", "yaml")
    found = yaml.safe_load(said)
    assert status == 0
    assert (found["verdict"], found["reason"], found["pods"]) == (
        "Change",
        "CadenceExceedsSession",
        ["orders-0", "orders-1", "orders-2"],
    )
    assert found["measured"]["evictions"] > 2_000
    assert {name: setting["recommendedMilliseconds"] for name, setting in found["settings"].items()} == {
        "sessionTimeout": 30_000,
        "heartbeatInterval": 1_000,
        "fetchWait": 1_000,
    }
    status, said = run("recommend", *given)
    assert status == 0
    assert "session timeout     1s     30s          CadenceExceedsSession" in said


def test_a_model_joins_what_the_exporter_tells(bare: Prometheus, tmp_path: Path) -> None:
    """Members and partitions are read; the record is too little for values, but the group can be played."""
    now = datetime.now(UTC)
    days = {"since": now.date() - timedelta(days=14), "until": now.date() - timedelta(days=1), "fitted_at": now}
    models = tmp_path / "models"
    models.mkdir()
    ModelFiles(models).write([cases.model(namespace="bank", group="whole", **days)])
    given = ("--prometheus", bare.url, "--group", "whole", "--client", "java", "--models", str(models), "-o", "json")
    status, said = run("recommend", *given)
    found = json.loads(said)
    assert (status, found["reason"], found["members"], found["partitions"]) == (1, "TooLittleData", 1, 1)
    assert found["forecast"]["now"]["detectionSeconds"] > 40
    status, said = run("explain", *given)
    assert (status, "cost" in {link["link"] for link in json.loads(said)["links"]}) == (1, True)
    status, said = run("simulate", *given, "--to", "session-timeout=20s", "--days", "1")
    assert (status, set(json.loads(said)["scenes"])) == (0, {"now", "whatIf"})


@pytest.mark.parametrize(
    ("group", "sentence"),
    [("mute", "needed-missing"), ("ended", "stale"), ("whole", "TooLittleData"), ("nobody", "group-unknown")],
)
def test_what_is_unknown_is_no_number(bare: Prometheus, group: str, sentence: str) -> None:
    """It says what is missing instead; a counter that never moves is no healthy group."""
    status, said = run("recommend", "--prometheus", bare.url, "--group", group, "--client", "java")
    assert status == 1
    assert sentence in said
    assert "Nothing is recommended" in said


def test_a_nasty_group_is_asked_for_by_its_name(bare: Prometheus) -> None:
    """Ten kilobytes with quotes, braces and line breaks: no error of the query language, and nobody else's series."""
    given = ("--prometheus", bare.url, "--group", NASTY, "--client", "java")
    status, said = run("recommend", *given, "-o", "json")
    found = json.loads(said)
    assert (status, found["group"], found["pods"]) == (1, NASTY, ["p-0"])


def test_a_report_has_every_group_that_can_be_tuned(bare: Prometheus, tmp_path: Path) -> None:
    """The storm is the one at risk; a group whose name means harm is text; nothing is loaded."""
    status, text = run("report", "--prometheus", bare.url, "--json")
    groups = {group["group"]: group for group in json.loads(text)["groups"]}
    assert status == 0
    assert {"orders", "whole", "poor", "ended", "otel", "mute"} < groups.keys()
    (nasty,) = [name for name in groups if name.startswith('x"}')]
    assert "\\x1b[31mred\\u202e" in nasty
    (timeline,) = groups["orders"]["timelines"]
    joins = [value for value in timeline["lanes"][0]["values"] if value is not None]
    assert max(joins) == 36.0
    assert (groups["orders"]["client"], groups["orders"]["verdict"]) == ("KafkaJS", "Unknown")  # not of 30 s sessions

    (tmp_path / "policy.yaml").write_text(POLICY)
    given = ("--prometheus", bare.url, "-f", str(tmp_path / "policy.yaml"))
    status, text = run("report", *given, "--group", "orders", "--json")
    (orders,) = json.loads(text)["groups"]
    assert (status, orders["verdict"], orders["reason"]) == (0, "Change", "CadenceExceedsSession")

    status, text = run("report", *given, "-o", "-")
    found = parsed(text)
    assert (status, found.errors, found.loads) == (0, [], [])
    assert "main/shop/orders" in found.text.partition("What tuning saves")[0]


def test_the_counters_that_are_to_be_pasted_are_those_that_are_known(tmp_path: Path) -> None:
    """The JavaScript runs, on a real KafkaJS consumer, and exports each series from the start, at 0."""
    snippet = fixes.of_quantities(kafkajs_metrics.EXPORTER, [Quantity.REBALANCES]).snippet
    *_, program = consumers.kafkajs_command()
    packages = Path(program).parent / "node_modules"
    script = (
        "const { Kafka } = require('kafkajs')\n"
        "const consumer = new Kafka({ brokers: ['127.0.0.1:1'] }).consumer({ groupId: 'GROUP' })\n"
        f"{snippet}renderGroup().then(text => process.stdout.write(text))\n"
    )
    (tmp_path / "pasted.js").write_text(script)
    (tmp_path / "node_modules").symlink_to(packages)
    done = subprocess.run(["node", "pasted.js"], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60)
    report = {}
    for line in done.stdout.splitlines():
        name, _, rest = line.partition("{")
        if rest:
            labels = {"__name__": name, **yaml.safe_load("{" + rest.rpartition("}")[0].replace("=", ": ") + "}")}
            metric = kafkajs_metrics.EXPORTER.metric_of(labels)
            if metric is not None:
                report[metric.quantity] = (labels["group_id"], rest.rpartition(" ")[2])
    assert report == dict.fromkeys(kafkajs_metrics.EXPORTER.needed, ("GROUP", "0"))


def test_it_answers_soon(bare: Prometheus) -> None:
    """A person waits; measured figures stand in the pages, this only finds what hangs."""
    began = time.monotonic()
    run("doctor", "--prometheus", bare.url)
    assert time.monotonic() - began < 60
