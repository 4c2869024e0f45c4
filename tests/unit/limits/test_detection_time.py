"""How late a crash may be noticed where nobody says it."""

from datetime import timedelta

import pytest

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.limits import detection_time


@pytest.mark.parametrize(("library", "seconds"), [("java", 60), ("kafkajs", 300), ("confluent-kafka-python", 60)])
def test_who_beats_between_handlers_has_as_long_as_a_handler_may_take(library: str, seconds: int) -> None:
    """And no other library: a thread beats while a handler runs."""
    assert detection_time.usual(catalogue.client(library)) == timedelta(seconds=seconds)
