"""What the operator tells about itself."""

import aiohttp
import prometheus_client
from prometheus_client.parser import text_string_to_metric_families

from heartbeat_tuner.adapters.telemetry import Telemetry
from sandbox.network import LOOPBACK, free_ports
from tests.support import exposed


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
    telemetry.groups_read(oldest_s=61.5)
    assert telemetry.registry.get_sample_value("heartbeat_tuner_kafka_group_age_seconds") == 61.5
    telemetry.leadership_ended()
    assert telemetry.registry.get_sample_value("heartbeat_tuner_kafka_group_age_seconds") == 0


async def test_the_page_is_what_the_client_writes() -> None:
    """Though policies' metrics are written without it, come first, and are kept compressed."""
    telemetry, (port, probe_port) = exposed.telemetry(), free_ports(2)
    await telemetry.serve(LOOPBACK, port, probe_port=probe_port, leads=lambda: True, unhealthy=str, unready=str)
    try:
        async with aiohttp.ClientSession() as session, session.get(f"http://{LOOPBACK}:{port}/metrics") as answer:
            body, kind = await answer.read(), answer.headers["Content-Type"]
    finally:
        await telemetry.close()
    expected = prometheus_client.generate_latest(telemetry.registry).decode()
    shown, wanted = (list(text_string_to_metric_families(text)) for text in (body.decode(), expected))
    assert sorted(shown, key=lambda one: one.name) == sorted(wanted, key=lambda one: one.name)
    assert kind == prometheus_client.CONTENT_TYPE_LATEST
    assert b'heartbeat_tuner_policy_session_timeout_seconds{namespace="shop",policy="a",values="set"} 45.0' in body
