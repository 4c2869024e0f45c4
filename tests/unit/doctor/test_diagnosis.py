"""What is there and what is missing, from what a Prometheus answers: no group is known beforehand."""

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
import yaml

from heartbeat_tuner.doctor.findings import DoctorFinding, DoctorSeverity
from heartbeat_tuner.doctor.inventory import Diagnosis
from heartbeat_tuner.doctor.uses import USES
from heartbeat_tuner.domain.liveness import TUNED
from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics, known_conventions
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support.inventories import diagnosed, exported, stranger

TUNED_CONVENTIONS = [
    convention for convention in known_conventions.TUNED if set(convention.needed) <= convention.by_quantity.keys()
]


def found(diagnosis: Diagnosis) -> dict[str, DoctorSeverity]:
    """Return the ids of the findings with their severities."""
    return {finding.id: finding.severity for finding in diagnosis.findings}


def only(diagnosis: Diagnosis, name: str) -> DoctorFinding:
    """Return the one finding of this id."""
    (finding,) = [finding for finding in diagnosis.findings if finding.id == name]
    return finding


@pytest.mark.parametrize("convention", TUNED_CONVENTIONS, ids=lambda convention: convention.name)
def test_a_group_that_its_exporter_tells_in_full_has_no_findings(convention: Convention) -> None:
    """Every exporter's own whole output is enough; else each of its users would be told to repair what is whole."""
    diagnosis = diagnosed(exported(convention), exported(convention, pod="orders-1"))
    (group,) = diagnosis.groups
    assert (group.namespace, group.group, group.convention) == ("shop", "orders", convention)
    assert (group.pods, group.interval, group.age) == (
        ("orders-0", "orders-1"),
        timedelta(seconds=30),
        timedelta(seconds=5),
    )
    assert group.measurable
    assert group.missing == ()
    assert diagnosis.findings == ()
    assert diagnosis.is_whole


@pytest.mark.parametrize("convention", TUNED_CONVENTIONS, ids=lambda convention: convention.name)
@pytest.mark.parametrize("quantity", USES, ids=lambda quantity: quantity.camel)
def test_each_missing_quantity_is_told_with_its_use_and_a_fix(convention: Convention, quantity: Quantity) -> None:
    """What a record cannot be made without is an error, what makes it poorer a warning."""
    if quantity not in convention.by_quantity:
        return
    diagnosis = diagnosed(exported(convention, without={quantity}))
    (group,), (finding,) = diagnosis.groups, diagnosis.findings
    assert group.missing == (quantity,)
    assert group.measurable == (quantity not in convention.needed)
    if finding.id == "nothing-accepted":
        assert (convention, quantity) == (kafkajs_metrics.EXPORTER, Quantity.HEARTBEATS)
        assert diagnosis.is_whole  # a storm has none, and its exporter is whole
        return
    needed = quantity in convention.needed
    assert (finding.id, finding.severity) == (
        ("needed-missing", DoctorSeverity.ERROR) if needed else ("quantity-missing", DoctorSeverity.WARNING)
    )
    assert USES[quantity].tells in finding.message
    assert finding.fix is not None
    assert finding.fix.snippet
    assert not diagnosis.is_whole


def test_what_a_protocol_has_not_is_told_as_such() -> None:
    """Nobody looks for a rule that drops what is not there."""
    finding = only(diagnosed(exported(java_metrics.JMX_EXPORTER, without={Quantity.JOIN_ANSWERS})), "quantity-missing")
    assert "members of KIP-848 groups have no such counter" in finding.message


def test_every_use_counts_for_a_setting_that_is_tuned() -> None:
    """Nobody is asked to export what changes nothing."""
    assert all(use.settings and set(use.settings) <= set(TUNED) for use in USES.values())


@pytest.mark.parametrize(
    ("age", "every", "name", "severity"),
    [
        (timedelta(seconds=80), timedelta(seconds=15), None, None),
        (timedelta(seconds=100), timedelta(seconds=15), "stale", DoctorSeverity.ERROR),
        (timedelta(seconds=100), timedelta(seconds=60), None, None),
        (timedelta(seconds=100), timedelta(seconds=90), "rarely-scraped", DoctorSeverity.WARNING),
        (timedelta(minutes=30), timedelta(seconds=30), "stale", DoctorSeverity.ERROR),
    ],
)
def test_old_and_rare_samples_are_told(
    age: timedelta, every: timedelta, name: str | None, severity: DoctorSeverity | None
) -> None:
    """A group whose pods are gone would be unknown to the operator; a rare scrape misses maxima."""
    diagnosis = diagnosed(exported(java_metrics.JMX_EXPORTER, age=age, every=every))
    assert found(diagnosis) == ({} if name is None else {name: severity})
    assert diagnosis.groups[0].measurable == (name != "stale")


