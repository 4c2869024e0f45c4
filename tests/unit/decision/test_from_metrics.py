"""A decision from metrics alone is the operator's own; what only a broker or a cluster knows is never made up."""

import dataclasses
import math
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision import from_metrics
from heartbeat_tuner.decision.from_metrics import MetricsView, StatedFacts
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize.questions import Answer
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Pod, Record, Unknown
from heartbeat_tuner.domain.kafka_groups import GroupState
from heartbeat_tuner.domain.liveness import LivenessSettings, ValueSource
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Confidence, Prediction, Verdict
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.conventions.librdkafka_metrics import COUNTERS
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.models.failure_profile import Rebalancing
from heartbeat_tuner.models.group_model import Fitted, Unfitted
from tests.support import counters, fitted, worlds
from tests.support.counters import Answers
from tests.support.pipelines import by_answer
from tests.support.worlds import HOUR, NOW

LONG_AGO = NOW - HOUR - timedelta(minutes=5)
PODS = worlds.pods()
SAFE = Prediction(10.0, 1.0, 0.1, 0.5, 25.0, 5.0)


def seen(
    observed: Observed,
    now: LivenessSettings = worlds.STORM,
    *,
    library: str = "kafkajs",
    convention: Convention = counters.KAFKAJS,
    source: ValueSource = ValueSource.POLICY,
) -> MetricsView:
    """Return group shop/orders as seen from outside."""
    report = StatedFacts(
        "shop", "orders", catalogue.client(library), worlds.current(now, source), 1, Objective(worlds.seconds(60), 1.0)
    )
    return MetricsView(report, convention, observed, HOUR, NOW)


def recorded(found: MetricsView) -> Record:
    """Return the record, which must be there."""
    record = from_metrics.watched(found).record
    assert isinstance(record, Record)
    return record


def java(found: Answers, now: LivenessSettings | None = None) -> MetricsView:
    """Return the same of Java consumers."""
    return seen(found, now or worlds.java_settings(), library="java", convention=counters.JMX)


