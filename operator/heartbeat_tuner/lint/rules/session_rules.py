"""Is the session long enough for the broker and for silences, and short enough to notice a crash?"""

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.kafka_groups import DEFAULT_MAX_SESSION, DEFAULT_MIN_SESSION
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.sentences import Sentence, say
from heartbeat_tuner.lint.checked_settings import Expectations, Inspected, LintFinding
from heartbeat_tuner.lint.rule import LintSeverity, Rule

NEAR_FLOOR: Final = timedelta(seconds=10)
"""Kafka's own default until 3.0, which KIP-735 raised: a coordinator that moves already takes about as long."""

OUTSIDE_BROKER_BOUNDS: Final = Rule(
    code="HT111",
    id="session-outside-broker-bounds",
    severity=LintSeverity.WARNING,
    when=f"the session timeout is outside {durations.show(DEFAULT_MIN_SESSION)} to "
    f"{durations.show(DEFAULT_MAX_SESSION)}, what brokers accept by default, or outside `--broker-min-session` and "
    "`--broker-max-session`",
    why="A broker refuses a member whose session timeout is outside its bounds (INVALID_SESSION_TIMEOUT). Java fails "
    "at the first poll; librdkafka tries again endlessly and consumes nothing.",
    example="session.timeout.ms=5000",
    fix="Take a value within the bounds, or change group.min.session.timeout.ms at the brokers.",
)
NEAR_BROKER_FLOOR: Final = Rule(
    code="HT112",
    id="session-near-broker-floor",
    severity=LintSeverity.WARNING,
    when=f"the session timeout is below {durations.show(NEAR_FLOOR)}, and no such fast detection is asked for "
    "(`--max-detection-time`)",
    why="The move of a coordinator to another broker, a long garbage collection or a throttled CPU silence a member "
    "for seconds. Kafka raised its default of 10 s to 45 s for that reason (KIP-735).",
    example="session.timeout.ms=6000\nheartbeat.interval.ms=2000",
    fix="Take the library's default. If a crash must be noticed that soon, say so with `--max-detection-time`.",
)
SLOW_DETECTION: Final = Rule(
    code="HT113",
    id="slow-detection",
    severity=LintSeverity.WARNING,
    when="the session timeout is above `--max-detection-time`: a crash is noticed too late",
    why="Nobody reads the partitions of a member that crashed until its session is over.",
    example="session.timeout.ms=180000",
    fix="Lower the session timeout, or allow a later detection with `--max-detection-time`.",
)
HANDLER_OUTLASTS_SESSION: Final = Rule(
    code="HT114",
    id="handler-outlasts-session",
    severity=LintSeverity.ERROR,
    when="clients whose beat waits for handlers, with `--handler-time` (and `--blocking-messages` where it waits only "
    "for those that keep the processor): a member may be silent for as long as the session timeout",
    why="KafkaJS beats only between messages, and a timer of an event loop only when handlers give it a turn. A "
    "handler that takes longer than the session makes the coordinator remove a member that works.",
    example="heartbeat-tuner check --client kafkajs --session-timeout 30s --handler-time 40s",
    fix="Call heartbeat() in the handler (KafkaJS), give the event loop a turn after each message, or raise the "
    "session timeout.",
)
PAUSE_OUTLASTS_SESSION: Final = Rule(
    code="HT115",
    id="pause-outlasts-session",
    severity=LintSeverity.WARNING,
    when="with `--longest-pause`: a member that pauses so long may be silent for its session timeout",
    why="A pause of the whole process (garbage collection, CPU throttling, a frozen node) delays every library's "
    "beat, and comes on top of the heartbeat period.",
    example="heartbeat-tuner check --client java --session-timeout 20s --longest-pause 18s",
    fix="Raise the session timeout above the heartbeat period and the pause together.",
)


def silence(inspected: Inspected, expectations: Expectations) -> timedelta | None:
    """Return how long a member may be silent while handlers run; None if they delay no beat, or nothing is known."""
    client, handler = inspected.client, expectations.handler_time
    blocks = client.blocking_delays_beat and expectations.blocking_messages > 0
    if handler is None or not (client.handler_delays_beat or blocks):
        return None
    busy = dataclasses.replace(expectations.at_rest, handler=handler, blocking=expectations.blocking_messages)
    return client.period(inspected.values, busy).longest


