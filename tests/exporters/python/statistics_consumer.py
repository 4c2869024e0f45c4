"""confluent-kafka for Python with librdkafka's statistics, exported under the names that STATISTICS_NAMES says."""

import json
import os

from tests.exporters.python.exposition import Exposition, serve
from tests.exporters.python.member import consume
from tests.exporters.python.statistics_names import NAMES


def main() -> None:
    """Consume until told to end."""
    exposition, export = Exposition(), NAMES[os.environ["STATISTICS_NAMES"]]
    serve(exposition, os.environ["POD_IP"], int(os.environ["METRICS_PORT"]))
    consume(lambda text: export(exposition, json.loads(text)))


main()
