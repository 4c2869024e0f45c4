"""Groups that librdkafka does not describe: those of Kafka Streams' protocol (KIP-1071), and share groups (KIP-932).

It calls them dead, as it calls a group that is not there (measured: 2.16). So whatever it calls dead is asked for once
more by Kafka's own protocol (`wire`): docs/design/0023.
"""

import time
from collections.abc import Mapping
from typing import Final

from confluent_kafka import KafkaError

from heartbeat_tuner.adapters.kafka.kafka_answers import ClusterAnswers
from heartbeat_tuner.adapters.kafka.wire import coordinator_requests
from heartbeat_tuner.adapters.kafka.wire.coordinator_requests import CoordinatorAnswer
from heartbeat_tuner.domain.kafka_groups import Group, GroupState, UnreadableGroup

MOST_AT_ONCE: Final = 200
"""Tenants may name groups that are not there by the thousand; all of a coordinator are in a few requests."""

GONE_FOR_S: Final = 30.0
"""For so long a group that is not there is not asked for again: groups are read in many lots a minute."""

_TURN_S: Final = 600.0
"""For so long it is known when a group had its turn."""

_LEAST_S: Final = 0.5

_STATES: Final = {
    "Empty": GroupState.EMPTY,
    "Stable": GroupState.STABLE,
    "Assigning": GroupState.RECONCILING,
    "Reconciling": GroupState.RECONCILING,
}
_Described = Group | UnreadableGroup | None


class UndescribedGroups:
    """What is known of one cluster's groups that were described as not being there; one thread at a time.

    Args:
        answers: what the cluster's answers mean.
    """

    def __init__(self, answers: ClusterAnswers) -> None:
        self._answers = answers
        self._gone_s: dict[str, float] = {}
        self._asked_s: dict[str, float] = {}

    def filled_in(
        self, properties: Mapping[str, str], answered: Mapping[str, _Described], *, within_s: float
    ) -> Mapping[str, _Described]:
        """Return groups with those that are there though they were described as not being there.

        Args:
            properties: how the cluster is reached, librdkafka's.
            answered: the groups as they were described.
            within_s: for all requests; who had no turn comes first the next time.
        """
        now_s = time.monotonic()
        self._gone_s = {name: at_s for name, at_s in self._gone_s.items() if now_s - at_s < GONE_FOR_S}
        asked = [name for name, group in answered.items() if group is None and name not in self._gone_s]
        asked.sort(key=lambda name: self._asked_s.get(name, 0.0))
        late = {name: self._answers.unread(name) for name in asked[MOST_AT_ONCE:]}
        asked = asked[:MOST_AT_ONCE]
        if not asked:
            return answered
        if within_s < _LEAST_S:
            return {**answered, **late, **{name: self._answers.unread(name) for name in asked}}
        turns_s = self._asked_s | dict.fromkeys(asked, now_s)
        self._asked_s = {name: at_s for name, at_s in turns_s.items() if now_s - at_s < _TURN_S}
        answers = coordinator_requests.described(properties, asked, until_s=now_s + within_s)
        understood = {name: self._understood(name, answer) for name, answer in answers.items()}
        self._gone_s |= {name: now_s for name, group in understood.items() if group is None}
        return {**answered, **late, **understood}

    def _understood(self, group_id: str, answer: CoordinatorAnswer) -> _Described:
        if answer.silence:
            return self._answers.no_answer(group_id, answer.silence)
        described = answer.group
        if described is None or described.state == "Dead":
            return None
        if described.error:
            return self._answers.not_described(group_id, KafkaError(described.error, described.message or None))
        return Group(
            group_id,
            _STATES.get(described.state, GroupState.UNKNOWN),
            described.members,
            consumer_protocol=True,
            assignor=described.assignor,
            kind=answer.kind,
            coordinator=answer.coordinator,
        )
