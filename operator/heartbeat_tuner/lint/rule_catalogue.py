"""The rules of `linting`: what each is called, how bad it is, when it speaks.

The ids are API: people filter by them.
"""

import dataclasses
import enum
from typing import Final

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.kafka_groups import DEFAULT_MAX_SESSION, DEFAULT_MIN_SESSION
from heartbeat_tuner.limits.allowed_values import BEATS_PER_SESSION, HEARTBEAT_FLOOR


class LintSeverity(enum.StrEnum):
    """How bad a finding is."""

    ERROR = "error"  # it does not work, or live members are removed
    WARNING = "warning"  # it works until something ordinary happens, or rests on an assumption
    INFO = "info"  # worth knowing


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """A rule by its id; `when` says when it speaks, for the reference page."""

    id: str
    severity: LintSeverity
    when: str


IMPLAUSIBLE: Final = Rule(
    "implausible-value",
    LintSeverity.ERROR,
    "a value is so short that no broker or client runs with it: a number of seconds, most likely; nothing else is "
    "checked",
)
REFUSED_BY_CLIENT: Final = Rule(
    "refused-by-client",
    LintSeverity.ERROR,
    "the heartbeat interval is not below the session timeout (franz-go: above it), and the client refuses to start",
)
LIMIT_BELOW_SESSION: Final = Rule(
    "limit-below-session",
    LintSeverity.ERROR,
    "librdkafka: the max poll interval, platformatic: the rebalance timeout is shorter than the session timeout: the "
    "client refuses to start",
)
NEVER_HOLDS: Final = Rule(
    "beat-never-in-time",
    LintSeverity.ERROR,
    "even the shortest heartbeat period that the settings give reaches the session timeout: rebalances for ever",
)
MAY_NOT_HOLD: Final = Rule(
    "beat-not-always-in-time",
    LintSeverity.ERROR,
    "the longest heartbeat period that the settings give reaches the session timeout, the shortest does not",
)
FEW_BEATS: Final = Rule(
    "few-beats-per-session",
    LintSeverity.WARNING,
    f"the session timeout is shorter than {BEATS_PER_SESSION} heartbeat periods: one or two late beats remove a member",
)
BEAT_WAITS: Final = Rule(
    "beat-waits-for-fetch",
    LintSeverity.INFO,
    "KafkaJS, Sarama: the fetch wait, not the heartbeat interval, says when a beat comes",
)
SHORT_INTERVAL: Final = Rule(
    "interval-below-floor",
    LintSeverity.INFO,
    f"the heartbeat interval is below {durations.show(HEARTBEAT_FLOOR)}: more requests for nothing",
)
OUTSIDE_BROKER_BOUNDS: Final = Rule(
    "session-outside-broker-bounds",
    LintSeverity.WARNING,
    f"the session timeout is outside {durations.show(DEFAULT_MIN_SESSION)} to {durations.show(DEFAULT_MAX_SESSION)}, "
    "what brokers accept by default (assumed: yours is not asked)",
)
SLOW_DETECTION: Final = Rule(
    "slow-detection",
    LintSeverity.WARNING,
    "the session timeout is above `--max-detection-time`: a crash is noticed too late",
)
HANDLER_OUTLASTS_SESSION: Final = Rule(
    "handler-outlasts-session",
    LintSeverity.ERROR,
    "clients whose beat waits for handlers, with `--handler-time` (and `--blocking-messages` where it waits only for "
    "those that keep the processor): a member may be silent for as long as the session timeout",
)
HUNG_HANDLER: Final = Rule(
    "hung-handler-unnoticed",
    LintSeverity.INFO,
    "clients without a max poll interval (KafkaJS only with `--brokers` above 1): a member whose handler hangs may "
    "beat for ever",
)
HANDLER_OUTLASTS_POLL: Final = Rule(
    "handler-outlasts-poll-interval",
    LintSeverity.ERROR,
    "clients with a max poll interval, with `--handler-time`: the handler of one poll is not shorter",
)
HANDLER_OUTLASTS_REBALANCE: Final = Rule(
    "handler-outlasts-rebalance-timeout",
    LintSeverity.WARNING,
    "KafkaJS, Sarama, with `--handler-time`: the handler is not shorter than the rebalance timeout, so a rebalance "
    "drops a busy member",
)
IGNORED: Final = Rule(
    "consumer-protocol-ignores",
    LintSeverity.WARNING,
    "platformatic in a group of the consumer protocol: session timeout or heartbeat interval are given, and do nothing",
)
POLL_BELOW_SESSION: Final = Rule(
    "poll-interval-below-session",
    LintSeverity.INFO,
    "the max poll interval is shorter than the session timeout",
)
LONG_POLL: Final = Rule(
    "long-poll-interval",
    LintSeverity.INFO,
    "the max poll interval is above the library's default: a handler that hangs is noticed late",
)
CONSUMER_PROTOCOL: Final = Rule(
    "consumer-protocol-refuses",
    LintSeverity.ERROR,
    "groups of the consumer protocol (`java-kip848`, `group.protocol=consumer`): session timeout or heartbeat interval "
    "are given, which are set at the broker: the client refuses to start",
)
UNSEEN: Final = Rule(
    "setting-unseen",
    LintSeverity.WARNING,
    "a value comes from where it cannot be seen (a Secret, a ConfigMap that is not in the files): not checked",
)
NOTHING_SET: Final = Rule("nothing-set", LintSeverity.INFO, "no setting is given: the library's defaults were checked")

RULES: Final = (
    IMPLAUSIBLE,
    REFUSED_BY_CLIENT,
    LIMIT_BELOW_SESSION,
    NEVER_HOLDS,
    MAY_NOT_HOLD,
    HANDLER_OUTLASTS_SESSION,
    HANDLER_OUTLASTS_POLL,
    CONSUMER_PROTOCOL,
    IGNORED,
    HANDLER_OUTLASTS_REBALANCE,
    FEW_BEATS,
    OUTSIDE_BROKER_BOUNDS,
    SLOW_DETECTION,
    UNSEEN,
    BEAT_WAITS,
    SHORT_INTERVAL,
    HUNG_HANDLER,
    POLL_BELOW_SESSION,
    LONG_POLL,
    NOTHING_SET,
)
"""All rules, worst first: the order of findings."""

BEAT_RULES: Final = frozenset({REFUSED_BY_CLIENT, NEVER_HOLDS, MAY_NOT_HOLD, FEW_BEATS})
"""The steps of one ladder, of which the worst speaks: the session is too short for the beat."""
