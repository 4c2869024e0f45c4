"""What Prometheus is told of a policy: what this pass knows, and nothing of what it does not."""

import dataclasses
from datetime import timedelta

import pytest

from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import Status
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain import exposed
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.exposed import MetricPoint
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.models.group_model import Unfitted
from heartbeat_tuner.reconcile.outcomes import Blocked, Decided, Outcome, UnexpectedFailure
from heartbeat_tuner.reconcile.status import metric_points
from tests.support import exposed as worlds_exposed
from tests.support import fitted, manifests, stages, worlds
from tests.support.exposed import points_of

MOST = 50

Told = dict[tuple[str, tuple[str, ...]], float]


def by_metric(points: tuple[MetricPoint, ...]) -> Told:
    """Return points by the names of their families, without the prefix, and their labels."""
    found = {(point.family.name, point.labels): point.number for point in points}
    assert len(found) == len(points)  # a series twice is one that Prometheus drops
    return found


def values_of(outcome: Outcome) -> Told:
    """Return what is told of an outcome."""
    return by_metric(points_of(outcome))


def names(found: Told) -> set[str]:
    """Return which families have points."""
    return {name for name, _ in found}


def test_values_set_and_recommended_are_told_in_seconds() -> None:
    """By the same names, so that one query shows both; what the client does not know is not there."""
    found = values_of(worlds_exposed.cheaper())
    assert found["session_timeout_seconds", ("set",)] == 45.0
    assert 0 < found["session_timeout_seconds", ("recommended",)] < 30.0
    assert found["heartbeat_interval_seconds", ("set",)] == 3.0
    assert found["fetch_wait_seconds", ("set",)] == 0.5
    assert found["max_poll_interval_seconds", ("set",)] == 300.0
    kafkajs = values_of(worlds_exposed.cured())
    assert kafkajs["session_timeout_seconds", ("recommended",)] == 30.0
    assert "max_poll_interval_seconds" not in names(kafkajs)


def test_what_is_expected_is_told_a_day() -> None:
    """Of the values set and of those recommended, beside what the objective allows."""
    outcome = worlds_exposed.cheaper()
    found, forecast = values_of(outcome), outcome.decision.forecast
    assert forecast is not None
    assert forecast.new is not None
    for values, of_them in (("set", forecast.now), ("recommended", forecast.new)):
        labels = (values,)
        assert found["expected_evictions_per_day", labels] == pytest.approx(of_them.evictions_per_month / 30)
        assert found["expected_evictions_upper_per_day", labels] == pytest.approx(of_them.evictions_upper / 30)
        assert found["expected_stalled_partition_seconds_per_day", labels] == of_them.net_per_day
        assert found["expected_detection_seconds", labels] == of_them.detection_s
    assert found["allowed_evictions_per_day", ()] == pytest.approx(1 / 30)


def test_the_record_is_told_as_far_as_it_goes() -> None:
    """With the time that it covers."""
    found = values_of(worlds_exposed.cheaper())
    assert found["record_seconds", ()] == 3600.0
    assert found["record_end_timestamp_seconds", ()] == worlds.NOW.timestamp()
    assert found["record_rebalances", ()] == 2.0
    assert found["record_rebalancing_ratio", ()] == 0.01
    assert found["record_evictions", ()] == 0.0
    assert found["record_longest_silence_seconds", ()] == 9.0
    assert found["record_poll_gap_evictions", ()] == 1.0
    assert found["record_longest_poll_gap_seconds", ()] == 4.0
    assert found["record_beat_period_seconds", ()] == 3.0
    assert found["unobserved_pods", ()] == 0.0
    brief = values_of(worlds_exposed.cured())
    assert brief["record_evictions", ()] > 0
    assert not {"record_beat_period_seconds", "record_longest_silence_seconds"} & names(brief)