def test_members_are_consumers_and_pods_those_that_still_run() -> None:
    """Two consumers in a pod, scraped by two jobs, and a pod that a rollout ended some minutes ago."""
    diagnosis = diagnosed(
        exported(java_metrics.JMX_EXPORTER),
        exported(java_metrics.JMX_EXPORTER, job="again"),
        exported(java_metrics.JMX_EXPORTER, client_id="consumer-orders-2"),
        exported(java_metrics.JMX_EXPORTER, pod="orders-9", age=timedelta(minutes=6)),
    )
    (group,) = diagnosis.groups
    assert (group.members, group.pods) == (2, ("orders-0",))


@pytest.mark.parametrize("convention", TUNED_CONVENTIONS, ids=lambda convention: convention.name)
def test_two_groups_of_one_namespace_each_have_their_own_metrics(convention: Convention) -> None:
    """An exporter without a label of `client.id` must not give all metrics to the group that was read last."""
    diagnosis = diagnosed(exported(convention, "orders"), exported(convention, "payments", pod="payments-0"))
    assert [(group.group, group.measurable, group.missing) for group in diagnosis.groups] == [
        ("orders", True, ()),
        ("payments", True, ()),
    ]
    assert diagnosis.findings == ()


def test_a_static_member_is_tied_to_its_group_by_its_pod_in_all_its_series() -> None:
    """Kinds carry no pod: only the members' whole labels tell that the client's end is an instance id."""
    diagnosis = diagnosed(exported(java_metrics.JMX_EXPORTER, client_id="consumer-orders-orders-0"))
    (group,) = diagnosis.groups
    assert (group.group, group.missing, diagnosis.findings) == ("orders", (), ())


def test_client_ids_of_their_own_are_told_with_examples_and_a_way_out() -> None:
    """They are the commonest reason for which nothing is known of a Java consumer."""
    series = [exported(java_metrics.JMX_EXPORTER, client_id=f"billing-{number}") for number in range(5)]
    diagnosis = diagnosed(*series, exported(java_metrics.JMX_EXPORTER, "orders"))
    finding = only(diagnosis, "group-not-told")
    assert finding.severity is DoctorSeverity.ERROR
    assert finding.subject == ("pods", "shop", "billing-0", "billing-1", "billing-2")
    assert "5 client.ids say nothing" in finding.message
    assert finding.fix is not None
    assert "metrics.labels.group" in finding.fix.sentence
    assert [group.group for group in diagnosis.groups] == ["orders"]


def test_a_consumer_without_a_group_is_none() -> None:
    """The library calls it consumer-null-1; but a KafkaJS group may be called null."""
    assert found(diagnosed(exported(java_metrics.JMX_EXPORTER, "null"))) == {"no-consumers": DoctorSeverity.ERROR}
    assert [group.group for group in diagnosed(exported(kafkajs_metrics.EXPORTER, "null")).groups] == ["null"]


@pytest.mark.parametrize(
    ("labels", "mapped"),
    [
        (
            {"kubernetes_namespace": "shop", "kubernetes_pod_name": "orders-0"},
            {"namespace": "kubernetes_namespace", "pod": "kubernetes_pod_name"},
        ),
        (
            {"k8s.namespace.name": "shop", "k8s.pod.name": "x"},
            {"namespace": "k8s.namespace.name", "pod": "k8s.pod.name"},
        ),
        ({"instance": "10.0.0.1:9404"}, None),
        ({"kubernetes_namespace": "shop"}, None),
    ],
)
def test_namespace_and_pod_under_other_names_are_mapped_or_asked_for(
    labels: dict[str, Any], mapped: dict[str, str] | None
) -> None:
    """Without them nothing can be joined; where they have other names, the policy can say so."""
    diagnosis = diagnosed(exported(java_metrics.JMX_EXPORTER, namespace="", pod="", **labels))
    finding = only(diagnosis, "namespace-not-told")
    assert (finding.severity, finding.subject) == (DoctorSeverity.ERROR, ("pods",))
    assert finding.fix is not None
    document = yaml.safe_load(finding.fix.snippet)
    assert document == ({"spec": {"metrics": {"labels": mapped}}} if mapped else document)
    assert ("relabel_configs" in document) == (mapped is None)
    assert diagnosis.groups == ()


