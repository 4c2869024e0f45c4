"""What the cards predict of the laboratory's experiments."""

import pytest

from heartbeat_tuner.clients import catalogue
from tests.lab import experiments


@pytest.mark.parametrize(
    ("client", "name", "low_s", "high_s"),
    [
        ("kafkajs", "answers take 1.5 s, H 1 s", 6.47, 6.79),
        ("java", "answers take 1.5 s, H 1 s", 0.97, 1.174),
        ("java", "the connection is cut for 2 s", 14, None),
        ("kafkajs", "three brokers, a partition on each", 2.97, 8.35),
        ("kafkajs", "three brokers, a handler hangs, partitions on one of them", 25, None),
        ("kafkajs", "three brokers, a handler hangs, a partition on each", 4.97, 10.7),
    ],
)
def test_what_a_card_predicts(client: str, name: str, low_s: float, high_s: float | None) -> None:
    """Placement decides of KafkaJS whether a hung handler is noticed; slow answers delay it, and not Java."""
    card = catalogue.client(client)
    experiment = next(one for one in experiments.of(card) if one.name == name)
    found = experiments.expect(experiment, card)
    assert found.low_s == pytest.approx(low_s)
    assert found.high_s == (None if high_s is None else pytest.approx(high_s))
