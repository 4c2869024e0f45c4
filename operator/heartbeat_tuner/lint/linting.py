"""Which settings cannot work, or work otherwise than they look? Rules that need no metrics and no cluster.

What is known here is what somebody wrote down: values, and perhaps how long a handler takes. Each rule follows from
the client's own physics (`clients`) or from what a broker does by default; nothing is guessed from experience. A value
that cannot be seen is unknown, and the rules that need it are left out. `suggestions` says which values would hold.
"""

import dataclasses
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients.client import Beater, Hung
from heartbeat_tuner.domain.kafka_groups import DEFAULT_MAX_SESSION, DEFAULT_MIN_SESSION
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.sentences import Sentence, say
from heartbeat_tuner.limits import plausibility
from heartbeat_tuner.limits.allowed_values import BEATS_PER_SESSION, HEARTBEAT_FLOOR
from heartbeat_tuner.lint import rule_catalogue
from heartbeat_tuner.lint.checked_settings import NAMES, Expectations, Inspected, LintFinding, Origin

NEARLY_TWICE: Final = 1.5
"""A beat that comes this much later than the heartbeat interval says is worth a word."""


def lint(inspected: Inspected, expectations: Expectations) -> tuple[LintFinding, ...]:
    """Return what the rules find, worst first; of values that were read in a wrong unit nothing but that."""
    misread = tuple(_in_another_unit(inspected))
    if misread:
        return misread
    lint_findings = [finding for check in _CHECKS for finding in check(inspected, expectations)]
    return tuple(sorted(lint_findings, key=lambda finding: rule_catalogue.RULES.index(finding.rule)))


def silence(inspected: Inspected, expectations: Expectations) -> timedelta | None:
    """Return how long a member may be silent while handlers run; None if they delay no beat, or nothing is known."""
    client, handler = inspected.client, expectations.handler_time
    blocks = client.blocking_delays_beat and expectations.blocking_messages > 0
    if handler is None or not (client.handler_delays_beat or blocks):
        return None
    busy = dataclasses.replace(expectations.at_rest, handler=handler, blocking=expectations.blocking_messages)
    return client.period(inspected.values, busy).longest


def _in_another_unit(inspected: Inspected) -> Iterator[LintFinding]:
    """Find values that nobody runs with, and so nothing can be said about."""
    for setting, origin in inspected.origins.items():
        why = plausibility.too_short(setting, inspected.values[setting]) if origin is Origin.GIVEN else None
        if why is not None:
            phrase = "the {setting} reads as {value}, and {why}: give it in milliseconds, or with its unit"
            text = say(phrase, setting=NAMES[setting], value=inspected.values[setting], why=why)
            yield LintFinding(rule_catalogue.IMPLAUSIBLE, text)


