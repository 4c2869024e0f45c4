"""Connections to the brokers of one cluster that stay open from look to look, and which broker coordinates which group.

A broker closes a connection that was idle for long, or whose login has run out. So a request that an older connection
does not answer is sent once more by a new one. What a broker says of coordinators is kept until it is forgotten.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from heartbeat_tuner.adapters.kafka.wire import wire_messages
from heartbeat_tuner.adapters.kafka.wire.broker_connection import (
    BrokerConnection,
    NotAnsweredError,
    UnreadableAnswerError,
)
from heartbeat_tuner.adapters.kafka.wire.wire_messages import GroupCoordinator, WireRequest

MOST_COORDINATORS: Final = 100_000
"""The most groups whose coordinators are remembered: groups come and go with their policies."""

FOUND_AT_ONCE: Final = 500
"""Groups in one request for coordinators."""

Address = tuple[str, int]
_Answer = TypeVar("_Answer")


class OldBrokerError(NotAnsweredError):
    """A broker does not have a request in the version that is asked for."""


class OpenConnections:
    """The brokers of one cluster; one thread at a time.

    Args:
        properties: how the cluster is reached, librdkafka's.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = properties
        self._connections: dict[Address, BrokerConnection] = {}
        self._versions: dict[Address, dict[int, tuple[int, int]]] = {}
        self._coordinators: dict[str, GroupCoordinator] = {}

    def close(self) -> None:
        """End all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections = {}

    def coordinators(self, group_ids: Sequence[str], *, until_s: float) -> dict[str, GroupCoordinator]:
        """Return who coordinates groups; those for whom the broker has an error are left out.

        Raises:
            OldBrokerError: it cannot be asked for many groups at once.
            NotAnsweredError: no broker of the configuration answers in time.
        """
        if len(self._coordinators) > MOST_COORDINATORS:
            self._coordinators = {}
        unknown = [group_id for group_id in group_ids if group_id not in self._coordinators]
        for first in range(0, len(unknown), FOUND_AT_ONCE):
            lot = unknown[first : first + FOUND_AT_ONCE]
            for coordinator in self._looked_up(lot, until_s):
                if not coordinator.error:
                    self._coordinators[coordinator.group_id] = coordinator
        return {name: self._coordinators[name] for name in group_ids if name in self._coordinators}

    def forget(self, group_ids: Iterable[str]) -> None:
        """Look up again who coordinates these groups."""
        for group_id in group_ids:
            self._coordinators.pop(group_id, None)

    def ask(self, address: Address, request: WireRequest[_Answer], *, until_s: float) -> _Answer:
        """Send a request to a broker, and return what the answer says.

        Raises:
            OldBrokerError: the broker does not have it.
            UnreadableAnswerError: it answers with what is not read.
            NotAnsweredError: it does not answer in time.
        """
        was_open = address in self._connections
        try:
            return self._asked(address, request, until_s)
        except (OldBrokerError, UnreadableAnswerError):
            raise
        except NotAnsweredError:
            if not was_open or time.monotonic() >= until_s:
                raise
        return self._asked(address, request, until_s)

    def _asked(self, address: Address, request: WireRequest[_Answer], until_s: float) -> _Answer:
        try:
            if address not in self._connections:
                self._connections[address] = BrokerConnection(address, self._properties, until_s=until_s)
                self._versions[address] = self._connections[address].ask(wire_messages.api_versions())
            connection = self._connections[address]
            connection.allow_until(until_s)
            oldest, newest = self._versions[address].get(request.api_key, (0, -1))
            if not oldest <= request.version <= newest:
                raise OldBrokerError(f"it has not version {request.version} of request {request.api_key}")
            return connection.ask(request)
        except NotAnsweredError:
            # A late answer would be taken for that to the next request.
            if address in self._connections:
                self._connections.pop(address).close()
            raise

    def _looked_up(self, group_ids: list[str], until_s: float) -> list[GroupCoordinator]:
        silence = NotAnsweredError("no broker is named")
        for server in self._properties["bootstrap.servers"].split(","):
            host, _, port = server.rpartition(":")
            try:
                return self.ask(
                    (host.strip("[]"), int(port)), wire_messages.find_coordinators(group_ids), until_s=until_s
                )
            except NotAnsweredError as error:
                silence = error
        raise silence
