"""What stands between a classic group and the consumer protocol, by what is known of it anyway."""

import dataclasses
from collections.abc import Sequence

import pytest

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision.at_broker import migration_readiness
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.kafka_groups import Cluster, ConsumerBounds, Group, GroupState, Member
from heartbeat_tuner.domain.liveness import ValueSource
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.metrics.conventions import known_conventions
from tests.support import worlds

NEW = dataclasses.replace(worlds.cluster(), group_version=1)
OLD = dataclasses.replace(worlds.cluster(), group_version=0)
POD, DEFAULT = ValueSource.POD, ValueSource.DEFAULT
JAVA = worlds.java_policy()


def of_library(library: str) -> Policy:
    """Return a policy of a library's consumers, whose variables have the usual names."""
    return dataclasses.replace(JAVA, library=library)


def seen_in(source: ValueSource) -> Workload:
    """Return a workload whose values were all found in one place."""
    return dataclasses.replace(worlds.workload(), current=worlds.current(worlds.java_settings(), source))


def classic(assignor: str = "range", *, static: bool = False) -> Group:
    """Return a group that stands still, with a member in each pod."""
    members = [
        dataclasses.replace(worlds.member(pod), instance_id=pod.name if static else None) for pod in worlds.pods()
    ]
    return dataclasses.replace(worlds.group(members), assignor=assignor)


def said(
    policy: Policy = JAVA,
    workload: Workload | None = None,
    group: Group | None = None,
    cluster: Cluster = NEW,
    versions: Sequence[str] = (),
) -> Finding:
    """Return what is said of a group that may be asked about."""
    found = migration_readiness.readiness(
        policy,
        workload or seen_in(DEFAULT),
        group or classic(),
        cluster,
        catalogue.client(policy.library),
        versions=versions,
    )
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("policy", "workload", "group", "cluster", "reason"),
    [
        (of_library("kafkajs"), seen_in(POD), classic(), OLD, Reason.LIBRARY_LACKS_PROTOCOL),
        (of_library("streams"), seen_in(DEFAULT), classic(), NEW, Reason.LIBRARY_LACKS_PROTOCOL),
        (JAVA, seen_in(POD), classic("ByTenant"), OLD, Reason.BROKERS_LACK_PROTOCOL),
        (JAVA, seen_in(POD), classic("ByTenant"), NEW, Reason.SETTINGS_REFUSED),
        (JAVA, seen_in(ValueSource.TEMPLATE), classic(), worlds.cluster(), Reason.SETTINGS_REFUSED),
        (JAVA, seen_in(DEFAULT), classic("ByTenant"), NEW, Reason.ASSIGNOR_LACKS_COUNTERPART),
        (JAVA, seen_in(DEFAULT), classic(), worlds.cluster(), Reason.BROKERS_NOT_READ),
        (JAVA, seen_in(DEFAULT), classic("cooperative-sticky"), NEW, Reason.CLIENT_VERSION_UNKNOWN),
        (of_library("platformatic"), seen_in(POD), classic(), NEW, Reason.PROTOCOL_READY),
        (of_library("platformatic"), seen_in(POD), classic(), worlds.cluster(), Reason.BROKERS_NOT_READ),
    ],
)
def test_what_hinders_most_is_the_reason(
    policy: Policy, workload: Workload, group: Group, cluster: Cluster, reason: Reason
) -> None:
    """What cannot be changed comes first, then what refuses, then what is not known; yes only without all of them."""
    assert said(policy, workload, group, cluster).reason is reason


@pytest.mark.parametrize("library", known_conventions.IN_POLICIES)
def test_of_each_library_that_policies_know_something_is_said(library: str) -> None:
    """A card that is added says whether it has the protocol, or what its users can do instead."""
    assert said(of_library(library)).message


def test_everything_that_hinders_is_named_at_once() -> None:
    """Who takes one hindrance away must not meet the next one in the rollout."""
    text = said(JAVA, seen_in(POD), classic("ByTenant", static=True), OLD).message
    for part in (
        "group.version is 0",
        "KAFKA_SESSION_TIMEOUT_MS and KAFKA_HEARTBEAT_INTERVAL_MS",
        "ByTenant",
        "since 4.0",
        "UNRELEASED_INSTANCE_ID",
    ):
        assert part in text
    assert "The operator wrote" not in text