def test_the_tail_behind_the_values_is_told() -> None:
    """What one of a million delays exceeds, its bound, the largest one seen, and how old all that is."""
    found, tail = values_of(worlds_exposed.cheaper()), fitted.tail()
    assert found["delay_seconds", ("absence", "likely")] == tail.quantile_s(1e-6)
    assert found["delay_seconds", ("absence", "upper")] == tail.quantile_upper_s(1e-6)
    assert found["delay_seconds", ("absence", "upper")] > found["delay_seconds", ("absence", "likely")]
    assert found["largest_delay_seconds", ("pollGap",)] == 4.0
    assert found["model_used", ()] == 1.0
    assert found["model_end_timestamp_seconds", ()] == worlds.NOW.replace(hour=0).timestamp()
    assert found["model_fitted_timestamp_seconds", ()] == fitted.model().fitted_at.timestamp()


def test_a_tail_that_begins_beyond_a_millionth_has_no_such_delay() -> None:
    """Nor has a quantity that no law fits, or that the model does not have."""
    situation = worlds_exposed.cheaper().inputs
    unfit = fitted.quantity(values=0, group_days=0.0, largest_s=None)
    rare = fitted.quantity(tail=fitted.tail(share=1e-7))
    for quantities in ({"absence": rare}, {"pollGap": unfit}, {}):
        seen = dataclasses.replace(situation, model=fitted.fitted(client="java", quantities=quantities))
        assert "delay_seconds" not in names(values_of(Decided(seen, decide(situation))))


def test_a_model_that_is_too_old_still_says_how_old() -> None:
    """It is not used, and its age is what somebody should be told."""
    last = fitted.UNTIL - timedelta(days=20)
    situation = dataclasses.replace(worlds.situation(), model=Unfitted("too old", last))
    found = values_of(Decided(situation, decide(situation)))
    assert found["model_used", ()] == 0.0
    assert found["model_end_timestamp_seconds", ()] == (worlds.NOW.replace(hour=0) - timedelta(days=20)).timestamp()
    assert not {"delay_seconds", "expected_evictions_per_day", "model_fitted_timestamp_seconds"} & names(found)
    none = worlds.situation()
    assert "model_end_timestamp_seconds" not in names(values_of(Decided(none, decide(none))))


def test_what_holds_a_recommendation_back_is_told_until_it_is_written() -> None:
    """A refusal of the write is told in its place."""
    assert values_of(worlds_exposed.cheaper())["blocked", ("RecommendMode",)] == 1.0
    cured = worlds_exposed.cured()
    written = values_of(cured)
    assert "blocked" not in names(written)
    assert written["last_applied_timestamp_seconds", ()] == worlds.NOW.timestamp()
    refused = dataclasses.replace(cured, application=None, failure=Finding(Reason.FIELD_OWNED, "argo owns it"))
    assert values_of(refused)["blocked", ("FieldOwned",)] == 1.0
    assert "last_applied_timestamp_seconds" not in names(values_of(refused))


def test_the_moments_of_the_last_change_are_told() -> None:
    """When it was written, when it landed, and that it took one back; nothing of the change before it."""
    outcome = worlds_exposed.reverted()
    found, last = values_of(outcome), outcome.last_application
    assert last is not None
    assert found["last_applied_timestamp_seconds", ()] == last.at.timestamp()
    assert found["last_reverted_timestamp_seconds", ()] == last.at.timestamp()
    assert found["last_landed_timestamp_seconds", ()] == last.at.timestamp() + 180.0
    newer = dataclasses.replace(last, at=worlds.NOW, reverts=None)
    written = values_of(dataclasses.replace(outcome, application=newer))
    assert written["last_applied_timestamp_seconds", ()] == worlds.NOW.timestamp()
    assert not {"last_landed_timestamp_seconds", "last_reverted_timestamp_seconds"} & names(written)


def test_verdict_reason_and_conditions_are_those_of_the_status() -> None:
    """One series each: a state that changes leaves the one before."""
    found = values_of(worlds_exposed.cheaper())
    assert found["decision", ("Change", "Cheaper")] == 1.0
    assert found["condition", ("Recommended", "True", "Cheaper")] == 1.0
    assert found["condition", ("Applied", "False", "RecommendMode")] == 1.0
    assert sum(name == "decision" for name, _ in found) == 1
    assert found["info", ("orders", "main", "Deployment", "orders-consumer", "app", "java", "Recommend")] == 1.0


