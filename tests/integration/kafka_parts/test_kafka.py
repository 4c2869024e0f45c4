import subprocess
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from sandbox import kafka as brokers
from sandbox.errors import SandboxError
from sandbox.kafka import OLD_VERSION, VERSION, Kafka
from sandbox.producer import Trickle
from sandbox.request_log import JoinGroup, RequestLog

pytestmark = pytest.mark.timeout(300)


def test_a_restarted_broker_has_its_port_and_its_data(tmp_path: Path) -> None:
    """A broker that is stopped in mid-run comes back as the same one."""
    with Kafka(tmp_path) as kafka:
        bootstrap = kafka.bootstrap
        kafka.create_topic("orders", 3)
        producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
        producer.produce("orders", "before", partition=1)
        assert producer.flush(30) == 0
        kafka.stop()
        kafka.start()
        assert kafka.bootstrap == bootstrap
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "readers",
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )
        consumer.subscribe(["orders"])
        message = consumer.poll(60)
        assert message is not None
        assert message.value() == b"before"
        consumer.close()


def test_java_maps_the_archive_of_a_brokers_classes() -> None:
    """Where it does not, brokers start as well, and only the time that they take would show it."""
    brokers.class_archive()
    java = ["java", "-XX:+UseSerialGC", *brokers.mapped_classes(VERSION), "-Xshare:on", "-Xlog:class+load"]
    tool = ["-cp", f"{brokers.jars()}/*", "kafka.tools.StorageTool", "--help"]
    loaded = subprocess.run([*java, *tool], check=True, capture_output=True, text=True).stdout
    assert loaded.count("source: shared objects file (top)") > 1_000


def test_properties_win_over_the_defaults(tmp_path: Path) -> None:
    """A test may ask for another broker than the nervous one."""
    with Kafka(tmp_path, properties={"num.partitions": "7", "auto.create.topics.enable": "true"}) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        producer.produce("appears", "first")
        assert producer.flush(30) == 0
        assert len(admin.list_topics("appears", timeout=10).topics["appears"].partitions) == 7


def test_the_older_release_writes_the_same_request_log(tmp_path: Path) -> None:
    """Clients that Kafka 4 refuses are measured as the others are."""
    with Kafka(tmp_path, version=OLD_VERSION) as kafka:
        kafka.create_topic("old")
        consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "readers", "log_level": 0})
        consumer.subscribe(["old"])
        log = RequestLog(kafka.request_log)
        began = time.monotonic()
        joined: list[JoinGroup] = []
        while not joined and time.monotonic() - began < 60:
            consumer.poll(0.2)
            joined = [item for item in log.read_new() if isinstance(item, JoinGroup) and item.group_id == "readers"]
        consumer.close()
    assert abs(joined[0].arrival_s - time.time()) < 60
    assert f"metadata.version {OLD_VERSION[:3]}" in (tmp_path / "kafka.log").read_text()


def test_a_topic_that_exists_is_an_error_in_a_sentence(kafka: Kafka) -> None:
    """Who makes a topic twice is told so."""
    kafka.create_topic("twice")
    with pytest.raises(SandboxError, match=r"topic twice could not be created: .*already exists"):
        kafka.create_topic("twice")


def test_the_trickle_sends_until_its_end(kafka: Kafka) -> None:
    """Messages come one by one and stop with the context."""
    kafka.create_topic("trickle", 2)
    with Trickle(kafka.bootstrap, "trickle", every_s=0.05) as trickle:
        deadline = time.monotonic() + 30
        while trickle.sent < 4 and time.monotonic() < deadline:
            time.sleep(0.05)
    sent = trickle.sent
    assert sent >= 4
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "counting", "log_level": 0})
    try:
        marks = [consumer.get_watermark_offsets(TopicPartition("trickle", partition)) for partition in range(2)]
    finally:
        consumer.close()
    assert sum(high for _, high in marks) == sent


def test_a_trickle_needs_its_topic(kafka: Kafka) -> None:
    """A missing topic is the caller's error, not a silent thread's."""
    with pytest.raises(SandboxError, match="no topic nowhere"), Trickle(kafka.bootstrap, "nowhere"):
        pass
