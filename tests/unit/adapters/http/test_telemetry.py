"""What the operator tells about itself."""

import operator
from typing import Final

import aiohttp
import prometheus_client
from prometheus_client.parser import text_string_to_metric_families

from heartbeat_tuner.adapters.http.telemetry import Telemetry
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.verdicts import Verdict
from sandbox.network import LOOPBACK, free_ports
from tests.support import exposed

HEALTHY: Final = {"verdict": "Healthy"}


def test_what_was_asked_of_prometheus_adds_up() -> None:
    """Counters: a rate of them says what the operator costs Prometheus."""
    telemetry = Telemetry()
    for requests, samples in ((7, 600), (20, 0)):
        telemetry.prometheus_read(requests=requests, samples=samples)
    assert telemetry.registry.get_sample_value("heartbeat_tuner_prometheus_requests_total") == 27
    assert telemetry.registry.get_sample_value("heartbeat_tuner_prometheus_samples_total") == 600


def test_how_old_the_oldest_look_at_a_group_is_ends_with_the_leadership() -> None:
    """A follower looks at none."""
    telemetry = Telemetry()
    telemetry.cycle_finished(verdicts={}, writes={}, points={}, duration_s=1.0, overrun_s=0.0, oldest_look_s=61.5)
    assert telemetry.registry.get_sample_value("heartbeat_tuner_kafka_group_age_seconds") == 61.5
    telemetry.leadership_ended()
    assert telemetry.registry.get_sample_value("heartbeat_tuner_kafka_group_age_seconds") == 0


def test_a_stop_shows_while_a_shard_that_is_led_sees_it() -> None:
    """Whichever that is."""
    telemetry = Telemetry()
    for shard, fleet_stopped in enumerate((True, False)):
        telemetry.cycle_finished(
            shard=shard, verdicts={}, writes={}, points={}, duration_s=1.0, overrun_s=0.0, fleet_stopped=fleet_stopped
        )
    assert telemetry.registry.get_sample_value("heartbeat_tuner_fleet_stopped") == 1
    telemetry.leadership_ended(0)
    assert telemetry.registry.get_sample_value("heartbeat_tuner_fleet_stopped") == 0


async def test_policies_of_several_shards_are_counted_once_and_while_they_are_led() -> None:
    """A replica may lead two: a sum over all replicas counts each policy once, whoever led it before."""
    telemetry, value = Telemetry(), operator.methodcaller("get_sample_value", "heartbeat_tuner_policies", HEALTHY)
    for shard, (name, overrun_s) in enumerate((("a", 0.0), ("b", 7.0))):
        for _ in range(2):  # the second pass takes the place of the first
            telemetry.cycle_finished(
                shard=shard,
                verdicts={Verdict.HEALTHY: 3 + shard},
                writes={"status": 1},
                points={ObjectKey("shop", name): exposed.points_of(exposed.cheaper())},
                duration_s=0.1,
                overrun_s=overrun_s,
            )
    assert (value(telemetry.registry), _named(telemetry)) == (7, {"a", "b"})
    assert telemetry.registry.get_sample_value("heartbeat_tuner_cycle_overrun_seconds") == 7
    assert telemetry.registry.get_sample_value("heartbeat_tuner_writes_total", {"target": "status"}) == 4
    telemetry.leadership_ended(1)
    assert (value(telemetry.registry), _named(telemetry)) == (3, {"a"})
    assert telemetry.registry.get_sample_value("heartbeat_tuner_cycle_overrun_seconds") == 0
    telemetry.leadership_ended(0)
    assert (value(telemetry.registry), _named(telemetry)) == (0, set())


async def test_an_early_look_is_no_pass() -> None:
    """Its writes count; what the last pass over all found of policies stays."""
    telemetry, value = Telemetry(), operator.methodcaller("get_sample_value", "heartbeat_tuner_policies", HEALTHY)
    points = {ObjectKey("shop", "a"): exposed.points_of(exposed.cheaper())}
    telemetry.cycle_finished(
        verdicts={Verdict.HEALTHY: 3}, writes={"status": 1}, points=points, duration_s=1.0, overrun_s=0.0
    )
    telemetry.looked_early(writes={"status": 2, "workload": 1}, duration_s=0.2)
    assert (value(telemetry.registry), _named(telemetry)) == (3, {"a"})
    counted = {
        name: telemetry.registry.get_sample_value(f"heartbeat_tuner_{name}")
        for name in ("cycle_duration_seconds_count", "early_look_duration_seconds_sum")
    }
    assert counted == {"cycle_duration_seconds_count": 1, "early_look_duration_seconds_sum": 0.2}
    assert telemetry.registry.get_sample_value("heartbeat_tuner_writes_total", {"target": "status"}) == 3
    assert telemetry.registry.get_sample_value("heartbeat_tuner_writes_total", {"target": "workload"}) == 1


def _named(telemetry: Telemetry) -> set[str]:
    """Return the policies that have series."""
    samples = [sample for family in telemetry.registry.collect() for sample in family.samples]
    return {sample.labels["policy"] for sample in samples if "policy" in sample.labels}


async def test_the_page_is_what_the_client_writes() -> None:
    """Though policies' metrics are written without it, come first, and are kept compressed."""
    telemetry, (port, probe_port) = exposed.telemetry(), free_ports(2)
    await telemetry.serve(LOOPBACK, port, probe_port=probe_port, led=lambda: 2, shards=3, unhealthy=str, unready=str)
    try:
        async with aiohttp.ClientSession() as session, session.get(f"http://{LOOPBACK}:{port}/metrics") as answer:
            body, kind = await answer.read(), answer.headers["Content-Type"]
    finally:
        await telemetry.close()
    expected = prometheus_client.generate_latest(telemetry.registry).decode()
    shown, wanted = (list(text_string_to_metric_families(text)) for text in (body.decode(), expected))
    assert sorted(shown, key=lambda family: family.name) == sorted(wanted, key=lambda family: family.name)
    assert kind == prometheus_client.CONTENT_TYPE_LATEST
    assert b"\nheartbeat_tuner_leader 2.0\n" in body
    assert b"\nheartbeat_tuner_shards 3.0\n" in body
    assert b'heartbeat_tuner_policy_session_timeout_seconds{namespace="shop",policy="a",values="set"} 45.0' in body


def test_namespaces_that_are_left_are_counted_while_their_shard_is_led() -> None:
    """A new leader counts them itself: a sum over replicas counts each once."""
    telemetry = Telemetry()

    def left(why: str) -> float | None:
        return telemetry.registry.get_sample_value("heartbeat_tuner_namespaces_left", {"why": why})

    for shard, counts in enumerate(({"First": 2, "Named": 0}, {"First": 1, "Named": 4})):
        telemetry.left_to_others(counts, shard=shard)
    assert (left("First"), left("Named")) == (3, 4)
    telemetry.leadership_ended(1)
    assert (left("First"), left("Named")) == (2, 0)
    telemetry.left_to_others({"First": 0, "Named": 0})
    assert (left("First"), left("Named")) == (0, 0)
