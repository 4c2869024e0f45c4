"""What the cards predict of the laboratory's experiments."""

import dataclasses
from datetime import timedelta

import pytest

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain.liveness import Setting
from tests.lab import experiments
from tests.lab.experiments import Wire


@pytest.mark.parametrize(
    ("client", "name", "low_s", "high_s"),
    [
        ("kafkajs", "answers take 1.5 s, H 1 s", 6.47, 6.79),
        ("java", "answers take 1.5 s, H 1 s", 0.97, 1.174),
        ("java", "the connection is cut for 2 s", 14, None),
        ("kafkajs", "the connection is cut for 2 s", 14, None),
        ("kafkajs", "the connection is cut for 2 s, S 6 s, W 5 s", 6.97, 10.5),
        ("kafkajs", "the connection is cut for 2 s, S 20 s, W 5 s", 24, None),
        ("kafkajs", "three brokers, a partition on each", 2.97, 8.35),
        ("kafkajs", "three brokers, a handler hangs, partitions on one of them", 25, None),
        ("kafkajs", "three brokers, a handler hangs, a partition on each", 4.97, 10.7),
    ],
)
def test_what_a_card_predicts(client: str, name: str, low_s: float, high_s: float | None) -> None:
    """Placement decides of KafkaJS whether a hung handler is noticed, W what a cut costs; slow answers delay it."""
    card = catalogue.client(client)
    experiment = next(item for item in experiments.of(card) if item.name == name)
    found = experiments.expect(experiment, card)
    assert found.low_s == pytest.approx(low_s)
    assert found.high_s == (None if high_s is None else pytest.approx(high_s))


def test_no_experiment_lies_where_the_outcome_is_a_matter_of_luck() -> None:
    """A cut of 2 s at S 10 s and W 5 s ends a KafkaJS member or does not, by when its last beat was."""
    cut = next(item for item in experiments.COMMON if item.wire is Wire.CUT)
    unlucky = dataclasses.replace(cut, settings={**cut.settings, Setting.FETCH_WAIT: timedelta(seconds=5)})
    with pytest.raises(ValueError, match="depends on when its last beat was"):
        experiments.expect(unlucky, catalogue.client("kafkajs"))
    assert experiments.expect(unlucky, catalogue.client("java")).high_s is None


@pytest.mark.parametrize("client", catalogue.CLIENTS)
def test_every_experiment_has_an_expectation(client: str) -> None:
    """Each of a library's experiments can be judged."""
    card = catalogue.client(client)
    for item in experiments.of(card):
        expected = experiments.expect(item, item.card(client))
        assert expected.high_s is None or expected.low_s < expected.high_s
