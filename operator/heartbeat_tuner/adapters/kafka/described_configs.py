"""What brokers prescribe to groups: their configurations, read in lots for as long as there is time."""

import itertools
import time
from collections.abc import Mapping
from typing import Final

from confluent_kafka.admin import ConfigResource, ResourceType

from heartbeat_tuner.adapters.kafka.kafka_answers import ClusterAnswers, error_of, is_silent
from heartbeat_tuner.adapters.kafka.kafka_client import KafkaClient
from heartbeat_tuner.domain.kafka_groups import GroupConfig

AT_ONCE: Final = 500

LEAST_S: Final = 0.1
"""With less time than this no request is begun."""


def read(
    client: KafkaClient, answers: ClusterAnswers, kinds: Mapping[str, str], *, within_s: float
) -> dict[str, GroupConfig | str]:
    """Return what is prescribed to groups, or why that cannot be read; who has no answer in time is left out.

    Args:
        client: of the cluster.
        answers: what its answers mean.
        kinds: of which kind each group is (`Group.kind`), by its id.
        within_s: for all requests.

    Raises:
        ClusterUnreachableError: no answer to a whole request.
    """
    configs: dict[str, GroupConfig | str] = {}
    until_s = time.monotonic() + within_s
    for first in range(0, len(kinds), AT_ONCE):
        left_s = until_s - time.monotonic()
        if left_s < LEAST_S:
            break
        lot = itertools.islice(kinds, first, first + AT_ONCE)
        asked = {group_id: ConfigResource(ResourceType.GROUP, group_id) for group_id in lot}
        futures = client.admin.describe_configs(list(asked.values()), request_timeout=left_s)
        client.wait(futures.values())
        for group_id, resource in asked.items():
            error = error_of(futures[resource])
            if error is None or not is_silent(error):
                configs[group_id] = answers.group_config(group_id, kinds[group_id], futures[resource])
    return configs