def test_variables_of_the_operator_are_said_to_be_its_own() -> None:
    """A manifest without them does not remove them: the field manager still has them."""
    ours = dataclasses.replace(seen_in(POD), kept_env={"app": {"KAFKA_SESSION_TIMEOUT_MS": "30000"}})
    text = said(workload=ours).message
    assert "The operator wrote KAFKA_SESSION_TIMEOUT_MS, and" in text


def test_what_the_code_sets_is_named_as_the_library_calls_it() -> None:
    """The policy declares it, and no variable has it."""
    text = said(workload=seen_in(ValueSource.POLICY)).message
    assert "session.timeout.ms and heartbeat.interval.ms" in text
    assert "KAFKA_SESSION_TIMEOUT_MS" not in text


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        (None, "By default brokers allow no session below 45s"),
        (ConsumerBounds(*(worlds.seconds(number) for number in (40, 60, 5, 15))), "The brokers allow no session below"),
        (ConsumerBounds(*(worlds.seconds(number) for number in (6, 60, 5, 15))), ""),
    ],
)
def test_brokers_that_forbid_the_detection_time_are_named(bounds: ConsumerBounds | None, text: str) -> None:
    """A crash would be noticed too late after the move."""
    policy = dataclasses.replace(
        JAVA, objective=dataclasses.replace(JAVA.objective, max_detection_time=worlds.seconds(30))
    )
    message = said(policy, cluster=dataclasses.replace(NEW, consumer=bounds)).message
    assert (text in message) if text else ("allow no session" not in message)


@pytest.mark.parametrize(
    ("versions", "reason"),
    [
        ((), Reason.CLIENT_VERSION_UNKNOWN),
        (("unknown",), Reason.CLIENT_VERSION_UNKNOWN),
        (("4.4.0", "unknown"), Reason.CLIENT_VERSION_UNKNOWN),
        (("3.9.1", "4.4.0"), Reason.LIBRARY_LACKS_PROTOCOL),
        (("4.0.0",), Reason.PROTOCOL_READY),
    ],
)
def test_versions_that_run_decide_where_all_of_them_are_known(versions: Sequence[str], reason: Reason) -> None:
    """One old pod is enough to hinder the move, and one that does not say its version to leave it open."""
    finding = said(versions=versions)
    assert finding.reason is reason
    assert ("3.9.1 runs: update" in finding.message) is ("3.9.1" in versions)


def test_a_version_of_a_library_that_always_had_the_protocol_is_no_question() -> None:
    """Nothing is known of its first."""
    assert said(of_library("platformatic"), versions=("0.1.0",)).reason is Reason.PROTOCOL_READY


def test_faults_of_old_versions_are_told() -> None:
    """With librdkafka there is the protocol before it is good."""
    assert "before 2.15 fetching may stand still" in said(of_library("confluent-kafka-python")).message


def test_nothing_is_said_where_it_is_no_question() -> None:
    """A group that has moved; one that rebalances, whose assignor nobody names; pods with different values."""
    moved = dataclasses.replace(classic(), consumer_protocol=True)
    moving = dataclasses.replace(classic(), state=GroupState.PREPARING_REBALANCE)
    client = catalogue.client("java")
    for group, workload in (
        (moved, seen_in(POD)),
        (moving, seen_in(POD)),
        (classic(), worlds.workload(mixed=True, rolling_out=True)),
    ):
        assert migration_readiness.readiness(JAVA, workload, group, NEW, client) is None


def test_a_static_id_of_another_workload_is_not_ours() -> None:
    """Only members in the policy's own pods are told of."""
    stranger = Member("other-1", "10.9.9.9", instance_id="other-1")
    group = dataclasses.replace(classic(), members=(*classic().members, stranger))
    assert "UNRELEASED_INSTANCE_ID" not in said(group=group).message
