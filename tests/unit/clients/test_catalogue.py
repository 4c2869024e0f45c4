"""Libraries by name."""

import pytest

from heartbeat_tuner.clients import catalogue, kafkajs


def test_known_library_is_found() -> None:
    """A policy's name leads to the card."""
    assert catalogue.client("kafkajs") is kafkajs.CLIENT


def test_unknown_library_is_refused_with_the_known_ones() -> None:
    """Who mistyped sees what may be written."""
    with pytest.raises(ValueError, match="'kafkaj' is unknown; known are java, kafkajs"):
        catalogue.client("kafkaj")
