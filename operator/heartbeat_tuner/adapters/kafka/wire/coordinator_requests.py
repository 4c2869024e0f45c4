"""Asking the coordinators of groups for those of Kafka Streams' protocol (KIP-1071) and for share groups (KIP-932).

A connection lives for one look: there are few such groups, and nothing has to be kept alive, or forgotten when it is
not. All groups of one coordinator are in one request of each kind. A coordinator that does not answer costs its own
groups their answer.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from heartbeat_tuner.adapters.kafka.wire import broker_connection, wire_messages
from heartbeat_tuner.adapters.kafka.wire.broker_connection import BrokerConnection, NotAnsweredError
from heartbeat_tuner.adapters.kafka.wire.wire_messages import (
    SHARE_DESCRIBE,
    STREAMS_DESCRIBE,
    DescribedGroup,
    GroupCoordinator,
)

NOT_FOUND: Final = 69
"""There is no such group, or it is of another kind."""

GROUPS_AT_ONCE: Final = 10
"""In one request: an answer must not become larger than is read."""

_REQUESTS: Final = (
    ("streams", STREAMS_DESCRIBE, 0, wire_messages.describe_streams),
    ("share", SHARE_DESCRIBE, 1, wire_messages.describe_share),
)


@dataclasses.dataclass(frozen=True, slots=True)
class CoordinatorAnswer:
    """What became of one group.

    Attributes:
        kind: `streams` or `share`; empty where it is neither.
        group: as it is described, also with an error; None where there is no such group of these kinds.
        silence: why there is no answer; empty where there is one.
        coordinator: the id of the broker that described it; -1 where none did.
    """

    kind: str = ""
    group: DescribedGroup | None = None
    silence: str = ""
    coordinator: int = -1


def described(
    properties: Mapping[str, str], group_ids: Sequence[str], *, until_s: float
) -> dict[str, CoordinatorAnswer]:
    """Return what coordinators say of groups.

    Args:
        properties: how the cluster is reached, librdkafka's.
        group_ids: each of them once.
        until_s: when everything has to be done, by the monotonic clock.
    """
    answers: dict[str, CoordinatorAnswer] = {}
    try:
        coordinators = _coordinators(properties, list(group_ids), until_s)
    except NotAnsweredError as error:
        return dict.fromkeys(group_ids, CoordinatorAnswer(silence=str(error)))
    by_address = defaultdict[tuple[str, int], list[str]](list)
    asked, nodes = frozenset(group_ids), {broker.group_id: broker.node for broker in coordinators}
    for broker in coordinators:
        if broker.group_id not in asked:
            continue
        if broker.error:
            group = DescribedGroup(broker.group_id, broker.error, broker.message, "", "", ())
            answers[broker.group_id] = CoordinatorAnswer(group=group)
        else:
            by_address[broker.host, broker.port].append(broker.group_id)
    for address, of_broker in by_address.items():
        try:
            answered = _of_broker(address, properties, of_broker, until_s)
            answers |= {
                group_id: dataclasses.replace(answer, coordinator=nodes[group_id])
                for group_id, answer in answered.items()
            }
        except NotAnsweredError as error:
            answers |= dict.fromkeys(of_broker, CoordinatorAnswer(silence=str(error)))
    lost = CoordinatorAnswer(silence="the broker did not say who coordinates it")
    return {group_id: answers.get(group_id, lost) for group_id in group_ids}


def _coordinators(properties: Mapping[str, str], group_ids: list[str], until_s: float) -> list[GroupCoordinator]:
    """Return who coordinates groups, as the first broker says that answers.

    Raises:
        NotAnsweredError: none does.
    """
    return broker_connection.first_answer(properties, wire_messages.find_coordinators(group_ids), until_s=until_s)


def _of_broker(
    address: tuple[str, int], properties: Mapping[str, str], group_ids: list[str], until_s: float
) -> dict[str, CoordinatorAnswer]:
    """Return what one coordinator says of its groups: which of both kinds they are, or neither.

    Raises:
        NotAnsweredError: it does not answer.
    """
    answers = {group_id: CoordinatorAnswer() for group_id in group_ids}
    with BrokerConnection(address, properties, until_s=until_s) as connection:
        versions = connection.ask(wire_messages.api_versions())
        for kind, api_key, version, request in _REQUESTS:
            oldest, newest = versions.get(api_key, (0, -1))
            if not oldest <= version <= newest:
                continue  # an older broker, which has no such groups
            left = [group_id for group_id in group_ids if answers[group_id] == CoordinatorAnswer()]
            for first in range(0, len(left), GROUPS_AT_ONCE):
                lot = left[first : first + GROUPS_AT_ONCE]
                described = {group.group_id: group for group in connection.ask(request(lot))}
                answers |= {group_id: _answer(kind, described.get(group_id)) for group_id in lot}
    return answers


def _answer(kind: str, group: DescribedGroup | None) -> CoordinatorAnswer:
    if group is None:
        return CoordinatorAnswer(silence="its coordinator left it out")
    return CoordinatorAnswer() if group.error == NOT_FOUND else CoordinatorAnswer(kind, group)
