"""Classic groups, many in one request to their coordinator, by Kafka's own protocol (`wire`).

librdkafka asks for each group alone, in up to four requests, half of them for its coordinator. Here only what is a
plain description of a classic group of consumers, or of Connect's workers, is taken. Who has none is left to librdkafka
for `LEFT_S`: a group of another kind or none, one that may not be described, one whose coordinator is silent or too
old. So nothing here says that a group is missing, or why it cannot be read: docs/design/0025.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import structlog

from heartbeat_tuner.adapters.kafka.kafka_access import Keys
from heartbeat_tuner.adapters.kafka.wire import classic_messages
from heartbeat_tuner.adapters.kafka.wire.broker_connection import NotAnsweredError, UnreadableAnswerError
from heartbeat_tuner.adapters.kafka.wire.classic_messages import UNCOUNTED, ClassicDescription
from heartbeat_tuner.adapters.kafka.wire.open_connections import Address, OldBrokerError, OpenConnections
from heartbeat_tuner.domain.kafka_groups import WORKERS, Group, GroupState, UnreadableGroup

AT_ONCE: Final = 100
"""Groups in one request."""

LEFT_S: Final = 60.0
"""For so long a group, or a broker, that gave nothing is left to librdkafka."""

LEFT_TO_OLD_S: Final = 600.0
"""The same where a broker is too old: it stays so until it is replaced."""

SHARE: Final = 0.5
"""Of the time for a reading: librdkafka needs the rest for what is left to it."""

NEARLY_ALL: Final = 0.9

MOST_LEFT: Final = 100_000
"""Groups of which it is known that they are left to librdkafka: policies come and go."""

_NOT_COORDINATOR: Final = 16
_ROUNDS: Final = 2
"""How often a group is asked in one look: once, and once more if its coordinator has moved."""

_KINDS: Final = MappingProxyType({"consumer": "consumer", "": "consumer", WORKERS: WORKERS})
"""What members say to the kind of their group; a group that had none is one of consumers until it has some. librdkafka
refuses all others, those of Connect's workers too, and says why."""

_STATES: Final = MappingProxyType({state.value: state for state in GroupState if state is not GroupState.UNKNOWN})

_CLUSTER: Final = ""
"""Stands for all groups: a group's id is not empty."""

_TOLD: Final = "groups are described one by one for a while"

_log = structlog.get_logger()