def test_a_missing_pod_alone_is_told() -> None:
    """Its group is seen, but none of its pods."""
    diagnosis = diagnosed(exported(java_metrics.JMX_EXPORTER, pod="", pod_name="orders-0"))
    finding = only(diagnosis, "pod-not-told")
    assert finding.fix is not None
    assert yaml.safe_load(finding.fix.snippet)["spec"]["metrics"]["labels"] == {"pod": "pod_name"}
    assert [(group.group, group.pods, group.measurable) for group in diagnosis.groups] == [("orders", (), False)]


@pytest.mark.parametrize(
    ("labels", "mapped"), [({"client": "consumer-orders-1"}, {"clientId": "client"}), ({"app": "orders"}, None)]
)
def test_known_names_under_unknown_labels_are_told(labels: dict[str, Any], mapped: dict[str, str] | None) -> None:
    """A relabelling rule renamed the client's label, or dropped it."""
    finding = only(diagnosed(exported(java_metrics.JMX_EXPORTER, client_id="", **labels)), "labels-unknown")
    assert finding.fix is not None
    assert (yaml.safe_load(finding.fix.snippet) or {}).get("spec", {}).get("metrics", {}).get("labels") == mapped


def test_unknown_names_that_look_like_a_consumers_are_mapped_by_their_ends() -> None:
    """The end of a name tells what it is likely to be; a person has to look."""
    strangers = [
        stranger("app_time_between_poll_max", client="consumer-odd-1"),
        stranger("app.kafka.heartbeat.total", client="consumer-odd-1"),
        stranger("app_kafka_rebalance_total", client="consumer-odd-1"),
        stranger("app_kafka_failed_rebalance_total", client="consumer-odd-1"),
        stranger("app_rebalance_latency_total", client="consumer-odd-1"),
    ]
    diagnosis = diagnosed(strangers=strangers)
    finding = only(diagnosis, "names-unknown")
    assert finding.severity is DoctorSeverity.WARNING
    assert finding.subject[:2] == ("odd", "odd")
    assert finding.fix is not None
    assert yaml.safe_load(finding.fix.snippet)["spec"]["metrics"] == {
        "names": {
            "pollGapMax": "app_time_between_poll_max",
            "heartbeats": "app.kafka.heartbeat.total",
            "rebalances": "app_kafka_rebalance_total",
            "failedRebalances": "app_kafka_failed_rebalance_total",
            "rebalanceTime": "app_rebalance_latency_total",
        },
        "labels": {"clientId": "client"},
    }


def test_unknown_names_beside_a_measured_group_are_no_news() -> None:
    """Somebody's recording rules; but those of another namespace are."""
    beside = stranger("shop_kafka_rebalance_total", namespace="shop", job="pods")
    assert diagnosed(exported(kafkajs_metrics.EXPORTER), strangers=[beside]).findings == ()
    other = stranger("shop_kafka_failed_rebalance_total", namespace="bank", job="pods")
    assert found(diagnosed(exported(kafkajs_metrics.EXPORTER), strangers=[other])) == {
        "names-unknown": DoctorSeverity.WARNING
    }


def test_one_name_that_other_programs_have_too_is_nobodys_fault() -> None:
    """Two of them are a sign; and what may be consumers is said before that there are none."""
    joins, beats = stranger("db_consumer_joins_total"), stranger("db_consumer_heartbeats_total")
    result = diagnosed(strangers=[joins])
    assert found(result) == {"names-unknown": DoctorSeverity.INFO, "no-consumers": DoctorSeverity.ERROR}
    assert [finding.id for finding in result.findings] == ["names-unknown", "no-consumers"]
    assert "or of something else" in only(result, "names-unknown").message
    assert only(diagnosed(strangers=[joins, beats]), "names-unknown").severity is DoctorSeverity.WARNING


