"""The settings that rule how a consumer group notices a dead member.

Names and letters follow Kafka and the project's design: S session timeout, H heartbeat interval, W fetch wait. Values
here are what *is* or what *shall be* set; whether a combination is sound depends on the client library (`clients`).
"""

import dataclasses
import enum
from datetime import timedelta


class Setting(enum.StrEnum):
    """One of the settings, by its name in the API."""

    SESSION_TIMEOUT = "sessionTimeout"
    HEARTBEAT_INTERVAL = "heartbeatInterval"
    FETCH_WAIT = "fetchWait"


@dataclasses.dataclass(frozen=True, slots=True)
class LivenessSettings:
    """A full set of values; every one is positive and a whole number of milliseconds.

    Raises:
        ValueError: a value is not positive, or no whole number of milliseconds.
    """

    session_timeout: timedelta
    heartbeat_interval: timedelta
    fetch_wait: timedelta

    def __post_init__(self) -> None:
        for setting in Setting:
            if self[setting] <= timedelta(0):
                raise ValueError(f"{setting} is {self[setting]}; it must be greater than zero")
            if self[setting] % timedelta(milliseconds=1):
                raise ValueError(f"{setting} is {self[setting]}; it must be a whole number of milliseconds")

    def __getitem__(self, setting: Setting) -> timedelta:
        return {
            Setting.SESSION_TIMEOUT: self.session_timeout,
            Setting.HEARTBEAT_INTERVAL: self.heartbeat_interval,
            Setting.FETCH_WAIT: self.fetch_wait,
        }[setting]


class Source(enum.StrEnum):
    """Where a set value was found, in the order of trust."""

    POD = "pod"
    TEMPLATE = "template"
    POLICY = "policy"
    DEFAULT = "assumed default"


@dataclasses.dataclass(frozen=True, slots=True)
class CurrentSettings:
    """What is set now, and where each value was found."""

    settings: LivenessSettings
    sources: dict[Setting, Source]

    @property
    def assumed(self) -> tuple[Setting, ...]:
        """The settings that nothing names, so that the library's default is assumed."""
        return tuple(setting for setting, source in self.sources.items() if source is Source.DEFAULT)


def changed(before: LivenessSettings, after: LivenessSettings) -> tuple[Setting, ...]:
    """Return the settings whose values differ, in the API's order."""
    return tuple(setting for setting in Setting if before[setting] != after[setting])
