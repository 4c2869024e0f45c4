"""What a scrape shows of policies, whatever they and their groups are called."""

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from heartbeat_tuner.adapters.http.policy_series import PolicySeries
from heartbeat_tuner.adapters.http.telemetry import Telemetry
from heartbeat_tuner.domain import exposed
from heartbeat_tuner.domain.exposed import MetricPoint
from heartbeat_tuner.domain.policies import ObjectKey

pytestmark = pytest.mark.no_cover  # writes a page for each number

SET = MetricPoint(exposed.SESSION_TIMEOUT, ("set",), 1.5)


def show(telemetry: Telemetry, *keys: ObjectKey) -> None:
    """Let a pass have found policies with one value each."""
    telemetry.cycle_finished(verdicts={}, writes={}, points=dict.fromkeys(keys, (SET,)), duration_s=0.1, overrun_s=0.0)


def policies(telemetry: Telemetry) -> set[str]:
    """Return of which policies a scrape tells."""
    families = text_string_to_metric_families(generate_latest(telemetry.registry).decode())
    return {
        sample.labels["policy"]
        for family in families
        if family.name.startswith(exposed.PREFIX)
        for sample in family.samples
    }


def test_a_policy_that_is_deleted_leaves_nothing() -> None:
    """Nor does one that another replica looks after now."""
    telemetry = Telemetry()
    show(telemetry, ObjectKey("shop", "orders"), ObjectKey("shop", "payments"))
    assert policies(telemetry) == {"orders", "payments"}
    show(telemetry, ObjectKey("shop", "payments"))
    assert policies(telemetry) == {"payments"}
    telemetry.leadership_ended()
    assert policies(telemetry) == set()


@pytest.mark.parametrize(
    ("group", "shown"),
    [
        ('a"b', 'a"b'),
        ("a\\b", "a\\b"),
        ("a\nb", "a\nb"),
        ('"} 1\nup{x="', '"} 1\nup{x="'),
        ("заказы 🛒", "заказы 🛒"),
        ("a\ud800b", "a?b"),
        ("x" * 255, "x" * 255),
    ],
)
def test_no_name_breaks_a_scrape(group: str, shown: str) -> None:
    """Kafka takes nearly any text for a group's id."""
    info = MetricPoint(exposed.INFO, (group, "main", "Deployment", "orders", "app", "java", "Apply"), 1.0)
    series = PolicySeries()
    series.points = {ObjectKey("shop", "orders"): (info, SET)}
    text = b"".join(series.texts())
    found = {
        metric_family.name: metric_family.samples for metric_family in text_string_to_metric_families(text.decode())
    }
    (sample,) = found["heartbeat_tuner_policy_info"]
    assert sample.labels["group"] == shown
    assert "up" not in found
    (value,) = found["heartbeat_tuner_policy_session_timeout_seconds"]
    assert (value.labels, value.value) == ({"namespace": "shop", "policy": "orders", "values": "set"}, 1.5)


@pytest.mark.parametrize("number", [0.0, 1.0, 1e-9, 123456.5, 999_999.0, 1e6, 1_772_452_800.0, 1e22, -3.5])
def test_numbers_are_written_as_they_are(number: float) -> None:
    """Of more policies than are written at a time."""
    series = PolicySeries()
    point = MetricPoint(exposed.DELAY, ("absence", "upper"), number)
    series.points = {ObjectKey("shop", f"orders-{index}"): (point, SET) for index in range(2_500)}
    written, expected = (
        list(text_string_to_metric_families(text.decode()))
        for text in (b"".join(series.texts()), generate_latest(series))
    )
    assert written == expected
    assert {sample.value for family in written for sample in family.samples} == {number, 1.5}
