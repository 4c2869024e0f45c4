"""All rules, in the order in which findings are told: the worst first."""

from typing import Final

from heartbeat_tuner.lint.rule import Rule
from heartbeat_tuner.lint.rules import (
    beat_rules,
    migration_rules,
    poll_rules,
    protocol_rules,
    reading_rules,
    rebalance_rules,
    session_rules,
    static_id_rules,
    value_rules,
)

RULES: Final = (
    # Errors.
    reading_rules.UNREADABLE_FILE,
    reading_rules.NOTHING_RECOGNISED,
    reading_rules.MISSPELT_NAME,
    reading_rules.IGNORED_SETTING,
    reading_rules.UNREADABLE_VALUE,
    reading_rules.NAMED_VARIABLE_MISSING,
    value_rules.IMPLAUSIBLE,
    value_rules.OUT_OF_RANGE,
    beat_rules.REFUSED_BY_CLIENT,
    poll_rules.LIMIT_BELOW_SESSION,
    beat_rules.NEVER_HOLDS,
    beat_rules.MAY_NOT_HOLD,
    session_rules.HANDLER_OUTLASTS_SESSION,
    poll_rules.HANDLER_OUTLASTS_POLL,
    rebalance_rules.REBALANCE_BELOW_BEAT,
    rebalance_rules.REQUEST_BELOW_FETCH,
    rebalance_rules.REQUEST_ABOVE_IDLE,
    protocol_rules.CONSUMER_PROTOCOL,
    protocol_rules.ASSIGNOR_WITH_CONSUMER,
    protocol_rules.REMOTE_ASSIGNOR,
    protocol_rules.ASSIGNORS_MIXED,
    protocol_rules.PROTOCOL_UNSUPPORTED,
    protocol_rules.VERSION_LACKS,
    protocol_rules.KAFKA_REFUSES,
    static_id_rules.STATIC_ID_SHARED,
    static_id_rules.STATIC_ID_DUPLICATE,
    migration_rules.NO_PROTOCOL,
    migration_rules.TOO_OLD,
    migration_rules.THROWS,
    migration_rules.CUSTOM_ASSIGNOR,
    reading_rules.NO_VALUES_FIT,
    # Warnings.
    protocol_rules.IGNORED,
    rebalance_rules.HANDLER_OUTLASTS_REBALANCE,
    beat_rules.FEW_BEATS,
    beat_rules.FEW_AT_WORST,
    session_rules.PAUSE_OUTLASTS_SESSION,
    session_rules.OUTSIDE_BROKER_BOUNDS,
    session_rules.NEAR_BROKER_FLOOR,
    session_rules.SLOW_DETECTION,
    poll_rules.HUGE_POLL,
    poll_rules.TINY_POLL,
    rebalance_rules.JOINING_TIMES_OUT,
    static_id_rules.STATIC_ID_OF_DEPLOYMENT,
    static_id_rules.STATIC_ID_RANDOM,
    static_id_rules.STATIC_ID_OVERLAPS,
    static_id_rules.STATIC_ID_UNSUPPORTED,
    migration_rules.IGNORES,
    migration_rules.FLAWED,
    migration_rules.SESSION_MOVES,
    migration_rules.STATIC_IDS,
    reading_rules.UNSEEN,
    reading_rules.GIVEN_TWICE,
    reading_rules.CLIENT_UNKNOWN,
    # For information.
    beat_rules.BEAT_WAITS,
    beat_rules.SHORT_INTERVAL,
    poll_rules.HUNG_HANDLER,
    poll_rules.POLL_BELOW_SESSION,
    poll_rules.LONG_POLL,
    rebalance_rules.JOINING_MAY_TIME_OUT,
    migration_rules.ASSIGNOR,
    migration_rules.PATTERNS,
    migration_rules.DETECTION,
    migration_rules.PATH,
    reading_rules.DOUBTFUL_NAME,
    reading_rules.NOTHING_SET,
)
"""Of each severity the worst first."""

CHECKS: Final = (
    *value_rules.CHECKS,
    *beat_rules.CHECKS,
    *session_rules.CHECKS,
    *poll_rules.CHECKS,
    *rebalance_rules.CHECKS,
    *protocol_rules.CHECKS,
    *static_id_rules.CHECKS,
    *migration_rules.CHECKS,
    *reading_rules.CHECKS,
)
"""What raises those that need settings alone."""


def selected(selector: str) -> tuple[Rule, ...]:
    """Return the rules that a selector means: an id, a code, or the beginning of codes.

    Raises:
        ValueError: it means none.
    """
    rules = tuple(rule for rule in RULES if rule.matches(selector))
    if not rules:
        raise ValueError(f"{selector!r} is no rule; give a code such as HT101, the beginning of codes, or an id")
    return rules
