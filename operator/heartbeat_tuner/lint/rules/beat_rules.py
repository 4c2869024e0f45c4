"""Does a heartbeat come in time, and often enough?"""

from collections.abc import Iterator
from typing import Final

from heartbeat_tuner.clients.client import Beater
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.limits.allowed_values import BEATS_PER_SESSION, HEARTBEAT_FLOOR
from heartbeat_tuner.lint.checked_settings import Expectations, Inspected, LintFinding
from heartbeat_tuner.lint.rule import LintSeverity, Rule

NEARLY_TWICE: Final = 1.5
"""A beat that comes this much later than the heartbeat interval says is worth a word."""

BEATS_AT_WORST: Final = 2
"""Fewer of the longest beats than these in a session, and a single late one removes a live member."""

REFUSED_BY_CLIENT: Final = Rule(
    code="HT101",
    id="refused-by-client",
    severity=LintSeverity.ERROR,
    when="the heartbeat interval is not below the session timeout (franz-go: above it), and the client refuses to "
    "start",
    why="A member that does not beat within its session is removed before its first beat, so most libraries refuse "
    "the combination when the consumer is created.",
    example="# Java\nsession.timeout.ms=10000\nheartbeat.interval.ms=10000",
    fix="Set the heartbeat interval to a third of the session timeout or less.",
)
NEVER_HOLDS: Final = Rule(
    code="HT102",
    id="beat-never-in-time",
    severity=LintSeverity.ERROR,
    when="even the shortest heartbeat period that the settings give reaches the session timeout: rebalances endlessly",
    why="The library starts, and the coordinator removes each idle member before its next beat. The group rebalances "
    "endlessly. With KafkaJS the fetch wait alone can do that, because its beat waits for the fetch loop.",
    example="# KafkaJS\nKAFKA_SESSION_TIMEOUT_MS=1000\nKAFKA_HEARTBEAT_INTERVAL_MS=333\nKAFKA_MAX_WAIT_TIME_MS=5000",
    fix="Raise the session timeout to three heartbeat periods or more. For KafkaJS, lower the fetch wait to the "
    "heartbeat interval.",
)
MAY_NOT_HOLD: Final = Rule(
    code="HT103",
    id="beat-not-always-in-time",
    severity=LintSeverity.ERROR,
    when="the longest heartbeat period that the settings give reaches the session timeout, the shortest does not",
    why="Most beats come in time, but some do not: a beat may wait for a fetch, or for a loop that checks only now "
    "and then. So live members are removed at random.",
    example="# KafkaJS, with --brokers 3\nKAFKA_SESSION_TIMEOUT_MS=7000\nKAFKA_HEARTBEAT_INTERVAL_MS=3000\n"
    "KAFKA_MAX_WAIT_TIME_MS=5000",
    fix="Raise the session timeout to three of the longest periods, or lower the fetch wait.",
)
FEW_BEATS: Final = Rule(
    code="HT104",
    id="few-beats-per-session",
    severity=LintSeverity.WARNING,
    when=f"the session timeout is shorter than {BEATS_PER_SESSION} heartbeat periods: one or two late beats remove a "
    "member",
    why="A beat is lost whenever the coordinator moves, a connection breaks or a process pauses. A session has to "
    "hold enough of them.",
    example="session.timeout.ms=10000\nheartbeat.interval.ms=5000",
    fix="Set the heartbeat interval to a third of the session timeout or less, or raise the session timeout.",
)
FEW_AT_WORST: Final = Rule(
    code="HT105",
    id="few-beats-at-worst",
    severity=LintSeverity.WARNING,
    when=f"the session timeout is shorter than {BEATS_AT_WORST} of the longest heartbeat periods: a single late beat "
    "removes a member",
    why="Usually there are enough beats in a session. But in some libraries the beat waits for fetches, and fewer "
    "than two of the longest periods fit into a session.",
    example="# Sarama\nKAFKA_SESSION_TIMEOUT=30s\nKAFKA_HEARTBEAT_INTERVAL=1s\nKAFKA_FETCH_MAX_WAIT=10s",
    fix="Lower the fetch wait to the heartbeat interval, or raise the session timeout.",
)
BEAT_WAITS: Final = Rule(
    code="HT106",
    id="beat-waits-for-fetch",
    severity=LintSeverity.INFO,
    when="KafkaJS, Sarama: the fetch wait, not the heartbeat interval, says when a beat comes",
    why="The beat waits for a fetch that is under way, so a heartbeat interval below the fetch wait does nothing for "
    "an idle member.",
    example="# KafkaJS\nKAFKA_HEARTBEAT_INTERVAL_MS=3000\nKAFKA_MAX_WAIT_TIME_MS=5000",
    fix="Set the fetch wait to the heartbeat interval.",
)
SHORT_INTERVAL: Final = Rule(
    code="HT107",
    id="interval-below-floor",
    severity=LintSeverity.INFO,
    when=f"the heartbeat interval is below {durations.show(HEARTBEAT_FLOOR)}: more requests for nothing",
    why="The session timeout says how long a member may be silent. A shorter heartbeat interval makes it learn of a "
    "rebalance a little sooner, and costs requests all day.",
    example="heartbeat.interval.ms=200",
    fix="Set it to 1 second or more.",
)
BEAT_RULES: Final = frozenset({REFUSED_BY_CLIENT, NEVER_HOLDS, MAY_NOT_HOLD, FEW_BEATS})
"""The steps of one ladder, of which the worst speaks: the session is too short for the beat."""


