"""Values that no library takes, or that were written in another unit."""

from collections.abc import Iterator
from typing import Final

from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.limits import plausibility
from heartbeat_tuner.lint.checked_settings import NAMES, Expectations, Inspected, LintFinding, Origin
from heartbeat_tuner.lint.rule import LintSeverity, Rule

IMPLAUSIBLE: Final = Rule(
    code="HT010",
    id="implausible-value",
    severity=LintSeverity.ERROR,
    when="a value is so short that no broker or client works with it, most likely a number of seconds; nothing else "
    "is checked",
    why="Kafka's clients count in milliseconds. A session timeout of 45 is 45 ms: no broker lets such a member join, "
    "and a client that starts with it is removed between two of its own heartbeats.",
    example="session.timeout.ms=45",
    fix="Write the value in milliseconds: `session.timeout.ms=45000`.",
)
OUT_OF_RANGE: Final = Rule(
    code="HT011",
    id="value-out-of-range",
    severity=LintSeverity.ERROR,
    when="librdkafka: a value is above what the library takes, after its own arithmetic: the client refuses to start",
    why="librdkafka has a range for each property: a session timeout and a heartbeat interval of 1 hour at the most, a "
    "max poll interval of 24 hours, a fetch wait of 5 minutes. confluent-kafka for JavaScript doubles the max poll "
    "interval before librdkafka sees it, so 12 hours are its limit.",
    example="# confluent-kafka for Python\nmax.poll.interval.ms=2147483647",
    fix="Take a value within the range. For longer handlers take fewer messages at once, or pause the partitions "
    "while a long job runs.",
)


def in_another_unit(inspected: Inspected) -> Iterator[LintFinding]:
    """Find values that nobody runs with, and so nothing can be said about."""
    for setting, origin in inspected.origins.items():
        why = plausibility.too_short(setting, inspected.values[setting]) if origin is Origin.GIVEN else None
        if why is not None:
            phrase = (
                "the {setting} reads as {value}, and {why}: give it in milliseconds, or with its unit; {meant} are {ms}"
            )
            value, meant = inspected.values[setting], inspected.values[setting] * 1_000
            text = say(phrase, setting=NAMES[setting], value=value, why=why, meant=meant, ms=durations.to_ms(meant))
            yield LintFinding(IMPLAUSIBLE, text)


def _above_the_range(inspected: Inspected, _: Expectations) -> Iterator[LintFinding]:
    """Find values that the library refuses, whatever the others are."""
    client = inspected.client
    for setting, most in client.longest.items():
        if not inspected.knows(setting):
            continue
        value = inspected.values[setting]
        factor = arithmetic(client, setting)
        if factor * value > most:
            named = "{setting} of {value}" if factor == 1 else "{setting} of {value}, which it doubles"
            phrase = "{client} refuses to start with a {named}: the longest that it takes is {most}"
            what = say(named, setting=NAMES[setting], value=value)
            yield LintFinding(OUT_OF_RANGE, say(phrase, client=client.title, named=what, most=most))


def arithmetic(client: Client, setting: Setting) -> int:
    """Return how many times a value the library takes."""
    return client.poll_limit_factor if setting is Setting.MAX_POLL_INTERVAL else 1


CHECKS: Final = (_above_the_range,)