def test_rates_alone_count_nothing() -> None:
    """Beside counters, or a group of the same job, they are no news."""
    rate = stranger("kafka_consumer_rebalance_rate_per_hour", namespace="shop", job="pods")
    finding = only(diagnosed(strangers=[rate]), "only-rates")
    assert (finding.severity, finding.subject) == (
        DoctorSeverity.WARNING,
        ("pods", "shop", "kafka_consumer_rebalance_rate_per_hour"),
    )
    total = stranger("app_kafka_failed_rebalance_total", namespace="shop", job="pods")
    assert "only-rates" not in found(diagnosed(strangers=[rate, total]))
    assert found(diagnosed(exported(kafkajs_metrics.EXPORTER), strangers=[rate])) == {}


def test_statistics_of_librdkafka_are_called_so_and_mapped_to_nothing() -> None:
    """They count no eviction: the operator's own watcher does, and a mapped name would only stand beside it."""
    names = ("app_cgrp_assignment_size", "app_cgrp_rebalance_cnt")
    finding = only(diagnosed(strangers=[stranger(name) for name in names]), "librdkafka-statistics")
    assert (finding.severity, finding.subject[2:]) == (DoctorSeverity.INFO, names)
    assert "rebalance_cnt counts assignments and revocations" in finding.message
    assert finding.fix is not None
    assert "client.library" in finding.fix.sentence


def test_nothing_at_all_says_what_to_attach() -> None:
    """An empty Prometheus is the first that many people try."""
    diagnosis = diagnosed()
    assert found(diagnosis) == {"no-consumers": DoctorSeverity.ERROR}
    assert not diagnosis.is_whole


def test_the_exporter_that_tells_most_is_the_groups() -> None:
    """A pod may be scraped by two, one of which has the half."""
    few = exported(java_metrics.STRIMZI, without=[use for use in USES if use is not Quantity.HEARTBEATS])
    for series in ((few, exported(java_metrics.JMX_EXPORTER)), (exported(java_metrics.JMX_EXPORTER), few)):
        diagnosis = diagnosed(*series)
        assert [group.convention for group in diagnosis.groups] == [java_metrics.JMX_EXPORTER]
        assert diagnosis.is_whole


def test_findings_come_worst_first() -> None:
    """A reader begins at the top."""
    diagnosis = diagnosed(
        exported(kafkajs_metrics.EXPORTER, "storm", without={Quantity.HEARTBEATS}),
        exported(java_metrics.JMX_EXPORTER, "poor", without={Quantity.POLL_GAP_MAX}),
        exported(java_metrics.JMX_EXPORTER, "blind", without={Quantity.POLL_AGE}),
    )
    assert [finding.severity for finding in diagnosis.findings] == list(DoctorSeverity)
    assert [finding.subject[0] for finding in diagnosis.findings] == ["blind", "poor", "storm"]


@pytest.mark.parametrize(
    ("group", "ids"), [("orders", ()), ("blind", ("needed-missing",)), ("order", ("group-unknown", "group-not-told"))]
)
def test_one_group_is_told_alone_or_with_its_nearest(group: str, ids: Sequence[str]) -> None:
    """Of a group that is not there, also what may be it: a consumer that does not say its group."""
    diagnosis = diagnosed(
        exported(java_metrics.JMX_EXPORTER),
        exported(java_metrics.JMX_EXPORTER, "blind", without={Quantity.POLL_AGE}),
        exported(java_metrics.JMX_EXPORTER, client_id="billing"),
    ).only(group)
    assert tuple(finding.id for finding in diagnosis.findings) == ids
    assert [group.group for group in diagnosis.groups] == ([] if group == "order" else [group])
    if group == "order":
        assert "did you mean orders? 2 groups are shown" in diagnosis.findings[0].message


def test_without_any_group_the_asked_one_needs_an_exporter() -> None:
    """There is nothing near to name."""
    (finding, *_) = diagnosed().only("orders").findings
    assert finding.id == "group-unknown"
    assert finding.fix is not None


def test_groups_of_libraries_that_are_not_tuned_are_shown_and_nothing_is_asked_of_them() -> None:
    """Whoever runs Sarama has nothing to repair for us; nor has a client of its own id."""
    other = dataclasses.replace(java_metrics.JMX_EXPORTER, name="other", libraries=("sarama",))
    series = [exported(other, without={Quantity.HEARTBEATS}), exported(other, client_id="mine")]
    diagnosis = diagnosed(*series, conventions=[other])
    assert [(group.group, group.measurable) for group in diagnosis.groups] == [("orders", False)]
    assert found(diagnosis) == {"not-tuned": DoctorSeverity.INFO}
    assert diagnosis.is_whole
