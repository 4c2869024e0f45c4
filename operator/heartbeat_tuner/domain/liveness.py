"""The settings that rule how a consumer group notices a dead member.

Names and letters follow Kafka and the project's design: S session timeout, H heartbeat interval, W fetch wait, M max
poll interval, R rebalance timeout (of libraries where it is none of the others). Values here are what *is* or what
*shall be* set; whether a combination is sound depends on the client library (`clients`).
"""

import dataclasses
import enum
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Final, Self

from heartbeat_tuner.domain import durations


class Setting(enum.StrEnum):
    """One of the settings, by its name in the API."""

    SESSION_TIMEOUT = "sessionTimeout"
    HEARTBEAT_INTERVAL = "heartbeatInterval"
    FETCH_WAIT = "fetchWait"
    MAX_POLL_INTERVAL = "maxPollInterval"
    REBALANCE_TIMEOUT = "rebalanceTimeout"


TUNED: Final = (
    Setting.SESSION_TIMEOUT,
    Setting.HEARTBEAT_INTERVAL,
    Setting.FETCH_WAIT,
    Setting.MAX_POLL_INTERVAL,
)
"""Those that policies are about: what the operator reads, decides and sets."""


@dataclasses.dataclass(frozen=True, slots=True)
class LivenessSettings:
    """A full set of values; every one is positive and a whole number of milliseconds.

    Attributes:
        max_poll_interval: None for a client library that knows no such limit.
        rebalance_timeout: how long a rebalance waits for the member; None where another setting says that, or nothing
            is known of it.

    Raises:
        ValueError: a value is not positive, or no whole number of milliseconds.
    """

    session_timeout: timedelta
    heartbeat_interval: timedelta
    fetch_wait: timedelta
    max_poll_interval: timedelta | None = None
    rebalance_timeout: timedelta | None = None

    def __post_init__(self) -> None:
        for setting, value in self.by_setting.items():
            if value <= timedelta(0):
                raise ValueError(f"{setting} is {value}; it must be greater than zero")
            if value % timedelta(milliseconds=1):
                raise ValueError(f"{setting} is {value}; it must be a whole number of milliseconds")

    @classmethod
    def of(cls, values: Mapping[Setting, timedelta]) -> Self:
        """Return the settings from values by name.

        Raises:
            KeyError: one that every client has is missing.
        """
        return cls(
            session_timeout=values[Setting.SESSION_TIMEOUT],
            heartbeat_interval=values[Setting.HEARTBEAT_INTERVAL],
            fetch_wait=values[Setting.FETCH_WAIT],
            max_poll_interval=values.get(Setting.MAX_POLL_INTERVAL),
            rebalance_timeout=values.get(Setting.REBALANCE_TIMEOUT),
        )

    @property
    def by_setting(self) -> dict[Setting, timedelta]:
        """The values that there are, in the API's order."""
        values = {
            Setting.SESSION_TIMEOUT: self.session_timeout,
            Setting.HEARTBEAT_INTERVAL: self.heartbeat_interval,
            Setting.FETCH_WAIT: self.fetch_wait,
            Setting.MAX_POLL_INTERVAL: self.max_poll_interval,
            Setting.REBALANCE_TIMEOUT: self.rebalance_timeout,
        }
        return {setting: value for setting, value in values.items() if value is not None}

    def __getitem__(self, setting: Setting) -> timedelta:
        return self.by_setting[setting]


class ValueSource(enum.StrEnum):
    """Where a set value was found, in the order of trust."""

    GROUP = "group configuration"
    UNREAD = "group configuration, which could not be read"
    POD = "pod"
    TEMPLATE = "template"
    POLICY = "policy"
    DEFAULT = "assumed default"


@dataclasses.dataclass(frozen=True, slots=True)
class CurrentSettings:
    """What is set now, and where each value was found."""

    settings: LivenessSettings
    sources: Mapping[Setting, ValueSource]

    @property
    def assumed(self) -> tuple[Setting, ...]:
        """The settings that nothing names, so that the library's default is assumed."""
        return tuple(setting for setting, source in self.sources.items() if source is ValueSource.DEFAULT)

    @property
    def of_group(self) -> frozenset[Setting]:
        """The settings that the broker prescribes to the group: nobody reads what its pods have of them."""
        sources = (ValueSource.GROUP, ValueSource.UNREAD)
        return frozenset(setting for setting, source in self.sources.items() if source in sources)

    @property
    def is_unread(self) -> bool:
        """Whether the broker prescribes a part of it, and nobody knows what."""
        return ValueSource.UNREAD in self.sources.values()

    def under_group(self, values: LivenessSettings) -> LivenessSettings:
        """Return values as pods would run with them: a session that the broker prescribes stays what it is."""
        if not self.of_group:
            return values
        session, interval = self.settings.session_timeout, self.settings.heartbeat_interval
        return dataclasses.replace(values, session_timeout=session, heartbeat_interval=interval)

    def runs(self, values: LivenessSettings) -> bool:
        """Whether pods run with values; those that the broker prescribes to their group do not count."""
        return self.settings == self.under_group(values)


def shown(settings: LivenessSettings, only: Collection[Setting] = tuple(Setting)) -> str:
    """Return settings, all or some, as a sentence has them."""
    values = settings.by_setting.items()
    return ", ".join(f"{setting} {durations.show(value)}" for setting, value in values if setting in only)


def changed(before: LivenessSettings, after: LivenessSettings) -> tuple[Setting, ...]:
    """Return the settings of one client whose values differ, in the API's order."""
    was = before.by_setting
    return tuple(setting for setting, value in after.by_setting.items() if was.get(setting) != value)