def java_consumers(lost: int = 0, *, since: datetime = LONG_AGO) -> Answers:
    """Return well Java consumers, each of which lost its id so often, once in ten minutes."""
    failed = [counters.counter(pod, since, NOW, lambda s: 1 + min(lost, s // 600)) for pod in PODS]
    return {
        Quantity.HEARTBEATS: [counters.counter(pod, since, NOW, lambda s: s // 5) for pod in PODS],
        Quantity.REBALANCES: [counters.counter(pod, since, NOW, lambda _: 1) for pod in PODS],
        Quantity.REBALANCE_TIME: [counters.counter(pod, since, NOW, lambda _: 0.1) for pod in PODS],
        Quantity.POLL_AGE: [counters.counter(pod, since, NOW, lambda _: 0) for pod in PODS],
        Quantity.FAILED_REBALANCES: failed,
        Quantity.JOIN_ANSWERS: [counters.counter(pod, since, NOW, lambda _: 1) for pod in PODS],
    }


def test_a_storm_is_cured_as_the_operator_would() -> None:
    """The same engine, with the same words."""
    decision = decide(from_metrics.watched(seen(counters.stormy(PODS, LONG_AGO, NOW))))
    assert (decision.verdict, decision.finding.reason) == (Verdict.CHANGE, Reason.CADENCE_EXCEEDS_SESSION)
    assert decision.target == worlds.settings("30s", "1s", "1s")


def test_a_quiet_group_is_left_alone() -> None:
    """Whatever its settings."""
    decision = decide(from_metrics.watched(seen(counters.quiet(PODS, LONG_AGO, NOW), worlds.settings())))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNPROVEN, Reason.TOO_EARLY)
    assert decision.target is None


def test_pods_are_those_with_fresh_samples_and_began_with_their_first() -> None:
    """A pod that a rollout ended is history; the record begins with the newest of the others."""
    young = NOW - timedelta(minutes=20)
    found = counters.together(
        counters.quiet(PODS[:1], LONG_AGO, NOW),
        counters.quiet(PODS[1:2], young, NOW),
        counters.quiet(PODS[2:], LONG_AGO, NOW - timedelta(minutes=5)),
    )
    situation = from_metrics.watched(seen(found))
    assert [(pod.name, pod.started) for pod in situation.workload.pods] == [("orders-0", LONG_AGO), ("orders-1", young)]
    assert recorded(seen(found)).since == young


def test_a_restart_in_place_shows_as_a_reset() -> None:
    """What was before it is another process."""
    at = timedelta(minutes=35)
    found = counters.quiet(PODS, LONG_AGO, NOW)
    found[Quantity.REBALANCES] = [
        counters.counter(pod, LONG_AGO, NOW, lambda s: 7 if s < at.total_seconds() else 1) for pod in PODS
    ]
    assert recorded(seen(found)).since == LONG_AGO + at


def test_a_rare_scrape_is_fresh_for_longer() -> None:
    """Three scrapes, as for the operator."""
    found = counters.quiet(PODS, LONG_AGO, NOW)
    thinned = {
        quantity: [dataclasses.replace(item, samples=item.samples[::24]) for item in group]
        for quantity, group in found.items()
    }
    late = dataclasses.replace(seen(thinned), now=NOW + timedelta(seconds=200))
    assert len(from_metrics.watched(late).workload.pods) == 3
    assert len(from_metrics.watched(dataclasses.replace(late, now=NOW + timedelta(seconds=700))).workload.pods) == 0


def test_fencings_at_the_broker_are_counted_by_losses_or_not_known() -> None:
    """A member that rebalanced and shows no listener may have been fenced; a group in which none did was not."""

    def watched(rejoins: int, lost: Answers | None = None) -> Record | Unknown:
        joins = [counters.counter(pod, LONG_AGO, NOW, lambda s: 1 + rejoins * (s > 3_000)) for pod in PODS]
        found = java({**java_consumers(), Quantity.REBALANCES: joins, **(lost or {})})
        report = dataclasses.replace(found.stated, rebalancing=Rebalancing.CONSUMER)
        return from_metrics.watched(dataclasses.replace(found, stated=report)).record

    calm = watched(0)
    assert isinstance(calm, Record)
    assert calm.hidden is None
    unknown = watched(1)
    assert isinstance(unknown, Unknown)
    assert "whether members of group orders were fenced is not known: pod " in unknown.message
    lost = {
        quantity: [
            counters.counter(pod, LONG_AGO, NOW, lambda s: 0.01 if 3_000 < s < 3_060 else math.nan) for pod in PODS
        ]
        for quantity in (Quantity.TASKS_LOST_LATENCY_MAX, Quantity.TASKS_ASSIGNED_LATENCY_MAX)
    }
    fenced = watched(1, lost)
    assert isinstance(fenced, Record)
    assert (fenced.evictions, fenced.hidden) == (len(PODS), None)


def test_lost_ids_of_java_consumers_are_evictions() -> None:
    """As the client's own counters show them."""
    assert recorded(java(java_consumers(lost=2))).evictions == 6


def test_what_consumers_with_librdkafka_lost_are_evictions() -> None:
    """They count them by themselves; nothing else is needed."""
    counts: dict[Quantity, Callable[[float], float]] = dict.fromkeys(COUNTERS.needed, lambda _: 1)
    counts |= {Quantity.HEARTBEATS: lambda s: s // 3, Quantity.LOST_FOR_SILENCE: lambda s: s // 1_200}
    found = {each: [counters.counter(pod, LONG_AGO, NOW, count) for pod in PODS] for each, count in counts.items()}
    view = seen(found, worlds.java_settings(), library="confluent-kafka-python", convention=COUNTERS)
    assert recorded(view).evictions == 3 * len(PODS)


@pytest.mark.parametrize(
    "quantity", [Quantity.FAILED_REBALANCES, Quantity.JOIN_ANSWERS], ids=lambda quantity: quantity.camel
)
def test_without_counters_evictions_are_unknown_and_not_zero(quantity: Quantity) -> None:
    """The operator asks the broker for member ids there; from outside a storm would look healthy."""
    found = java_consumers()
    found[quantity] = found[quantity][1:]  # one pod of an older release is enough
    record = from_metrics.watched(java(found)).record
    assert isinstance(record, Unknown)
    assert record.reason is Reason.NO_SERIES
    assert counters.JMX.by_quantity[quantity].names[0] in record.message
    assert decide(from_metrics.watched(java(found))).verdict is Verdict.UNKNOWN


def test_series_without_a_pod_are_unknown() -> None:
    """Members could not be told apart."""
    nobody = [Pod("", "", "", NOW, 0)]
    record = from_metrics.watched(seen(counters.quiet(nobody, LONG_AGO, NOW))).record
    assert isinstance(record, Unknown)
    assert "no label pod" in record.message


def test_nothing_read_is_unknown() -> None:
    """Never a number from nothing; what is not known by any name is told by its own."""
    bare = dataclasses.replace(counters.JMX, metrics=counters.JMX.metrics[:1], needed=())
    for found in (seen({}), java({}), seen({}, library="java", convention=bare)):
        assert decide(from_metrics.watched(found)).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (worlds.settings("30s", "3s", "5s"), ""),
        (worlds.settings("30s", "3s", "20s"), ""),  # busy: a fetch that has something to fetch does not wait
        (worlds.settings("30s", "8s", "8s"), "others are set, most likely"),
        (worlds.settings("30s", "1s", "1s"), "their handlers take long, or others are set"),
    ],
)
def test_a_beat_that_the_settings_cannot_give_is_noticed(now: LivenessSettings, why: str) -> None:
    """KafkaJS beats every 5 s here: never before H has passed, and later than idle only behind a handler."""
    found = seen(counters.quiet(PODS, LONG_AGO, NOW), now)
    assert from_metrics.otherwise(found, recorded(found)) == why


@pytest.mark.parametrize(
    ("interval", "why"), [("5s", ""), ("3s", "others are set, most likely"), ("8s", "others are set, most likely")]
)
def test_a_beat_that_no_handler_delays_is_by_other_settings(interval: str, why: str) -> None:
    """Java consumers beat from a thread of their own, here every 5 s."""
    found = java(java_consumers(), worlds.java_settings(interval=interval))
    assert from_metrics.otherwise(found, recorded(found)) == why


def test_without_beats_nothing_is_noticed() -> None:
    """In a storm none is accepted."""
    found = seen(counters.stormy(PODS, LONG_AGO, NOW))
    assert from_metrics.otherwise(found, recorded(found)) == ""


def assigned(counts: dict[int, float], *, until: datetime = NOW) -> Answers:
    """Return well Java consumers whose pods have so many partitions, by their number."""

    def gauge(number: int) -> Series:
        return counters.counter(PODS[number], LONG_AGO, until, lambda _: counts[number])

    gauges = [gauge(number) for number in counts]
    return counters.together(java_consumers(), {Quantity.ASSIGNED_PARTITIONS: gauges})


def test_members_and_partitions_are_those_that_every_pod_tells() -> None:
    """The group is at rest as far as anybody can see."""
    group = from_metrics.watched(java(assigned({0: 4, 1: 4, 2: 3}))).group
    assert (len(group.members), group.partitions, group.state) == (3, 11, GroupState.STABLE)


@pytest.mark.parametrize(
    "found",
    [
        assigned({0: 4, 1: 4}),
        assigned({0: 4, 1: 4, 2: float("nan")}),
        assigned({0: 4, 1: 4, 2: -1.0}),
        assigned({0: 4, 1: 4, 2: 4}, until=NOW - timedelta(minutes=10)),
        {},
    ],
    ids=["two of three", "not a number", "less than none", "stale", "none"],
)
def test_half_a_group_is_no_group(found: Answers) -> None:
    """It would cost half as much."""
    group = from_metrics.watched(java(found)).group
    assert (group.members, group.partitions) == ((), None)


def test_what_somebody_says_goes_before_what_was_counted() -> None:
    """Partitions are dealt out as evenly as they go."""
    view = java(assigned({0: 4, 1: 4, 2: 3}))
    group = from_metrics.watched(
        dataclasses.replace(view, stated=dataclasses.replace(view.stated, partitions=20, static=True))
    ).group
    assert [member.partitions for member in group.members] == [7, 7, 6]
    assert all(member.instance_id for member in group.members)
    group = from_metrics.unwatched(dataclasses.replace(view.stated, members=2, partitions=5), NOW).group
    assert [member.partitions for member in group.members] == [3, 2]


@pytest.mark.parametrize(
    ("members", "partitions", "state"),
    [(1, 4, GroupState.STABLE), (1, None, GroupState.UNKNOWN), (None, 4, GroupState.UNKNOWN)],
)
def test_a_group_is_at_rest_if_its_members_and_partitions_are_stated(
    members: int | None, partitions: int | None, state: GroupState
) -> None:
    """One member is a group."""
    facts = dataclasses.replace(java({}).stated, members=members, partitions=partitions)
    assert from_metrics.unwatched(facts, NOW).group.state is state


def unwatched(model: Fitted | Unfitted | None = None) -> DecisionInput:
    """Return a Java group that nobody watches, which a model knows."""
    report = java({}).stated
    return from_metrics.unwatched(
        dataclasses.replace(report, members=3, partitions=12, model=model or fitted.fitted()), NOW
    )


def test_a_model_alone_does_not_cure_a_storm() -> None:
    """Where a group rebalances all the time no formula holds: it is unknown what to set, and surely not well."""
    unstable = Answer(Verdict.UNKNOWN, Reason.UNSTABLE, "it rebalances", target=worlds.settings())
    decision = by_answer(unwatched(), unstable)
    assert (decision.verdict, decision.target) == (Verdict.UNKNOWN, None)
    assert "`heartbeat-tuner check`" in decision.advice


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (Answer(Verdict.HEALTHY, Reason.HEALTHY, "left", now=SAFE, confidence=Confidence.HIGH), Verdict.HEALTHY),
        (Answer(Verdict.CHANGE, Reason.CHEAPER, "set", target=worlds.settings()), Verdict.CHANGE),
        (Answer(Verdict.INFEASIBLE, Reason.INFEASIBLE, "collide"), Verdict.INFEASIBLE),
        (Answer(Verdict.UNKNOWN, Reason.TOO_LITTLE_DATA, "no"), Verdict.UNKNOWN),
    ],
)
def test_what_a_model_says_is_the_decision_where_nobody_watches(found: Answer, verdict: Verdict) -> None:
    """With its reason and its sentence."""
    decision = by_answer(unwatched(), found)
    assert (decision.verdict, decision.target) == (verdict, found.target)
    assert (decision.finding.reason, decision.finding.message) == (found.reason, found.message)


@pytest.mark.parametrize("rebalancing", Rebalancing)
def test_bounds_nobody_asked_for_are_those_of_the_protocol(rebalancing: Rebalancing) -> None:
    """A broker takes other sessions of classic groups than of those of the consumer protocol."""
    report = dataclasses.replace(java({}).stated, rebalancing=rebalancing)
    cluster = from_metrics.unwatched(report, NOW).cluster
    expected = ("45s", "1m") if rebalancing is Rebalancing.CONSUMER else ("6s", "30m")
    assert tuple(map(durations.show, (cluster.min_session_timeout, cluster.max_session_timeout))) == expected
    assert cluster.bounds_assumed


def test_without_a_model_that_may_be_used_nothing_is_known() -> None:
    """And the reason is told."""
    decision = decide(unwatched(Unfitted("too old")))
    assert (decision.verdict, decision.finding.message) == (Verdict.UNKNOWN, "too old")
