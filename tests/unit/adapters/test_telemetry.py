"""What the operator tells about itself."""

from heartbeat_tuner.adapters.telemetry import Telemetry


def test_what_was_asked_of_prometheus_adds_up() -> None:
    """Counters: a rate of them says what the operator costs Prometheus."""
    telemetry = Telemetry()
    for requests, samples in ((7, 600), (20, 0)):
        telemetry.prometheus_read(requests=requests, samples=samples)
    assert telemetry.registry.get_sample_value("heartbeat_tuner_prometheus_requests_total") == 27
    assert telemetry.registry.get_sample_value("heartbeat_tuner_prometheus_samples_total") == 600
