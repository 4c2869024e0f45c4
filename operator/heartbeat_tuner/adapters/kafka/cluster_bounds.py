"""How many brokers a cluster has, between which times sessions and heartbeats must be there, and its group.version.

Of groups whose values are at the broker all brokers are asked, since each may become the coordinator; sessions of
classic groups are what one broker says. What a controller of its own accepts only a request that validates shows.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Final

import structlog
from confluent_kafka.admin import ConfigResource, ResourceType

from heartbeat_tuner.adapters.kafka.kafka_answers import ClusterAnswers, error_of, is_silent
from heartbeat_tuner.adapters.kafka.kafka_client import KafkaClient
from heartbeat_tuner.adapters.kafka.wire import broker_connection, feature_messages
from heartbeat_tuner.adapters.kafka.wire.broker_connection import NotAnsweredError
from heartbeat_tuner.domain.kafka_groups import DEFAULT_MAX_SESSION, DEFAULT_MIN_SESSION, Cluster

_ASSUMED: Final = (DEFAULT_MIN_SESSION, DEFAULT_MAX_SESSION)

_log = structlog.get_logger()


def read(client: KafkaClient, answers: ClusterAnswers, nodes: Sequence[int], *, timeout_s: float) -> Cluster:
    """Return the size and the bounds of a cluster.

    Args:
        client: of the cluster.
        answers: what its answers mean.
        nodes: the ids of its brokers, one at least.
        timeout_s: for one request.

    Raises:
        ClusterUnreachableError: the first broker did not answer.
    """
    resources = [ConfigResource(ResourceType.BROKER, str(node)) for node in sorted(nodes)]
    asked = client.admin.describe_configs(resources, request_timeout=timeout_s)
    client.wait(asked.values())
    futures = [asked[resource] for resource in resources]
    error = error_of(futures[0])
    if error is not None and is_silent(error):
        raise client.silence()
    kinds = ("consumer", "streams", "share")
    of_kind = {kind: bounds for kind in kinds if not isinstance(bounds := answers.group_bounds(kind, futures), str)}
    classic = answers.broker_times(futures[0])
    if isinstance(classic, str):
        _log.warning("broker bounds not read, Kafka's defaults are assumed", cluster=answers.cluster, error=classic)
    low, high = _ASSUMED if isinstance(classic, str) else classic
    return Cluster(
        len(nodes),
        low,
        high,
        bounds_assumed=isinstance(classic, str),
        consumer=of_kind.get("consumer"),
        streams=of_kind.get("streams"),
        share=of_kind.get("share"),
    )


def group_version(properties: Mapping[str, str], *, within_s: float) -> int | None:
    """Return the level of the feature `group.version`: 1 and above serve the consumer protocol (KIP-848), 0 does not.

    librdkafka does not ask for features. No right is needed for it.

    Args:
        properties: how the cluster is reached, librdkafka's.
        within_s: for the request.

    Returns:
        None where no broker said it in time.
    """
    try:
        request = feature_messages.finalized_features()
        features = broker_connection.first_answer(properties, request, until_s=time.monotonic() + within_s)
    except NotAnsweredError as error:
        _log.info("features of the cluster not read", error=str(error))
        return None
    return features.get("group.version", 0)