def _session_too_short_for_the_beat(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find the worst step of the ladder."""
    if not inspected.knows(*inspected.beat_settings):
        return
    client, values, at_rest = inspected.client, inspected.values, expectations.at_rest
    beats, session = client.period(values, at_rest), values.session_timeout
    if broken := client.interval_violation(values):
        yield LintFinding(REFUSED_BY_CLIENT, broken[0])
        return
    if beats.shortest >= session:
        rule = NEVER_HOLDS
        phrase = "an idle member is removed between its own beats, and the group rebalances endlessly"
    elif beats.longest >= session:
        rule, phrase = MAY_NOT_HOLD, "whenever a beat comes that late, a live member is removed"
    elif beats.usual * BEATS_PER_SESSION > session:
        rule = FEW_BEATS
        phrase = (
            "that is less than {count} beats of {usual}, so that one or two that are lost or late remove a live member"
        )
    elif beats.longest * BEATS_AT_WORST > session:
        rule = FEW_AT_WORST
        phrase = "a beat may take {longest}, and a single one more that is lost or late removes a live member"
    else:
        return  # nearly all: what explains the beat is worked out for the others alone
    text = say(
        "{why}, but the session ends after {session}: {what}",
        why=client.explain_period(values, at_rest),
        session=session,
        what=say(phrase, count=BEATS_PER_SESSION, usual=beats.usual, longest=beats.longest),
    )
    yield LintFinding(rule, text)


def _beat_waits_for_fetch(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find a heartbeat interval that says little about when a beat comes."""
    if not inspected.client.beat_waits_for_fetch or not inspected.knows(Setting.HEARTBEAT_INTERVAL, Setting.FETCH_WAIT):
        return
    client, interval, wait = inspected.client, inspected.values.heartbeat_interval, inspected.values.fetch_wait
    longest = client.period(inspected.values, expectations.at_rest).longest
    if wait > interval:
        phrase = (
            "the fetch wait ({wait}) is longer than the heartbeat interval ({interval}), and {client} beats {how}: an "
            "idle member's beat may take {longest}"
        )
    elif client.beater is Beater.FETCH_LOOP and expectations.brokers == 1 and longest >= NEARLY_TWICE * interval:
        phrase = (
            "a fetch wait ({wait}) a little below the heartbeat interval ({interval}) misses it by a turn: {client} "
            "beats every {longest}"
        )
    else:
        return
    phrase += "; a fetch wait of just the heartbeat interval makes it come that often"
    text = say(phrase, wait=wait, interval=interval, client=client.title, how=client.how, longest=longest)
    yield LintFinding(BEAT_WAITS, text)


def _interval_below_floor(inspected: Inspected, _: Expectations) -> Iterator[LintFinding]:
    """Find a heartbeat interval that costs requests."""
    interval = inspected.values.heartbeat_interval
    if inspected.knows(Setting.HEARTBEAT_INTERVAL) and interval < HEARTBEAT_FLOOR:
        phrase = (
            "a heartbeat interval of {interval} costs more requests and keeps no member longer in the group: the "
            "session timeout says how long a member may be silent; {floor} or more is enough"
        )
        yield LintFinding(SHORT_INTERVAL, say(phrase, interval=interval, floor=HEARTBEAT_FLOOR))


CHECKS: Final = (_session_too_short_for_the_beat, _beat_waits_for_fetch, _interval_below_floor)