def test_what_is_unknown_has_no_point() -> None:
    """Neither the record of a group that was not read, nor the values of pods that differ; never a 0."""
    down = Unknown(Reason.PROMETHEUS_UNREACHABLE, "Prometheus did not answer")
    situation = worlds.situation(seen=down, has=worlds.workload(mixed=True, rolling_out=True))
    found = values_of(Decided(situation, decide(situation)))
    assert not {name for name in names(found) if name.startswith(("record", "expected", "unobserved", "delay"))}
    assert not {exposed.SESSION_TIMEOUT.name, exposed.HEARTBEAT_INTERVAL.name} & names(found)
    assert found["condition", ("MetricsAvailable", "False", "PrometheusUnreachable")] == 1.0


def test_a_number_that_is_none_is_left_out() -> None:
    """Arithmetic may end so; a query would show it as a value."""
    seen = dataclasses.replace(worlds.record(), rebalances=float("nan"))
    outcome = worlds_exposed.cheaper()
    outcome = dataclasses.replace(outcome, inputs=dataclasses.replace(outcome.inputs, record=seen))
    assert "record_evictions" in names(values_of(outcome))
    assert "record_rebalances" not in names(values_of(outcome))


def test_a_policy_that_cannot_be_read_has_its_reason() -> None:
    """And nothing that would have to be guessed."""
    found = values_of(Blocked(Finding(Reason.INVALID_POLICY, "spec.x: must be y")))
    assert found == {
        ("decision", ("Unknown", "InvalidPolicy")): 1.0,
        ("condition", ("Ready", "False", "InvalidPolicy")): 1.0,
    }


def test_a_surprise_says_what_the_policy_asks_for() -> None:
    """Its status says the rest."""
    points = metric_points.points(worlds.policy(), UnexpectedFailure(ValueError("x")), Status())
    assert {point.family for point in points} == {exposed.INFO, exposed.ALLOWED_EVICTIONS}


def test_series_are_bounded_and_fit_their_families() -> None:
    """Whatever happens to a group, as the reference says."""
    everything: set[exposed.Family] = set()
    cheaper, reverted = worlds_exposed.cheaper(), worlds_exposed.reverted()
    policy = dataclasses.replace(cheaper.inputs.policy, application=reverted.last_application)
    inputs = dataclasses.replace(cheaper.inputs, policy=policy, followed=reverted.inputs.followed)
    full = dataclasses.replace(cheaper, inputs=inputs)
    assert len(points_of(full)) == MOST
    for outcome in (full, worlds_exposed.cured(), reverted):
        points = points_of(outcome)
        assert len(points) <= MOST
        assert all(len(point.labels) == len(point.family.labels) for point in points)
        everything |= {point.family for point in points}
    assert everything == {family for family in exposed.FAMILIES if family.prefix == exposed.PREFIX}


async def test_a_pass_tells_of_every_policy_that_is_there() -> None:
    """One that cannot be read among them; one that is deleted is not told of any more."""
    broken = manifests.policy("broken", spec={"rollout": {"windows": [{"schedule": "x"}]}})
    stage = stages.Stage([manifests.policy(), broken])
    report = await stage.cycle()
    assert report.points.keys() == {stages.ORDERS, ObjectKey("shop", "broken")}
    found = by_metric(tuple(report.points[stages.ORDERS]))
    assert found["session_timeout_seconds", ("set",)] == 1.0
    assert found["session_timeout_seconds", ("recommended",)] == 30.0
    assert names(by_metric(tuple(report.points[ObjectKey("shop", "broken")]))) == {"decision", "condition"}
    stage.policies.delete_from_watch(stages.ORDERS)
    report = await stage.cycle()
    assert report.points.keys() == {ObjectKey("shop", "broken")}
