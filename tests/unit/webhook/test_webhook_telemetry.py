"""What a replica tells of itself."""

import aiohttp

from heartbeat_tuner.webhook.admission.review_outcomes import ReviewOutcome
from heartbeat_tuner.webhook.webhook_telemetry import WebhookTelemetry
from sandbox.network import LOOPBACK, free_ports


async def test_pages_tell_counts_and_whether_it_may_be_asked() -> None:
    """Outcomes that never came are counted, too: as none."""
    port, probe_port = free_ports(2)
    telemetry, wrong = WebhookTelemetry(), "no certificate"
    telemetry.watch_gates(lambda: 3)
    telemetry.answered(ReviewOutcome.CLAIMED, duration_s=0.01)
    await telemetry.serve(LOOPBACK, port, probe_port=probe_port, unhealthy=lambda: "", unready=lambda: wrong)
    async with aiohttp.ClientSession(f"http://{LOOPBACK}:{port}") as session:
        async with session.get("/metrics") as answer:
            lines = (await answer.text()).splitlines()
        async with session.get("/healthz") as answer:
            assert answer.status == 404
    async with aiohttp.ClientSession(f"http://{LOOPBACK}:{probe_port}") as session:
        async with session.get("/healthz") as answer:
            assert (answer.status, await answer.text()) == (200, "ok\n")
        async with session.get("/readyz") as answer:
            assert (answer.status, await answer.text()) == (503, "no certificate\n")
    await telemetry.close()
    reviews = [line for line in lines if line.startswith("heartbeat_tuner_admission_reviews_total")]
    assert len(reviews) == len(ReviewOutcome)
    assert 'heartbeat_tuner_admission_reviews_total{outcome="claimed"} 1.0' in reviews
    assert "heartbeat_tuner_gated_pods 3.0" in lines
