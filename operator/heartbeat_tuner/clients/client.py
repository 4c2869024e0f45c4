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
        defaults: what the library uses where nothing is set.
        env_preset: the environment names expected unless a policy names others; values in whole milliseconds.
        period: settings and number of brokers to the idle heartbeat period.
        violations: the library's own rules that a combination breaks, as sentences; empty when it is sound.
        explain_period: why the period is what it is, as a sentence, for given settings and number of brokers.
    """

    name: str
    defaults: LivenessSettings
    env_preset: Mapping[Setting, str]
    period: Callable[[LivenessSettings, int], Period]
    violations: Callable[[LivenessSettings], tuple[str, ...]]
    explain_period: Callable[[LivenessSettings, int], str]

    @property
    def default_session_timeout(self) -> timedelta:
        """The library's default session timeout."""
        return self.defaults.session_timeout
