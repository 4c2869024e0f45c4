"""The words that consumers' settings are made of, and those that belong to something else."""

import enum
from collections.abc import Mapping
from typing import Final

from heartbeat_tuner.domain.liveness import Setting


class Meaning(enum.Enum):
    """What a key holds."""

    SESSION_TIMEOUT = Setting.SESSION_TIMEOUT
    HEARTBEAT_INTERVAL = Setting.HEARTBEAT_INTERVAL
    FETCH_WAIT = Setting.FETCH_WAIT
    MAX_POLL_INTERVAL = Setting.MAX_POLL_INTERVAL
    REBALANCE_TIMEOUT = Setting.REBALANCE_TIMEOUT
    INSTANCE_ID = "static id"
    GROUP_PROTOCOL = "group protocol"
    ASSIGNORS = "assignors"
    REMOTE_ASSIGNOR = "remote assignor"
    REQUEST_TIMEOUT = "request timeout"
    IDLE_LIMIT = "idle limit"
    POLL_RECORDS = "poll records"
    GROUP_ID = "group"

    @property
    def setting(self) -> Setting | None:
        """The setting that it is; None for something else."""
        return self.value if isinstance(self.value, Setting) else None


STRONG: Final[Mapping[str, Meaning]] = {
    "heartbeatinterval": Meaning.HEARTBEAT_INTERVAL,
    "maxpollinterval": Meaning.MAX_POLL_INTERVAL,
    "rebalancetimeout": Meaning.REBALANCE_TIMEOUT,
    "fetchmaxwait": Meaning.FETCH_WAIT,
    "fetchmaxwaittime": Meaning.FETCH_WAIT,
    "fetchwaitmax": Meaning.FETCH_WAIT,
    "groupinstanceid": Meaning.INSTANCE_ID,
    "groupprotocol": Meaning.GROUP_PROTOCOL,
    "maxpollrecords": Meaning.POLL_RECORDS,
    "partitionassignmentstrategy": Meaning.ASSIGNORS,
    "groupremoteassignor": Meaning.REMOTE_ASSIGNOR,
}
"""Words that mean one thing only beside Kafka's."""

WEAK: Final[Mapping[str, Meaning]] = {
    "sessiontimeout": Meaning.SESSION_TIMEOUT,
    "maxwaittime": Meaning.FETCH_WAIT,
    "maxwait": Meaning.FETCH_WAIT,
    "instanceid": Meaning.INSTANCE_ID,
    "requesttimeout": Meaning.REQUEST_TIMEOUT,
    "netreadtimeout": Meaning.REQUEST_TIMEOUT,
    "connectionsmaxidle": Meaning.IDLE_LIMIT,
    "groupid": Meaning.GROUP_ID,
    "consumergroup": Meaning.GROUP_ID,
}
"""Words that other systems use, too: they count where Kafka is named, or where a strong one stands beside them."""

PROPERTIES: Final[Mapping[str, Meaning]] = {
    "session.timeout.ms": Meaning.SESSION_TIMEOUT,
    "heartbeat.interval.ms": Meaning.HEARTBEAT_INTERVAL,
    "fetch.max.wait.ms": Meaning.FETCH_WAIT,
    "fetch.wait.max.ms": Meaning.FETCH_WAIT,
    "max.poll.interval.ms": Meaning.MAX_POLL_INTERVAL,
    "rebalance.timeout.ms": Meaning.REBALANCE_TIMEOUT,
    "group.instance.id": Meaning.INSTANCE_ID,
    "group.protocol": Meaning.GROUP_PROTOCOL,
    "max.poll.records": Meaning.POLL_RECORDS,
    "partition.assignment.strategy": Meaning.ASSIGNORS,
    "group.remote.assignor": Meaning.REMOTE_ASSIGNOR,
    "request.timeout.ms": Meaning.REQUEST_TIMEOUT,
    "connections.max.idle.ms": Meaning.IDLE_LIMIT,
    "group.id": Meaning.GROUP_ID,
}
"""Kafka's own names of properties."""

KAFKA_WORDS: Final = frozenset({"kafka", "consumer", "consumers", "kafkajs", "rdkafka", "sarama", "franz", "kgo"})
"""Words of a prefix that say that a weak name is Kafka's."""

FILLERS: Final = frozenset(
    [
        "kafka",
        "consumer",
        "consumers",
        "kafkajs",
        "rdkafka",
        "librdkafka",
        "sarama",
        "config",
        "configs",
        "configuration",
        "properties",
        "props",
        "settings",
        "options",
        "client",
        "group",
        "net",
        "spring",
        "app",
        "env",
        "my",
        "the",
        "default",
        "common",
    ]
)
"""Words of a prefix that name no consumer of their own."""

FOREIGN: Final = frozenset(
    [
        "producer",
        "producers",
        "admin",
        "broker",
        "brokers",
        "zookeeper",
        "zk",
        "redis",
        "http",
        "https",
        "servlet",
        "server",
        "web",
        "websocket",
        "ws",
        "grpc",
        "db",
        "database",
        "jdbc",
        "hikari",
        "mongo",
        "mongodb",
        "mysql",
        "postgres",
        "postgresql",
        "pg",
        "rabbitmq",
        "amqp",
        "mqtt",
        "nats",
        "eureka",
        "consul",
        "etcd",
        "user",
        "auth",
        "jwt",
        "cookie",
        "sse",
        "ssh",
        "ldap",
        "smtp",
        "mail",
        "elasticsearch",
        "elastic",
        "opensearch",
        "cassandra",
        "sentinel",
        "lease",
        "leader",
        "mcp",
        "login",
        "demo",
        "controller",
        "raft",
        "quorum",
        "replica",
        "share",
        "streams",
        "schema",
        "registry",
        "sentry",
        "pulsar",
        "outgoing",
    ]
)
"""Words of a prefix that say that a name is not a consumer's."""

BOUNDS: Final = frozenset({"min", "max"})
"""Words before a setting that make it the broker's bound of it: group.min.session.timeout.ms."""


CONTEXT: Final = [
    "bootstrapservers",
    "bootstrapserver",
    "bootstrap",
    "metadatabrokerlist",
    "kafkabrokers",
    "kafkabroker",
    "kafkabrokerlist",
    "kafkaservers",
    "kafkahosts",
    "kafkahost",
    "kafkaurl",
    "kafkatopic",
    "kafkatopics",
    "kafkagroup",
    "groupid",
    "consumergroup",
    "autooffsetreset",
    "enableautocommit",
    "maxpollrecords",
    "kafkaclientid",
    "kafkabootstrap",
    "applicationid",
]
"""Endings of names that say that a consumer is configured here."""


OTHER_PROPERTIES: Final = frozenset(
    [
        "minpollinterval",
        "pollinterval",
        "polltimeout",
        "sessiontimeoutms",
        "autocommitinterval",
        "fetchminbytes",
        "fetchmaxbytes",
        "metadatamaxage",
        "reconnectbackoff",
        "retrybackoff",
        "heartbeatintervals",
        "groupprotocoltype",
    ]
)
"""Names that resemble a setting and are something else."""
