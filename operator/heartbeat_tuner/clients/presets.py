"""Names of environment variables, by the way in which applications are configured."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.domain.liveness import Setting

PLAIN: Final = "plain"
"""What applications that read the environment themselves usually call it: `KAFKA_` and the library's own name."""

CONNECT: Final = "connect"
"""What images of Connect's workers read: `CONNECT_` and the name of the worker's setting."""

SPRING: Final = "spring"
"""What Spring Boot reads by itself: the key of its configuration, without dashes."""

SPRING_UNDERSCORES: Final = "spring-underscores"
"""The same, with underscores for dashes; Spring Boot reads both."""

SPRING_CLOUD_STREAM: Final = "spring-cloud-stream"
"""What the Kafka binder of Spring Cloud Stream reads. It takes what Spring Boot reads, too; these go before that."""

STREAM_BINDER: Final = "SPRING_CLOUD_STREAM_KAFKA_BINDER_CONSUMERPROPERTIES_"
"""What leads to a property of Kafka's consumer there."""

_GROUP_PROTOCOL: Final = {
    SPRING_CLOUD_STREAM: f"{STREAM_BINDER}GROUP_PROTOCOL",
    SPRING: "SPRING_KAFKA_CONSUMER_PROPERTIES_GROUP_PROTOCOL",
    SPRING_UNDERSCORES: "SPRING_KAFKA_CONSUMER_PROPERTIES_GROUP_PROTOCOL",
}

_GROUP_INSTANCE_ID: Final = {
    SPRING_CLOUD_STREAM: f"{STREAM_BINDER}GROUP_INSTANCE_ID",
    SPRING: "SPRING_KAFKA_CONSUMER_PROPERTIES_GROUP_INSTANCE_ID",
    SPRING_UNDERSCORES: "SPRING_KAFKA_CONSUMER_PROPERTIES_GROUP_INSTANCE_ID",
}


def upper(names: Mapping[Setting, str], prefix: str = "KAFKA_") -> Mapping[Setting, str]:
    """Return a prefix and the names in capitals: `session.timeout.ms` gives `KAFKA_SESSION_TIMEOUT_MS`."""
    return MappingProxyType({setting: prefix + name.upper().replace(".", "_") for setting, name in names.items()})


def group_protocol(preset: str) -> str:
    """Return the variable that says the group's protocol, for clients that have more than one."""
    return _GROUP_PROTOCOL.get(preset, "KAFKA_GROUP_PROTOCOL")


def group_instance_id(preset: str) -> str:
    """Return the variable that holds a member's static id, for clients that have static members."""
    return _GROUP_INSTANCE_ID.get(preset, "KAFKA_GROUP_INSTANCE_ID")
