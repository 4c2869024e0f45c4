"""Groups that librdkafka does not describe: those of Kafka Streams' protocol (KIP-1071), and share groups (KIP-932).

It calls them dead, as it calls a group that is not there (measured: 2.16). Its older list of groups has them, without a
kind. Without their members nobody knows whose they are, so nothing is decided and nothing is written; what a person can
set for them at the broker is said.
"""

import time
import warnings
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import ConfigResource, ResourceType

from heartbeat_tuner.adapters.kafka.kafka_answers import error_of
from heartbeat_tuner.adapters.kafka.kafka_client import KafkaClient
from heartbeat_tuner.domain.kafka_groups import Group, UnreadableGroup
from heartbeat_tuner.domain.sentences import Sentence, join, say

MOST_AT_ONCE: Final = 20
"""Each costs a request to every broker, and tenants may name groups that are not there by the hundred."""

KEPT_S: Final = 600.0
"""For so long it is known whether a group is there."""

_LEAST_S: Final = 0.5

STREAMS_KEYS: Final = ("streams.session.timeout.ms", "streams.heartbeat.interval.ms")
SHARE_KEYS: Final = ("share.session.timeout.ms", "share.heartbeat.interval.ms", "share.record.lock.duration.ms")
"""Keys of a group's configuration that say when a silent or a slow member loses its work."""

PROPERTIES: Final = (
    "What may be set is said by group.streams.{min,max}.session.timeout.ms and "
    "group.streams.{min,max}.heartbeat.interval.ms, or by group.share.{min,max}.session.timeout.ms, "
    "group.share.{min,max}.heartbeat.interval.ms and group.share.{min,max}.record.lock.duration.ms, of the brokers "
    "and, with processes of their own, of the controllers, which a restart changes"
)


class UndescribedGroups:
    """What is known of one cluster's groups that were described as not being there; one thread at a time."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._known: dict[str, tuple[float, bool]] = {}

    def filled_in(
        self, client: KafkaClient, answered: Mapping[str, Group | UnreadableGroup | None], *, within_s: float
    ) -> Mapping[str, Group | UnreadableGroup | None]:
        """Return groups with what can be said of those that are there though they were described as not being there.

        Args:
            client: of the cluster.
            answered: the groups as they were described.
            within_s: for all requests; who had no turn comes first the next time.

        Raises:
            ClusterUnreachableError: no answer to what was asked of their configurations.
        """
        missing = [name for name, group in answered.items() if group is None]
        now_s, until = time.monotonic(), time.monotonic() + within_s
        self._known = {name: known for name, known in self._known.items() if name in frozenset(missing)}
        stale = [name for name in missing if now_s - self._known.get(name, (-KEPT_S, False))[0] >= KEPT_S]
        stale.sort(key=lambda name: self._known.get(name, (0.0, False))[0])
        for name in stale[:MOST_AT_ONCE]:
            left_s = until - time.monotonic()
            if left_s < _LEAST_S:
                break
            try:
                self._known[name] = (now_s, _is_listed(client, name, left_s))
            except KafkaException:
                continue  # a broker does not answer: as before
        there = [name for name in missing if self._known.get(name, (0.0, False))[1]]
        configs = _configs(client, there, max(_LEAST_S, until - time.monotonic()))
        words = {name: self._words(name, configs.get(name, {})) for name in there}
        return {**answered, **{name: UnreadableGroup(text) for name, text in words.items()}}

    def _words(self, group_id: str, config: Mapping[str, timedelta]) -> Sentence:
        phrase = (
            "group {group} of Kafka cluster {cluster} is one of Kafka Streams (group.protocol=streams) or a share "
            "group, which the admin library does not describe: its members are not known, so nothing is decided and "
            "nothing is written. Its values are set at the broker: {streams}, or of a share group {share}"
        )
        streams, share = (_shown(keys, config) for keys in (STREAMS_KEYS, SHARE_KEYS))
        words = say(phrase, group=group_id, cluster=self._cluster, streams=streams, share=share)
        return join(". ", (words, PROPERTIES))


def _shown(keys: Sequence[str], config: Mapping[str, timedelta]) -> Sentence:
    each = [say("{key} {value}", key=key, value=config[key]) if key in config else key for key in keys]
    return join(", ", each)


def _is_listed(client: KafkaClient, group_id: str, timeout_s: float) -> bool:
    """Whether a group is in the brokers' lists.

    Raises:
        KafkaException: a broker does not answer.
    """
    with warnings.catch_warnings():
        # Deprecated for calls that leave out the very groups that are looked for.
        warnings.simplefilter("ignore", DeprecationWarning)
        return any(group.id == group_id for group in client.admin.list_groups(group_id, timeout=timeout_s))


def _configs(client: KafkaClient, group_ids: Sequence[str], timeout_s: float) -> dict[str, dict[str, timedelta]]:
    """Return what brokers prescribe to groups, as far as they say it."""
    asked = {name: ConfigResource(ResourceType.GROUP, name) for name in group_ids}
    if not asked:
        return {}
    futures = client.admin.describe_configs(list(asked.values()), request_timeout=timeout_s)
    client.wait(futures.values())
    good = {name: futures[resource] for name, resource in asked.items() if error_of(futures[resource]) is None}
    return {name: _times(future.result()) for name, future in good.items()}


def _times(config: Mapping[str, Any]) -> dict[str, timedelta]:
    """Return the times among a configuration's entries; one whose value is hidden is left out."""
    texts = {key: config[key].value for key in (*STREAMS_KEYS, *SHARE_KEYS) if key in config}
    return {key: timedelta(milliseconds=int(text)) for key, text in texts.items() if text is not None}