def paused_silence(inspected: Inspected, expectations: Expectations) -> timedelta | None:
    """Return how long a member may be silent that pauses; None if nobody said how long it may."""
    if expectations.longest_pause is None:
        return None
    return inspected.client.period(inspected.values, expectations.at_rest).longest + expectations.longest_pause


def _session_outside_limits(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find sessions that brokers refuse, or that last too long."""
    if not inspected.knows(Setting.SESSION_TIMEOUT):
        return
    session, bounds = inspected.values.session_timeout, expectations.broker_session
    allowed = expectations.detection_time(inspected.client)
    if not bounds.least <= session <= bounds.most:
        below = session < bounds.least
        bound, where, side = (bounds.least, "below", "min") if below else (bounds.most, "above", "max")
        source = "" if bounds.is_known(side) else " (assumed: Kafka's default; yours is not asked)"
        phrase = (
            "the session timeout ({session}) is {where} {bound}, the broker's group.{side}.session.timeout.ms{source}: "
            "a broker with that bound does not let the member join"
        )
        text = say(phrase, session=session, where=where, bound=bound, side=side, source=source)
        yield LintFinding(OUTSIDE_BROKER_BOUNDS, text)
    elif session < NEAR_FLOOR and session < allowed:
        phrase = (
            "a session timeout of {session} is shorter than many silences of live members: a coordinator that "
            "moves, a garbage collection, a throttled CPU; Kafka raised its own default from {near} for that"
        )
        yield LintFinding(NEAR_BROKER_FLOOR, say(phrase, session=session, near=NEAR_FLOOR))
    if session > allowed:
        phrase = (
            "a member that crashes is noticed only when its session timeout ({session}) is over, and nobody reads its "
            "partitions until then; --max-detection-time allows {allowed}"
        )
        text = say(phrase, session=session, allowed=allowed)
        yield LintFinding(SLOW_DETECTION, text)


def _handler_delays_beat(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find handlers that keep a client from beating."""
    client, session = inspected.client, inspected.values.session_timeout
    silent = silence(inspected, expectations)
    if silent is None or not inspected.knows(*inspected.beat_settings) or silent < session:
        return
    if client.handler_delays_beat:
        why = "does not beat while a handler runs"
        cure = "let the handler call heartbeat() now and then, or raise the session timeout"
    else:
        why = "does not beat while a handler keeps the processor, nor between messages that are handed out at once"
        cure = "give the event loop a turn after each message, or raise the session timeout"
    text = say(
        "{client} {why}: with handlers of {handlers} a member may be silent for {silence}, but the session ends after "
        "{session}; {cure}",
        client=client.title,
        why=why,
        handlers=_handlers(expectations),
        silence=silent,
        session=session,
        cure=cure,
    )
    yield LintFinding(HANDLER_OUTLASTS_SESSION, text)


def _handlers(expectations: Expectations) -> Sentence:
    """Return what is known of handlers, as part of a sentence; nobody is silent where nothing is."""
    count = expectations.blocking_messages
    phrase = "{handler} for each of {count} messages" if count > 1 else "{handler}"
    return say(phrase, handler=expectations.handler_time, count=count)


def _pause_outlasts_session(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find sessions that a pause of the process outlasts."""
    silent, session = paused_silence(inspected, expectations), inspected.values.session_timeout
    if silent is None or not inspected.knows(*inspected.beat_settings) or silent < session:
        return
    phrase = (
        "a member that pauses for {pause} may be silent for {silence}, but the session ends after {session}: a live "
        "member is removed"
    )
    text = say(phrase, pause=expectations.longest_pause, silence=silent, session=session)
    yield LintFinding(PAUSE_OUTLASTS_SESSION, text)


CHECKS: Final = (_session_outside_limits, _handler_delays_beat, _pause_outlasts_session)
