"""Which consumers' settings stand in one place, by its keys: the framework first, plain words last."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.clients.names import frameworks, recognition
from heartbeat_tuner.clients.names.key_vocabulary import Meaning
from heartbeat_tuner.clients.names.recognition import Recognised
from heartbeat_tuner.lint.found_settings import FileEntry, FoundSettings, Framework

_BROKER: Final = re.compile(
    r"(kafka[._](cfg[._])?)?(advertised[._]listeners|broker[._]id|node[._]id|process[._]roles|zookeeper[._]connect)",
    re.IGNORECASE,
)
_CONNECT: Final = re.compile(
    r"CONNECT_(BOOTSTRAP_SERVERS|GROUP_ID|CONFIG_STORAGE|OFFSET_STORAGE|SESSION_|HEARTBEAT_|REBALANCE_|CONSUMER_|REST_).*"
)
_WORKER: Final = {
    "config.storage.topic",
    "offset.storage.topic",
    "status.storage.topic",
    "offset.storage.file.filename",
}
_STREAMS: Final = {"application.id", "num.stream.threads"}
_PRODUCER: Final = re.compile(
    r"(acks|linger\.ms|delivery\.timeout\.ms|batch\.size|enable\.idempotence|max\.in\.flight.*)"
)
_CONSUMER: Final = re.compile(
    r".*(group[._-]?id|auto[._-]?offset[._-]?reset|max[._-]?poll|consumer|listener).*", re.IGNORECASE
)
_SIGNS: Final = (
    ("spring", re.compile(r"spring\..*|SPRING_.*")),
    (
        "confluent-kafka-python",
        re.compile(r".*(fetch\.wait\.max\.ms|metadata\.broker\.list|enable\.partition\.eof|socket\.timeout\.ms)"),
    ),
    (
        "java",
        re.compile(r".*(fetch\.max\.wait\.ms|max\.poll\.records|(key|value)\.deserializer|group\.remote\.assignor)"),
    ),
    ("confluent-kafka-javascript", re.compile(r"(.*\.)?kafkaJS\..*")),
    ("kafkajs", re.compile(r"(.*\.)?maxWaitTimeInMs")),
    ("kafka-node", re.compile(r"(.*\.)?fetchMaxWaitMs")),
    ("aiokafka", re.compile(r"(.*\.)?rebalance_timeout_ms")),
)
"""Keys that only one library has, or only one framework."""

_ENV: Final = re.compile(r"[A-Z0-9_]+")
_CAMEL: Final = re.compile(
    r"(.*\.)?(sessionTimeout|heartbeatInterval|rebalanceTimeout|maxWaitTimeInMs|fetchMaxWaitMs|maxWaitTime)"
)
_SNAKE: Final = re.compile(r"(.*\.)?(session_timeout_ms|heartbeat_interval_ms|max_poll_interval_ms|fetch_max_wait_ms)")

_APPLICATIONS: Final = tuple(
    client
    for name, client in catalogue.CLIENTS.items()
    if not client.protocols[0].is_at_broker and name not in {"connect", "streams"}
)
_BY_NAME: Final = {
    "dotted": ("java", "confluent-kafka-python"),
    "camel": ("kafkajs", "confluent-kafka-javascript", "kafka-node", "platformatic"),
    "snake": ("kafka-python", "aiokafka"),
}


def framework_of(place: FoundSettings) -> Framework:
    """Return who reads the keys of a place."""
    if place.framework is not None:
        return place.framework
    keys = {entry.key for entry in place.entries}
    bare = keys | {key.removeprefix("config.") for key in keys}
    if "connector.class" in bare:
        return Framework.CONNECTOR
    if any(_BROKER.fullmatch(key) for key in keys):
        return Framework.BROKER
    if any(_CONNECT.fullmatch(key) for key in keys) or re.search(r"kafka-connect|connect-distributed", place.image):
        return Framework.CONNECT_IMAGE
    if bare & _WORKER:
        return Framework.WORKER
    return Framework.STREAMS if bare & _STREAMS else Framework.PLAIN


def meanings(place: FoundSettings, framework: Framework) -> Iterator[tuple[FileEntry, Recognised]]:
    """Yield the entries that have to do with a consumer, and what they are taken for."""
    in_kafka = any(recognition.names_kafka(entry.key) for entry in place.entries)
    for entry in place.entries:
        recognised = _meaning(entry.key, framework, in_kafka=in_kafka)
        if recognised is not None:
            yield entry, recognised


def _meaning(key: str, framework: Framework, *, in_kafka: bool) -> Recognised | None:
    lower = key.lower()
    if lower.startswith(("spring.", "spring_")):
        return frameworks.spring(key)
    if lower.startswith(("mp.messaging", "mp_messaging")):
        return frameworks.quarkus(key)
    if framework is Framework.PLAIN:
        return recognition.plain(key, in_kafka=in_kafka)
    return _READERS[framework](key)


_READERS: Final[Mapping[Framework, Callable[[str], Recognised | None]]] = {
    Framework.CONNECT_IMAGE: frameworks.connect_variable,
    Framework.WORKER: frameworks.worker,
    Framework.CONNECTOR: lambda key: frameworks.connector(key.removeprefix("config.")),
    Framework.STREAMS: frameworks.streams,
    Framework.DAPR: frameworks.dapr,
    Framework.BROKER: frameworks.broker,
}


def is_consumer(place: FoundSettings, framework: Framework) -> bool:
    """Whether a consumer is configured in a place, be it by nothing but where its brokers are."""
    if framework is Framework.BROKER or framework is Framework.CONNECTOR:
        return False
    if framework is not Framework.PLAIN:
        return True
    keys = [entry.key for entry in place.entries]
    if any(_PRODUCER.fullmatch(key) for key in keys) and not any(_CONSUMER.fullmatch(key) for key in keys):
        return False
    return any(recognition.names_kafka(key) or key.lower().startswith("spring.kafka.") for key in keys)


def library_of(place: FoundSettings, framework: Framework) -> str:
    """Return the library that a place says by its keys; empty where it may be several."""
    fixed = {
        Framework.CONNECT_IMAGE: "connect",
        Framework.WORKER: "connect",
        Framework.STREAMS: "streams",
        Framework.DAPR: "sarama",
    }
    if framework in fixed:
        return fixed[framework]
    keys = [entry.key for entry in place.entries]
    return next((library for library, says in _SIGNS if any(says.fullmatch(key) for key in keys)), "")


def candidates(entries: Iterable[FileEntry], meant: Mapping[Meaning, object]) -> Sequence[Client]:
    """Return the libraries that may read a place whose keys do not say which."""
    keys = [entry.key for entry in entries]
    style = ""
    if any(_CAMEL.fullmatch(key) for key in keys):
        style = "camel"
    elif any(_SNAKE.fullmatch(key) for key in keys):
        style = "snake"
    elif any(key.endswith((".timeout.ms", ".interval.ms", ".wait.ms")) for key in keys if not _ENV.fullmatch(key)):
        style = "dotted"
    chosen = [catalogue.CLIENTS[name] for name in _BY_NAME.get(style, ())] or list(_APPLICATIONS)
    given = {meaning.setting for meaning in meant if meaning.setting is not None}
    return [client for client in chosen if given <= set(client.settings)] or chosen
