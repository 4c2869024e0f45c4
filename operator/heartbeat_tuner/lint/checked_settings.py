"""What is checked: settings with what is known around them, and a finding."""

import dataclasses
import enum
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final, Self

from heartbeat_tuner.clients.client import Circumstances, Client, Protocol
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.lint import rule_catalogue

NAMES: Final[Mapping[Setting, str]] = {
    Setting.SESSION_TIMEOUT: "session timeout",
    Setting.HEARTBEAT_INTERVAL: "heartbeat interval",
    Setting.FETCH_WAIT: "fetch wait",
    Setting.MAX_POLL_INTERVAL: "max poll interval",
    Setting.REBALANCE_TIMEOUT: "rebalance timeout",
}
"""The settings as sentences call them."""


@dataclasses.dataclass(frozen=True, slots=True)
class LintFinding:
    """What a rule found, as a sentence."""

    rule: rule_catalogue.Rule
    message: str


class Origin(enum.StrEnum):
    """Where a value comes from."""

    GIVEN = "given"
    DEFAULT = "default"
    BROKER = "broker"  # the group's protocol has it set there
    UNSEEN = "unseen"


@dataclasses.dataclass(frozen=True, slots=True)
class Inspected:
    """Settings to check.

    Attributes:
        client: the library that they are for.
        values: a value for each setting; where the origin is BROKER or UNSEEN it is the library's default and stands
            for nothing.
        origins: where each value comes from.
        protocol: the group's.
    """

    client: Client
    values: LivenessSettings
    origins: Mapping[Setting, Origin]
    protocol: Protocol

    @classmethod
    def of(
        cls,
        client: Client,
        given: Mapping[Setting, timedelta],
        *,
        unseen: Iterable[Setting] = (),
        protocol: Protocol | None = None,
    ) -> Self:
        """Return the settings from what is given; the rest is the library's default, or the broker's business."""
        hidden = frozenset(unseen)
        of_group = client.protocols[0] if protocol is None else protocol

        def origin(setting: Setting) -> Origin:
            if setting in given:
                return Origin.GIVEN
            if setting in hidden:
                return Origin.UNSEEN
            if of_group is Protocol.CONSUMER and setting in AT_THE_BROKER:
                return Origin.BROKER
            return Origin.DEFAULT

        return cls(
            client,
            client.filled(given),
            {setting: origin(setting) for setting in client.settings},
            of_group,
        )

    def knows(self, *settings: Setting) -> bool:
        """Whether these settings exist, and their values rule what the client does."""
        return all(self.origins.get(setting) in {Origin.GIVEN, Origin.DEFAULT} for setting in settings) and not (
            self.protocol is Protocol.CONSUMER and AT_THE_BROKER.intersection(settings)
        )

    @property
    def misplaced(self) -> tuple[Setting, ...]:
        """The settings that are given to the client, and are the broker's in the group's protocol."""
        if self.protocol is not Protocol.CONSUMER:
            return ()
        return tuple(
            setting
            for setting in self.client.settings
            if setting in AT_THE_BROKER and self.origins[setting] is Origin.GIVEN
        )

    @property
    def beat_settings(self) -> tuple[Setting, ...]:
        """The settings that say when a beat comes, and whether that is in time."""
        fetch = (Setting.FETCH_WAIT,) if self.client.beat_waits_for_fetch else ()
        return (Setting.SESSION_TIMEOUT, Setting.HEARTBEAT_INTERVAL, *fetch)


AT_THE_BROKER: Final = frozenset({Setting.SESSION_TIMEOUT, Setting.HEARTBEAT_INTERVAL})
"""What a group of the consumer protocol has from its broker."""


@dataclasses.dataclass(frozen=True, slots=True)
class Expectations:
    """What is known of the workload and wanted of the group.

    Attributes:
        brokers: of the Kafka cluster.
        max_detection_time: how late a crash may be noticed.
        handler_time: the longest that the handler takes for one message, or for one poll where the client has a limit
            for that; None: not known.
        blocking_messages: how many messages are handled without giving the processor back to the client; 0: handlers
            wait rather than compute.
    """

    brokers: int = 1
    max_detection_time: timedelta = timedelta(seconds=60)
    handler_time: timedelta | None = None
    blocking_messages: int = 0

    @property
    def at_rest(self) -> Circumstances:
        """The circumstances of a member that has nothing to do."""
        return Circumstances(brokers=self.brokers)
