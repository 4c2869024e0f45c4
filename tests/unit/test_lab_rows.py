"""Each library of the catalogue has its place in the laboratory."""

from pathlib import Path
from typing import Final

import pytest

from heartbeat_tuner.clients import catalogue
from tests.lab import experiments, rows

CONSUMERS: Final = Path(rows.__file__).parent / "consumers"
MAVEN: Final = "<artifactId>{}</artifactId>\n      <version>{}</version>"
NPM: Final = '"{}": "{}"'
PINS: Final = {
    "java": ("java/pom.xml", MAVEN, "kafka-clients"),
    "java-kip848": ("java/pom.xml", MAVEN, "kafka-clients"),
    "spring": ("java/pom.xml", MAVEN, "spring-kafka"),
    "share": ("java/pom.xml", MAVEN, "kafka-clients"),
    "streams-kip1071": ("streams-and-connect/pom.xml", MAVEN, "kafka-streams"),
    "streams": ("streams-and-connect/pom.xml", MAVEN, "kafka-streams"),
    "connect": ("streams-and-connect/pom.xml", MAVEN, "connect-runtime"),
    "kafka-node": ("kafka-node/package.json", NPM, "kafka-node"),
    "kafkajs": ("kafkajs/package.json", NPM, "kafkajs"),
    "platformatic": ("platformatic/package.json", NPM, "@platformatic/kafka"),
    "node-rdkafka": ("node-rdkafka/package.json", NPM, "node-rdkafka"),
    "confluent-kafka-javascript": ("confluent-kafka-javascript/package.json", NPM, "@confluentinc/kafka-javascript"),
    "confluent-kafka-python": ("python/requirements.lock", "\n{}=={} ", "confluent-kafka"),
    "confluent-kafka-python-kip848": ("python/requirements.lock", "\n{}=={} ", "confluent-kafka"),
    "kafka-python": ("python/requirements.lock", "\n{}=={} ", "kafka-python"),
    "aiokafka": ("python/requirements.lock", "{}=={} ", "aiokafka"),
    "confluent-kafka-go": ("go-confluent/go.mod", "{} v{}\n", "github.com/confluentinc/confluent-kafka-go/v2"),
    "rust-rdkafka": ("rust/Cargo.toml", '\n{} = {{ version = "={}"', "rdkafka"),
    "sarama": ("go/go.mod", "{} v{}\n", "github.com/IBM/sarama"),
    "franz-go": ("go/go.mod", "{} v{}\n", "github.com/twmb/franz-go"),
    "kafka-go": ("go/go.mod", "{} v{}\n", "github.com/segmentio/kafka-go"),
}
"""What is installed for each client: where that is written, how, and its name there."""


MEASURED: Final = [name for name, card in catalogue.CLIENTS.items() if card.measured is not None]


def test_each_client_of_the_catalogue_has_a_row() -> None:
    """A card that nobody proves is folklore; one that says so itself is confluent-kafka-dotnet's."""
    assert {row.client for row in rows.ROWS} == set(MEASURED)
    assert set(catalogue.CLIENTS) - set(MEASURED) == {"confluent-kafka-dotnet"}


@pytest.mark.parametrize("name", MEASURED)
def test_each_client_is_tried_idle_and_at_its_end(name: str) -> None:
    """The beat, and what kills, pauses and closes cost; no two experiments have one name."""
    names = [item.name for item in experiments.of(catalogue.client(name))]
    assert {"idle, defaults", "idle, H 1 s", "SIGKILL", "SIGSTOP", "closed"} <= set(names)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", MEASURED)
def test_what_a_card_calls_measured_is_what_is_installed(name: str) -> None:
    """A card does not claim a version that the laboratory has not had in its hands."""
    file, line, package = PINS[name]
    assert line.format(package, catalogue.client(name).measured) in (CONSUMERS / file).read_text()
