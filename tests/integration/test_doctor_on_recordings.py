"""`doctor` on recordings of real exporters, in one real Prometheus: each group with its exporter, or how to map it."""

import json
import time
from collections.abc import Iterator
from typing import Any, Final

import pytest
import yaml

from sandbox import forked_commands
from sandbox.binaries import Binaries
from sandbox.prometheus import Prometheus
from tests.exporters import recording, replay
from tests.exporters.recording import Recording, Series
from tests.exporters.replayed import Replayed
from tests.exporters.replayed import replayed as replay_all

pytestmark = pytest.mark.timeout(180)

WHOLE: Final = {
    "jmx-0-default": "jmx-exporter",
    "jmx-1-default": "jmx-exporter",
    "jmx-1-infer": "jmx-exporter",
    "jmx-1-streams": "jmx-exporter",
    "strimzi-reporter": "jmx-exporter",
    "micrometer-client": "micrometer",
    "spring-timers": "micrometer",
    "otel-scraped": "opentelemetry",
    "kafkajs-sandbox": "kafkajs",
}
"""Recordings whose exporters tell all that is read."""

LACKING: Final = {
    "jmx-1-kip848": ("jmx-exporter", {"joinAnswers"}),
    "jmx-1-streams-kip1071": ("jmx-exporter", {"joinAnswers"}),
    "kafkajs-exporter": ("kafkajs", {"heartbeatRequests", "rebalanceNotices", "rebalances", "rebalanceTime"}),
}
"""Others, and what they lack."""


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[Replayed]:
    """A Prometheus of this module's own: of what ended ten minutes ago not everything is found any more."""
    with replay_all(tmp_path_factory.mktemp("replayed"), binaries) as started:
        yield started


@pytest.fixture(scope="module")
def found(replayed: Replayed) -> dict[str, Any]:
    """What it finds of all recordings."""
    url = replayed.prometheus.url
    done = forked_commands.run("doctor", "--prometheus", url, "-o", "json")
    assert (done.returncode, done.stderr) == (1, "")
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def lacks(group: dict[str, Any]) -> set[str]:
    """Return the quantities that a group lacks."""
    return {name for name, there in group["quantities"].items() if not there}


def test_real_exporters_are_known_by_what_they_export(found: dict[str, Any]) -> None:
    """Without a word of configuration."""
    groups = {group["namespace"]: group for group in found["groups"]}
    assert {name: (groups[name]["convention"], lacks(groups[name])) for name in WHOLE} == {
        name: (convention, set()) for name, convention in WHOLE.items()
    }
    assert {name: (groups[name]["convention"], lacks(groups[name])) for name in LACKING} == LACKING
    assert all(groups[name]["group"] == f"{name}-group" for name in (*WHOLE, *LACKING))


def test_what_is_not_translated_is_mapped(found: dict[str, Any]) -> None:
    """OpenTelemetry's names in UTF-8 are known; its labels for namespace and pod are not the usual ones."""
    fixes = [
        yaml.safe_load(finding["fix"]["snippet"])
        for finding in found["findings"]
        if finding["id"] == "namespace-not-told"
    ]
    mapped = [fix["spec"]["metrics"] for fix in fixes if "spec" in fix]
    assert {"labels": {"namespace": "k8s.namespace.name", "pod": "k8s.pod.name"}} in mapped
    assert {"labels": {"namespace": "k8s_namespace_name", "pod": "k8s_pod_name"}} in mapped


def test_a_rate_is_no_count(found: dict[str, Any]) -> None:
    """An unknown name that ends like a rate is not taken for what it is a rate of."""
    fixes = [
        yaml.safe_load(finding["fix"]["snippet"]) for finding in found["findings"] if finding["id"] == "names-unknown"
    ]
    mapped = [fix["spec"]["metrics"] for fix in fixes]
    assert mapped
    assert not any("rate" in name for item in mapped for name in item["names"].values())


AROUND: Final = {
    "jmx-1-default": ({"missing-beats", "failed-scrapes", "poll-gap", "gc-pause"}, {"restarts"}),
    "kafkajs-exporter": ({"missing-beats", "failed-scrapes", "event-loop"}, {"rebalances", "restarts"}),
    "kubernetes": ({"missing-beats", "failed-scrapes", "throttling"}, set()),
    "otel-scraped": ({"missing-beats", "failed-scrapes", "poll-gap", "gc-pause"}, {"restarts"}),
    "spring-timers": ({"missing-beats", "failed-scrapes", "poll-gap", "gc-pause"}, {"restarts"}),
}
"""What shows absences in each, and what else of what its exporter could have cannot be measured."""

NEVER: Final = {"pollGaps", "outages", "rebalanceLatencies"}
"""What KafkaJS has no metric of."""


def moved(recording: Recording) -> Recording:
    """Return what a scrape without honor_labels makes of kube-state-metrics and cAdvisor."""

    def labels(series: Series) -> dict[str, str]:
        if "pod" not in series.labels or not series.labels["__name__"].startswith(("kube_", "container_")):
            return {**series.labels, "namespace": "moved"}
        stored = {name: value for name, value in series.labels.items() if name not in {"namespace", "pod"}}
        return {
            **stored,
            "exported_namespace": "moved",
            "exported_pod": series.labels["pod"],
            "pod": "the-exporters-own",
        }

    found = Recording(recording.folder, recording.meta)
    found.__dict__["series"] = [
        Series(labels(series_), series_.times_ms, series_.values) for series_ in recording.series
    ]
    return found


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[dict[str, Any]]:
    """What it finds of recordings that end now, by namespace: what is around a pod counts while that lives."""
    with Prometheus(tmp_path_factory.mktemp("fresh"), binaries, kubeconfig=None) as started:
        now_s = round(time.time(), 3)
        for name in AROUND:
            replay.load(recording.read(name), started.url, ends_at_s=now_s)
        replay.load(moved(recording.read("kubernetes")), started.url, ends_at_s=now_s)
        done = forked_commands.run("doctor", "--prometheus", started.url, "-o", "json")
        assert (done.returncode, done.stderr) == (1, "")
        yield json.loads(done.stdout)


@pytest.mark.parametrize("name", AROUND)
def test_what_real_exporters_show_around_a_pod_is_found(fresh: dict[str, Any], name: str) -> None:
    """JVM, Node, cAdvisor, kube-state-metrics and Prometheus itself, by the labels that they really have."""
    (group,) = [group for group in fresh["groups"] if group["namespace"] == name]
    witnesses, missing = AROUND[name]
    quantities = group["covered"]["quantities"]
    assert set(group["covered"]["absencesShownBy"]) == witnesses
    lacking = {name for name, quantity in quantities.items() if not quantity["measurable"]}
    assert lacking - (NEVER if group["convention"] == "kafkajs" else set()) == missing
    assert (quantities["rebalances"]["because"] is None) == (name == "kubernetes")


def test_a_scrape_that_keeps_no_labels_is_known_by_what_it_makes_of_them(fresh: dict[str, Any]) -> None:
    """The commonest reason for which kube-state-metrics is there and no use."""
    (group,) = [group for group in fresh["groups"] if group["namespace"] == "moved"]
    assert group["covered"]["quantities"]["restarts"]["fix"]["snippet"] == "honor_labels: true\n"
    report = [finding["message"] for finding in fresh["findings"] if finding["id"] == "labels-not-kept"]
    assert any("restarts are not timed" in item for item in report)
    assert any("CPU throttling is not seen" in item for item in report)
