"""Three brokers that are one cluster: leaders are where a test wants them, groups are coordinated by the first."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from sandbox.kafka_cluster import BROKERS, COORDINATOR, KafkaCluster

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Run the brokers."""
    with KafkaCluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


def test_partitions_are_led_where_they_were_placed(cluster: KafkaCluster) -> None:
    """Also when all are on one broker, and it is not the coordinator."""
    cluster.create_topic("spread", (3, 1, 2))
    cluster.create_topic("apart", (2, 2))
    seen = AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(timeout=10)
    assert set(seen.brokers) == set(BROKERS)
    assert [seen.topics["spread"].partitions[number].leader for number in range(3)] == [3, 1, 2]
    assert [seen.topics["apart"].partitions[number].leader for number in range(2)] == [2, 2]


def test_the_first_broker_coordinates_every_group(cluster: KafkaCluster) -> None:
    """Its request log is the one that has the heartbeats."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    offsets = admin.list_topics("__consumer_offsets", timeout=10).topics["__consumer_offsets"]
    assert [partition.leader for partition in offsets.partitions.values()] == [COORDINATOR]
