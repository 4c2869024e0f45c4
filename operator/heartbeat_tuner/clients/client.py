"""What every client library answers.

A `Client` is the card of one library: its defaults, the environment names people usually give its settings, and the
two pure functions that carry its physics: the heartbeat period that follows from given settings, and the rules a
combination must satisfy.
"""

import dataclasses
from collections.abc import Callable, Mapping
from datetime import timedelta

from heartbeat_tuner.domain.liveness import LivenessSettings, Setting


@dataclasses.dataclass(frozen=True, slots=True)
class Period:
    """The time between two heartbeats as the coordinator sees them, of a member that has nothing to do.

    Attributes:
        shortest: the least the settings give.
        longest: the most the settings give; delays of the workload come on top.
    """

    shortest: timedelta
    longest: timedelta


@dataclasses.dataclass(frozen=True, slots=True)
class Client:
    """One client library.

    Attributes:
        name: as policies call it.
        title: as sentences call it.
        defaults: what the library uses where nothing is set.
        env_preset: the environment names expected unless a policy names others; values in whole milliseconds. Its keys
            are the settings that the library has.
        beat_waits_for_fetch: whether a heartbeat has to wait for the fetch loop, so that a shorter fetch wait makes it
            come sooner.
        handler_delays_beat: whether a heartbeat has to wait for the handler of messages too.
        period: settings and number of brokers to the idle heartbeat period.
        violations: the library's own rules that a combination breaks, as sentences; empty when it is sound.
        explain_period: why the period is what it is, as a sentence, for given settings and number of brokers.
    """

    name: str
    title: str
    defaults: LivenessSettings
    env_preset: Mapping[Setting, str]
    beat_waits_for_fetch: bool
    handler_delays_beat: bool
    period: Callable[[LivenessSettings, int], Period]
    violations: Callable[[LivenessSettings], tuple[str, ...]]
    explain_period: Callable[[LivenessSettings, int], str]

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings that the library has, in the API's order."""
        return tuple(self.defaults.by_setting)

    @property
    def default_session_timeout(self) -> timedelta:
        """The library's default session timeout."""
        return self.defaults.session_timeout
