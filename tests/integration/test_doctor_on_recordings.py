"""`doctor` on recordings of real exporters, in one real Prometheus: each group with its exporter, or how to map it."""

import json
import subprocess
import sys
from typing import Any, Final

import pytest
import yaml

from tests.exporters.replayed import Replayed

pytestmark = pytest.mark.timeout(180)

WHOLE: Final = {
    "jmx-0-default": "jmx-exporter",
    "jmx-1-default": "jmx-exporter",
    "jmx-1-infer": "jmx-exporter",
    "strimzi-reporter": "jmx-exporter",
    "micrometer-client": "micrometer",
    "spring-timers": "micrometer",
    "otel-scraped": "opentelemetry",
    "kafkajs-sandbox": "kafkajs",
}
"""Recordings whose exporters tell all that is read."""

LACKING: Final = {
    "jmx-1-kip848": ("jmx-exporter", {"joinAnswers"}),
    "kafkajs-exporter": ("kafkajs", {"heartbeatRequests", "rebalanceNotices", "rebalances", "rebalanceTime"}),
}
"""Others, and what they lack."""


@pytest.fixture(scope="module")
def found(replayed: Replayed) -> dict[str, Any]:
    """What it finds of all recordings, however long ago they were loaded."""
    url = replayed.prometheus.url
    command = [sys.executable, "-m", "heartbeat_tuner", "doctor", "--prometheus", url, "-o", "json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (1, "")
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def lacks(group: dict[str, Any]) -> set[str]:
    """Return the quantities that a group lacks."""
    return {name for name, there in group["quantities"].items() if not there}


def test_real_exporters_are_known_by_what_they_export(found: dict[str, Any]) -> None:
    """Without a word of configuration."""
    groups = {one["namespace"]: one for one in found["groups"]}
    assert {name: (groups[name]["convention"], lacks(groups[name])) for name in WHOLE} == {
        name: (convention, set()) for name, convention in WHOLE.items()
    }
    assert {name: (groups[name]["convention"], lacks(groups[name])) for name in LACKING} == LACKING
    assert all(groups[name]["group"] == f"{name}-group" for name in (*WHOLE, *LACKING))


def test_what_is_not_translated_is_mapped(found: dict[str, Any]) -> None:
    """OpenTelemetry's names in UTF-8 are known; its labels for namespace and pod are not the usual ones."""
    fixes = [yaml.safe_load(one["fix"]["snippet"]) for one in found["findings"] if one["id"] == "namespace-not-told"]
    mapped = [one["spec"]["metrics"] for one in fixes if "spec" in one]
    assert {"labels": {"namespace": "k8s.namespace.name", "pod": "k8s.pod.name"}} in mapped
    assert {"labels": {"namespace": "k8s_namespace_name", "pod": "k8s_pod_name"}} in mapped


def test_a_rate_is_no_count(found: dict[str, Any]) -> None:
    """An unknown name that ends like a rate is not taken for what it is a rate of."""
    fixes = [yaml.safe_load(one["fix"]["snippet"]) for one in found["findings"] if one["id"] == "names-unknown"]
    mapped = [one["spec"]["metrics"] for one in fixes]
    assert mapped
    assert not any("rate" in name for one in mapped for name in one["names"].values())