class BatchedGroups:
    """What one cluster's coordinators say of classic groups; one thread at a time.

    Args:
        cluster: its name, for the log.
        monotonic: a clock in seconds that nobody sets.
    """

    def __init__(self, cluster: str, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._cluster = cluster
        self._monotonic = monotonic
        self._keys: Keys | None = None
        self._brokers = OpenConnections({})
        self._left: dict[str | Address, float] = {}  # until when
        self.serves = False
        """Whether the last reading described `NEARLY_ALL` groups so."""

    def close(self) -> None:
        """End all connections; the next reading makes new ones."""
        self._brokers.close()

    def described(self, keys: Keys, group_ids: Sequence[str], *, within_s: float) -> dict[str, Group]:
        """Return those groups that a coordinator describes; librdkafka is asked for all others.

        Args:
            keys: how the cluster is reached.
            group_ids: each of them once.
            within_s: for this reading, of which `SHARE` is used at most.
        """
        if keys != self._keys:
            self._brokers.close()
            self._keys, self._brokers, self._left = keys, OpenConnections(keys.properties), {}
        if len(self._left) > MOST_LEFT:
            self._left = {}
        until_s = self._monotonic() + within_s * SHARE
        groups: dict[str, Group] = {}
        asked = [] if self._is_left(_CLUSTER) else [name for name in group_ids if not self._is_left(name)]
        for _ in range(_ROUNDS):
            if not asked:
                break
            described, asked = self._round(asked, until_s)
            groups |= described
        self.serves = len(groups) >= NEARLY_ALL * len(group_ids)
        return groups

    def ask_again(self, alone: Mapping[str, Group | UnreadableGroup | None]) -> None:
        """Ask next time for groups that librdkafka refuses for their kind, such as one that was not there before.

        Args:
            alone: what it said of groups that were left to it.
        """
        for name, group in alone.items():
            if isinstance(group, UnreadableGroup) and group.of_another_kind:
                self._left.pop(name, None)

    def _round(self, group_ids: Sequence[str], until_s: float) -> tuple[dict[str, Group], list[str]]:
        """Return what coordinators say of groups, and the groups whose coordinators must be looked up again."""
        try:
            coordinators = self._brokers.coordinators(group_ids, until_s=until_s)
        except NotAnsweredError as error:
            self._leave([_CLUSTER], LEFT_TO_OLD_S if isinstance(error, OldBrokerError) else LEFT_S)
            _log.info(_TOLD, cluster=self._cluster, why=str(error))
            return {}, []
        self._leave([name for name in group_ids if name not in coordinators])
        of_broker = defaultdict[Address, list[str]](list)
        for group_id, coordinator in coordinators.items():
            of_broker[coordinator.host, coordinator.port].append(group_id)
        groups: dict[str, Group] = {}
        moved: list[str] = []
        for address in [address for address in of_broker if not self._is_left(address)]:
            names = of_broker[address]
            for description in self._of_broker(address, names, until_s):
                name = description.group_id
                if description.error == _NOT_COORDINATOR:
                    moved.append(name)
                elif name in coordinators:
                    group = _understood(description, coordinators[name].node)
                    groups |= {} if group is None else {name: group}
                    self._leave([] if group else [name])
            if self._is_left(address):  # who coordinates them now?
                moved += [name for name in names if name not in groups]
        self._brokers.forget(moved)
        return groups, moved

    def _of_broker(self, address: Address, group_ids: Sequence[str], until_s: float) -> Iterator[ClassicDescription]:
        """Yield what one broker says of its groups, until it says nothing or the time is over."""
        for first in range(0, len(group_ids), AT_ONCE):
            if self._is_left(address) or self._monotonic() >= until_s:
                return
            try:
                yield from self._lot(address, list(group_ids[first : first + AT_ONCE]), until_s)
            except NotAnsweredError as error:
                self._leave([address], LEFT_TO_OLD_S if isinstance(error, OldBrokerError) else LEFT_S)
                _log.info(_TOLD, cluster=self._cluster, broker=f"{address[0]}:{address[1]}", why=str(error))

    def _lot(self, address: Address, group_ids: list[str], until_s: float) -> list[ClassicDescription]:
        """Return what a broker says of groups; one that makes its answer too large, or unreadable, is left out.

        Raises:
            NotAnsweredError: it does not answer.
        """
        try:
            groups = self._brokers.ask(address, classic_messages.describe_classic(group_ids), until_s=until_s)
            return [group for group in groups if group.group_id in group_ids]
        except UnreadableAnswerError:
            if len(group_ids) == 1:
                self._leave(group_ids)
                return []
        half = len(group_ids) // 2
        halves = (group_ids[:half], group_ids[half:])
        return [group for lot in halves for group in self._lot(address, lot, until_s)]

    def _leave(self, places: Iterable[str | Address], for_s: float = LEFT_S) -> None:
        """Leave groups, or all groups of brokers, to librdkafka for a time."""
        self._left |= dict.fromkeys(places, self._monotonic() + for_s)

    def _is_left(self, place: str | Address) -> bool:
        return self._left.get(place, 0.0) > self._monotonic()


def _understood(described: ClassicDescription, node: int) -> Group | None:
    """Return a classic group of consumers or Connect's workers; None for whatever is anything else."""
    state = _STATES.get(described.state)
    is_unread = any(member.partitions == UNCOUNTED for member in described.members)
    if described.error or state is None or described.protocol_type not in _KINDS or is_unread:
        return None
    kind = _KINDS[described.protocol_type]
    return Group(described.group_id, state, described.members, assignor=described.assignor, kind=kind, coordinator=node)
