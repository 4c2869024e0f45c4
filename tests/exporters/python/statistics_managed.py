"""confluent-kafka for Python with statistics that prometheus-kafka-metrics, which is no stand-in, exports."""

import os

from prometheus_client import start_http_server
from prometheus_kafka_consumer.metrics_manager import ConsumerMetricsManager  # type: ignore[import-not-found]  # not in the venv

from tests.exporters.python.member import consume


def main() -> None:
    """Consume until told to end."""
    start_http_server(int(os.environ["METRICS_PORT"]), os.environ["POD_IP"])
    consume(ConsumerMetricsManager().send)


main()
