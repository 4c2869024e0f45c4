"""What the bench of a cycle stands on: believable consumers, and figures that are right."""

import json
import math
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import prometheus_client
import pytest

from bench import cycle, cycle_objects
from bench.cycle_exporter import SERIES, Page, subjects
from bench.cycle_objects import Prototypes
from bench.cycle_seen import Passed, Statuses, longest_lag_s
from heartbeat_tuner.adapters.http.telemetry import Telemetry
from heartbeat_tuner.adapters.workloads import manifests
from heartbeat_tuner.metrics.conventions import kafkajs_metrics, known_conventions, watched_groups
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.reconcile.series import reading_plan
from sandbox.audit import Write
from sandbox.environment import OPERATOR_USER

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_pod_exports_seven_series_of_which_the_operator_finds_its_own() -> None:
    """Under the exporter's names, in the group that the policy names, and all that a record needs."""
    (subject,) = subjects(1)
    lines = Page([subject]).body(1000.0).decode().splitlines()
    assert len(lines) == len(set(lines)) == 7 * len(subject.pods)
    found = set()
    for series in SERIES:
        labels = {**series.labels(subject, subject.pods[0]), "__name__": series.name}
        place = resolver.place_of(labels, known_conventions.CONVENTIONS, {(subject.namespace, subject.name)})
        if place is not None:
            assert place.convention == kafkajs_metrics.EXPORTER
            found.add(place.metric.quantity)
    needed = {quantity for quantity in reading_plan.READ if reading_plan.needs("kafkajs", quantity)}
    assert needed - watched_groups.GROUP_WATCHER.by_quantity.keys() <= found  # the operator exports its own


def test_only_the_beats_move() -> None:
    """What is written for the past goes on in what is scraped, and most of it stands still."""
    page = Page(subjects(2))
    first, second = (page.body(at_s).decode().splitlines() for at_s in (900.5, 901.0))
    changed = [(old, new) for old, new in zip(first, second, strict=True) if old != new]
    assert len(changed) == 2 * 2 * 3
    assert all((old.split()[-1], new.split()[-1]) == ("900.0", "901.0") for old, new in changed)


def test_a_copied_pod_runs_and_is_its_deployment_s() -> None:
    """The operator would count it; no placeholder is left in it."""
    deployment, pod = cycle_objects._deployment(), cycle_objects._pod()
    pod["metadata"] |= {"uid": cycle_objects._UID, "namespace": cycle_objects._NAMESPACE}
    pod["status"] = cycle_objects._pod_status("2026-01-01T00:00:00Z")
    texts = [json.dumps(document) for document in ({}, deployment, pod)]
    copies = dict(Prototypes(*texts).copies(subjects(3)))
    assert len(copies) == 3 * 5
    stored = {key: json.loads(text) for key, text in copies.items()}
    pods = [document for key, document in stored.items() if key.startswith("/registry/pods/")]
    running = [manifests.running_pod(pod, "app") for pod in pods]
    assert len({pod.ip for pod in running if pod is not None}) == 9
    assert not re.search("(name|address)-of-the", "".join(copies.values()))
    owner = stored["/registry/deployments/cycle-000/group-00002"]
    assert sum(manifests.is_pod_of(pod, owner) for pod in pods) == 3


def test_the_page_of_metrics_says_what_has_passed() -> None:
    """By the names that the operator gives them; a page that does not say it is no zero."""
    telemetry = Telemetry()
    telemetry.cycle_finished(verdicts={}, writes={}, points={}, duration_s=1.5, overrun_s=0.0)
    telemetry.cycle_finished(verdicts={}, writes={}, points={}, duration_s=2.5, overrun_s=0.0)
    telemetry.prometheus_read(requests=7, samples=1)
    page = prometheus_client.generate_latest(telemetry.registry).decode()
    assert Passed.parsed(page) == Passed(cycles=2, cycles_s=4.0, requests=7)
    assert Passed.parsed("") is None


def test_the_longest_lag_is_at_most_the_bound_that_none_exceeded() -> None:
    """Not the last one, nor an average; where nothing was measured there is no number."""
    telemetry = Telemetry()
    assert longest_lag_s(prometheus_client.generate_latest(telemetry.registry).decode()) is None
    for lag_s in (0.01, 0.35, 0.02):
        telemetry.loop_lagged(lag_s)
    assert longest_lag_s(prometheus_client.generate_latest(telemetry.registry).decode()) == 0.4
    telemetry.loop_lagged(99.0)
    assert longest_lag_s(prometheus_client.generate_latest(telemetry.registry).decode()) == math.inf
    assert longest_lag_s("") is None


def _status(seconds: int, *, generation: int, verdict: str, resource: str = "consumergrouppolicies") -> Write:
    stored: dict[str, Any] = {"status": {"observedGeneration": generation, "verdict": verdict}}
    return Write(
        user=OPERATOR_USER,
        verb="update",
        resource=resource,
        subresource="status" if resource == "consumergrouppolicies" else "",
        namespace="cycle-000",
        name="group-00000",
        time=NOON + timedelta(seconds=seconds),
        code=200,
        user_agent="",
        stored=stored,
    )


def test_a_policy_is_known_once_and_followed_generation_by_generation(tmp_path: Path) -> None:
    """Unknown is no knowledge; a later generation follows an earlier one's edit, too; Events count as writes."""
    seen = Statuses(tmp_path / "audit.log")
    key = ("cycle-000", "group-00000")
    for write in (
        _status(1, generation=1, verdict="Unknown"),
        _status(2, generation=1, verdict="Healthy"),
        _status(3, generation=3, verdict="Healthy"),
        _status(4, generation=3, verdict="Unknown"),
        _status(5, generation=0, verdict="", resource="events"),
    ):
        seen.take(write)
    assert seen.known_at == {key: NOON + timedelta(seconds=2)}
    assert seen.followed(key, 2) == seen.followed(key, 3) == NOON + timedelta(seconds=3)
    assert seen.followed(key, 4) is None
    assert seen.verdicts == {key: "Unknown"}
    assert seen.writes == {"consumergrouppolicies": 4, "events": 1}


def test_growth_is_the_slope_between_logarithms() -> None:
    """Proportional is 1, and a square is 2, whatever the unit."""
    assert cycle.growth_exponent({100: 0.3, 300: 0.9, 1000: 3.0}) == pytest.approx(1.0)
    assert cycle.growth_exponent({10: 100.0, 100: 10_000.0}) == pytest.approx(2.0)


def test_of_forty_values_the_95th_percentile_is_the_third_largest() -> None:
    """The least that 95 of 100 do not exceed."""
    assert cycle.percentile([float(number) for number in range(1, 41)], 0.95) == 38
    assert cycle.percentile([7.0], 0.95) == 7


def test_one_size_has_no_growth_and_the_table_says_so() -> None:
    """What is not measured is named, and has no number anywhere."""
    sizes = {100: {"steady_s": 1.0, "floor_s": 0.5, "cpu_s": 0.1}}
    assert "growth_exponent" not in cycle.report_of(sizes)
    table = cycle.table_of({**sizes, 300: {"steady_s": 2.5, "floor_s": 1.0}})
    assert re.search("^cpu_s +0.1 +not measured$", table, flags=re.MULTILINE)
    assert "growth_exponent           not measured: one size" in cycle.table_of(sizes)
    assert cycle.sizes_of(json.dumps(cycle.report_of(sizes))) == sizes