def _session_too_short_for_the_beat(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find the worst step of the ladder."""
    if not inspected.knows(*inspected.beat_settings):
        return
    client, values, at_rest = inspected.client, inspected.values, expectations.at_rest
    beats, session = client.period(values, at_rest), values.session_timeout
    if broken := client.interval_violation(values):
        yield LintFinding(rule_catalogue.REFUSED_BY_CLIENT, broken[0])
        return
    if beats.shortest >= session:
        rule = rule_catalogue.NEVER_HOLDS
        phrase = "an idle member is removed between its own beats, and the group rebalances for ever"
    elif beats.longest >= session:
        rule, phrase = rule_catalogue.MAY_NOT_HOLD, "whenever a beat comes that late, a live member is removed"
    elif beats.usual * BEATS_PER_SESSION > session:
        rule = rule_catalogue.FEW_BEATS
        phrase = (
            "that is less than {count} beats of {usual}, so that one or two that are lost or late remove a live member"
        )
    else:
        return  # nearly all: what explains the beat is worked out for the others alone
    text = say(
        "{why}, but the session ends after {session}: {what}",
        why=client.explain_period(values, at_rest),
        session=session,
        what=say(phrase, count=BEATS_PER_SESSION, usual=beats.usual),
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
    yield LintFinding(rule_catalogue.BEAT_WAITS, text)


def _interval_below_floor(inspected: Inspected, _: Expectations) -> Iterator[LintFinding]:
    """Find a heartbeat interval that costs requests."""
    interval = inspected.values.heartbeat_interval
    if inspected.knows(Setting.HEARTBEAT_INTERVAL) and interval < HEARTBEAT_FLOOR:
        phrase = (
            "a heartbeat interval of {interval} asks for more requests and keeps nobody longer in the group: how long "
            "a member may be silent is the session timeout; {floor} or more is enough"
        )
        yield LintFinding(rule_catalogue.SHORT_INTERVAL, say(phrase, interval=interval, floor=HEARTBEAT_FLOOR))


def _session_outside_limits(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find sessions that brokers refuse, or that last too long."""
    if not inspected.knows(Setting.SESSION_TIMEOUT):
        return
    session = inspected.values.session_timeout
    if not DEFAULT_MIN_SESSION <= session <= DEFAULT_MAX_SESSION:
        below = session < DEFAULT_MIN_SESSION
        bound = DEFAULT_MIN_SESSION if below else DEFAULT_MAX_SESSION
        where, side = ("below", "min") if below else ("above", "max")
        phrase = (
            "the session timeout ({session}) is {where} {bound}, the broker's group.{side}.session.timeout.ms "
            "(assumed: Kafka's default; yours is not asked): a broker with that bound does not let the member join"
        )
        text = say(phrase, session=session, where=where, bound=bound, side=side)
        yield LintFinding(rule_catalogue.OUTSIDE_BROKER_BOUNDS, text)
    if session > expectations.max_detection_time:
        phrase = (
            "a member that crashes is noticed only when its session timeout ({session}) is over, and nobody reads its "
            "partitions until then; --max-detection-time allows {allowed}"
        )
        text = say(phrase, session=session, allowed=expectations.max_detection_time)
        yield LintFinding(rule_catalogue.SLOW_DETECTION, text)


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
    yield LintFinding(rule_catalogue.HANDLER_OUTLASTS_SESSION, text)


def _handlers(expectations: Expectations) -> Sentence:
    """Return what is known of handlers, as part of a sentence; nobody is silent where nothing is."""
    count = expectations.blocking_messages
    phrase = "{handler} for each of {count} messages" if count > 1 else "{handler}"
    return say(phrase, handler=expectations.handler_time, count=count)


def _limit_below_session(inspected: Inspected, _: Expectations) -> Iterator[LintFinding]:
    """Find limits that the library wants to be no shorter than the session."""
    client = inspected.client
    if inspected.knows(Setting.SESSION_TIMEOUT, *client.must_cover_session):
        for broken in client.limit_violations(inspected.values):
            yield LintFinding(rule_catalogue.LIMIT_BELOW_SESSION, broken)


def _handler_hangs(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find clients that do not notice a handler that never returns."""
    client = inspected.client
    if client.hung is Hung.UNNOTICED or (client.hung is Hung.PLACEMENT and expectations.brokers > 1):
        phrase = (
            "{client} has no max poll interval: a member whose handler hangs {hung}; give handlers a time limit of "
            "their own"
        )
        yield LintFinding(rule_catalogue.HUNG_HANDLER, say(phrase, client=client.title, hung=client.hung))


def _rebalance_timeout(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find handlers that a rebalance does not wait for."""
    limit, handler = inspected.values.rebalance_timeout, expectations.handler_time
    if not inspected.client.rejoin_waits_for_handler or not inspected.knows(Setting.REBALANCE_TIMEOUT):
        return
    if limit is None or handler is None or handler < limit:
        return
    phrase = (
        "a rebalance waits {limit} for a member (rebalance timeout), and a handler takes {handler}: a member that is "
        "busy then is dropped, which makes the next rebalance"
    )
    yield LintFinding(rule_catalogue.HANDLER_OUTLASTS_REBALANCE, say(phrase, limit=limit, handler=handler))


def _poll_interval(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find poll limits that handlers break, or that look like something else than they are."""
    client, limit, handler = inspected.client, inspected.values.max_poll_interval, expectations.handler_time
    default = client.defaults.max_poll_interval
    if limit is None or default is None or not inspected.knows(Setting.MAX_POLL_INTERVAL):
        return
    waits = client.poll_limit_factor * limit
    named = "max poll interval" if waits == limit else "max poll interval {limit}, doubled"
    if handler is not None and handler >= waits:
        phrase = (
            "a member that does not poll for {waits} ({named}) leaves the group though it beats, and the handler of "
            "one poll takes {handler}; raise the limit, or take fewer messages with each poll"
        )
        text = say(phrase, waits=waits, named=say(named, limit=limit), handler=handler)
        yield LintFinding(rule_catalogue.HANDLER_OUTLASTS_POLL, text)
    rules_rebalance = client.rebalance_wait is Setting.MAX_POLL_INTERVAL
    covered = Setting.MAX_POLL_INTERVAL in client.must_cover_session
    if not covered and inspected.knows(Setting.SESSION_TIMEOUT) and limit < inspected.values.session_timeout:
        phrase = (
            "the max poll interval ({limit}) is shorter than the session timeout ({session}): a member that is slow "
            "leaves sooner than one that is dead is removed"
        )
        phrase += ", and has no longer than that to rejoin" if rules_rebalance else ""
        text = say(phrase, limit=limit, session=inspected.values.session_timeout)
        yield LintFinding(rule_catalogue.POLL_BELOW_SESSION, text)
    if limit > default:
        phrase = "a handler that hangs is noticed only after {waits} ({named})"
        slow = ", and so long may every rebalance of the whole group wait for one slow member"
        text = say(phrase + slow if rules_rebalance else phrase, waits=waits, named=say(named, limit=limit))
        yield LintFinding(rule_catalogue.LONG_POLL, text)


def _set_at_the_broker(inspected: Inspected, _: Expectations) -> Iterator[LintFinding]:
    """Find settings that the consumer protocol does not let a client have."""
    misplaced = inspected.misplaced
    if not misplaced:
        return
    named, it = " and ".join(NAMES[setting] for setting in misplaced), "it" if len(misplaced) == 1 else "them"
    cure = (
        f"take {it} out, and set consumer.session.timeout.ms and consumer.heartbeat.interval.ms of the group at the "
        f"broker"
    )
    if inspected.client.ignores_broker_settings:
        rule = rule_catalogue.IGNORED
        phrase = "the broker says the {settings}: {client} ignores what the client has"
    else:
        rule = rule_catalogue.CONSUMER_PROTOCOL
        phrase = "the {settings} must not be set in the client: {client} refuses to start"
    what = say(phrase, settings=named, client=inspected.client.title)
    yield LintFinding(rule, say("in a group of the consumer protocol {what}; {cure}", what=what, cure=cure))


def _not_seen(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find values that could not be looked at."""
    needed = [setting for setting in inspected.client.settings if _matters(inspected, setting, expectations)]
    unseen = [NAMES[setting] for setting in needed if inspected.origins[setting] is Origin.UNSEEN]
    if unseen:
        options = ", ".join(f"--{name.replace(' ', '-')}" for name in unseen)
        phrase = (
            "{settings} may be set in a Secret or in a ConfigMap that is not in the files, which cannot be seen: what "
            "needs them was not checked; say what they are with {options}"
        )
        yield LintFinding(rule_catalogue.UNSEEN, say(phrase, settings=" and ".join(unseen), options=options))
    if all(origin in {Origin.DEFAULT, Origin.BROKER} for origin in inspected.origins.values()):
        phrase = (
            "no setting is given, so the defaults of {client} were checked; if the application sets them under other "
            "names, say which"
        )
        yield LintFinding(rule_catalogue.NOTHING_SET, say(phrase, client=inspected.client.title))


def _matters(inspected: Inspected, setting: Setting, expectations: Expectations) -> bool:
    """Whether a rule asks for the setting."""
    if setting is Setting.REBALANCE_TIMEOUT:
        waits = inspected.client.rejoin_waits_for_handler and expectations.handler_time is not None
        return waits or setting in inspected.client.must_cover_session
    return setting in inspected.beat_settings or setting is Setting.MAX_POLL_INTERVAL


_CHECKS: Final[tuple[Callable[[Inspected, Expectations], Iterator[LintFinding]], ...]] = (
    _session_too_short_for_the_beat,
    _beat_waits_for_fetch,
    _interval_below_floor,
    _session_outside_limits,
    _handler_delays_beat,
    _handler_hangs,
    _limit_below_session,
    _poll_interval,
    _rebalance_timeout,
    _set_at_the_broker,
    _not_seen,
)
