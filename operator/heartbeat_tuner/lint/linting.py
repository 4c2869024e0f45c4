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
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.kafka_groups import DEFAULT_MAX_SESSION, DEFAULT_MIN_SESSION
from heartbeat_tuner.domain.liveness import Setting
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
            yield LintFinding(
                rule_catalogue.IMPLAUSIBLE,
                f"the {NAMES[setting]} reads as {durations.show(inspected.values[setting])}, and {why}: give it in "
                f"milliseconds, or with its unit",
            )


def _session_too_short_for_the_beat(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find the worst step of the ladder."""
    if not inspected.knows(*inspected.beat_settings):
        return
    client, values, at_rest = inspected.client, inspected.values, expectations.at_rest
    beats, session = client.period(values, at_rest), values.session_timeout
    why = f"{client.explain_period(values, at_rest)}, but the session ends after {durations.show(session)}"
    if broken := client.interval_violation(values):
        yield LintFinding(rule_catalogue.REFUSED_BY_CLIENT, broken[0])
    elif beats.shortest >= session:
        yield LintFinding(
            rule_catalogue.NEVER_HOLDS,
            f"{why}: an idle member is removed between its own beats, and the group rebalances for ever",
        )
    elif beats.longest >= session:
        yield LintFinding(
            rule_catalogue.MAY_NOT_HOLD, f"{why}: whenever a beat comes that late, a live member is removed"
        )
    elif beats.usual * BEATS_PER_SESSION > session:
        yield LintFinding(
            rule_catalogue.FEW_BEATS,
            f"{why}: that is less than {BEATS_PER_SESSION} beats of {durations.show(beats.usual)}, so that one or two "
            f"that are lost or late remove a live member",
        )


def _beat_waits_for_fetch(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find a heartbeat interval that says little about when a beat comes."""
    if not inspected.client.beat_waits_for_fetch or not inspected.knows(Setting.HEARTBEAT_INTERVAL, Setting.FETCH_WAIT):
        return
    client, interval, wait = inspected.client, inspected.values.heartbeat_interval, inspected.values.fetch_wait
    longest = client.period(inspected.values, expectations.at_rest).longest
    cure = "a fetch wait of just the heartbeat interval makes it come that often"
    if wait > interval:
        yield LintFinding(
            rule_catalogue.BEAT_WAITS,
            f"the fetch wait ({durations.show(wait)}) is longer than the heartbeat interval "
            f"({durations.show(interval)}), and {client.title} beats {client.how}: an idle member's beat may take "
            f"{durations.show(longest)}; {cure}",
        )
    elif client.beater is Beater.FETCH_LOOP and expectations.brokers == 1 and longest >= NEARLY_TWICE * interval:
        yield LintFinding(
            rule_catalogue.BEAT_WAITS,
            f"a fetch wait ({durations.show(wait)}) a little below the heartbeat interval ({durations.show(interval)}) "
            f"misses it by a turn: {client.title} beats every {durations.show(longest)}; {cure}",
        )


def _interval_below_floor(inspected: Inspected, _: Expectations) -> Iterator[LintFinding]:
    """Find a heartbeat interval that costs requests."""
    interval = inspected.values.heartbeat_interval
    if inspected.knows(Setting.HEARTBEAT_INTERVAL) and interval < HEARTBEAT_FLOOR:
        yield LintFinding(
            rule_catalogue.SHORT_INTERVAL,
            f"a heartbeat interval of {durations.show(interval)} asks for more requests and keeps nobody longer in the "
            f"group: how long a member may be silent is the session timeout; {durations.show(HEARTBEAT_FLOOR)} or more "
            f"is enough",
        )


def _session_outside_limits(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find sessions that brokers refuse, or that last too long."""
    if not inspected.knows(Setting.SESSION_TIMEOUT):
        return
    session = inspected.values.session_timeout
    if not DEFAULT_MIN_SESSION <= session <= DEFAULT_MAX_SESSION:
        below = session < DEFAULT_MIN_SESSION
        bound = DEFAULT_MIN_SESSION if below else DEFAULT_MAX_SESSION
        name = f"group.{'min' if below else 'max'}.session.timeout.ms"
        yield LintFinding(
            rule_catalogue.OUTSIDE_BROKER_BOUNDS,
            f"the session timeout ({durations.show(session)}) is {'below' if below else 'above'} "
            f"{durations.show(bound)}, the broker's {name} (assumed: Kafka's default; yours is not asked): a broker "
            f"with that bound does not let the member join",
        )
    if session > expectations.max_detection_time:
        yield LintFinding(
            rule_catalogue.SLOW_DETECTION,
            f"a member that crashes is noticed only when its session timeout ({durations.show(session)}) is over, and "
            f"nobody reads its partitions until then; --max-detection-time allows "
            f"{durations.show(expectations.max_detection_time)}",
        )


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
    yield LintFinding(
        rule_catalogue.HANDLER_OUTLASTS_SESSION,
        f"{client.title} {why}: with handlers of {_handlers(expectations)} a member may be silent for "
        f"{durations.show(silent)}, but the session ends after {durations.show(session)}; {cure}",
    )


def _handlers(expectations: Expectations) -> str:
    """Return what is known of handlers, as part of a sentence."""
    assert expectations.handler_time is not None  # noqa: S101 - nobody is silent otherwise
    taken = durations.show(expectations.handler_time)
    count = expectations.blocking_messages
    return f"{taken} for each of {count} messages" if count > 1 else taken


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
        yield LintFinding(
            rule_catalogue.HUNG_HANDLER,
            f"{client.title} has no max poll interval: a member whose handler hangs {client.hung}; give handlers a "
            f"time limit of their own",
        )


def _rebalance_timeout(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find handlers that a rebalance does not wait for."""
    limit, handler = inspected.values.rebalance_timeout, expectations.handler_time
    if not inspected.client.rejoin_waits_for_handler or not inspected.knows(Setting.REBALANCE_TIMEOUT):
        return
    if limit is None or handler is None or handler < limit:
        return
    yield LintFinding(
        rule_catalogue.HANDLER_OUTLASTS_REBALANCE,
        f"a rebalance waits {durations.show(limit)} for a member (rebalance timeout), and a handler takes "
        f"{durations.show(handler)}: a member that is busy then is dropped, which makes the next rebalance",
    )


def _poll_interval(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find poll limits that handlers break, or that look like something else than they are."""
    client, limit, handler = inspected.client, inspected.values.max_poll_interval, expectations.handler_time
    default = client.defaults.max_poll_interval
    if limit is None or default is None or not inspected.knows(Setting.MAX_POLL_INTERVAL):
        return
    waits = client.poll_limit_factor * limit
    named = "max poll interval" if waits == limit else f"max poll interval {durations.show(limit)}, doubled"
    if handler is not None and handler >= waits:
        yield LintFinding(
            rule_catalogue.HANDLER_OUTLASTS_POLL,
            f"a member that does not poll for {durations.show(waits)} ({named}) leaves the group though it beats, and "
            f"the handler of one poll takes {durations.show(handler)}; raise the limit, or take fewer messages with "
            f"each poll",
        )
    rules_rebalance = client.rebalance_wait is Setting.MAX_POLL_INTERVAL
    covered = Setting.MAX_POLL_INTERVAL in client.must_cover_session
    if not covered and inspected.knows(Setting.SESSION_TIMEOUT) and limit < inspected.values.session_timeout:
        yield LintFinding(
            rule_catalogue.POLL_BELOW_SESSION,
            f"the max poll interval ({durations.show(limit)}) is shorter than the session timeout "
            f"({durations.show(inspected.values.session_timeout)}): a member that is slow leaves sooner than one that "
            f"is dead is removed{', and has no longer than that to rejoin' if rules_rebalance else ''}",
        )
    if limit > default:
        late = f"a handler that hangs is noticed only after {durations.show(waits)} ({named})"
        slow = ", and so long may every rebalance of the whole group wait for one slow member"
        yield LintFinding(rule_catalogue.LONG_POLL, f"{late}{slow if rules_rebalance else ''}")


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
        yield LintFinding(
            rule_catalogue.IGNORED,
            f"in a group of the consumer protocol the broker says the {named}: {inspected.client.title} ignores what "
            f"the client has; {cure}",
        )
    else:
        yield LintFinding(
            rule_catalogue.CONSUMER_PROTOCOL,
            f"in a group of the consumer protocol the {named} must not be set in the client: {inspected.client.title} "
            f"refuses to start; {cure}",
        )


def _not_seen(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find values that could not be looked at."""
    needed = [setting for setting in inspected.client.settings if _matters(inspected, setting, expectations)]
    unseen = [NAMES[setting] for setting in needed if inspected.origins[setting] is Origin.UNSEEN]
    if unseen:
        options = ", ".join(f"--{name.replace(' ', '-')}" for name in unseen)
        yield LintFinding(
            rule_catalogue.UNSEEN,
            f"{' and '.join(unseen)} may be set in a Secret or in a ConfigMap that is not in the files, which cannot "
            f"be seen: what needs them was not checked; say what they are with {options}",
        )
    if all(origin in {Origin.DEFAULT, Origin.BROKER} for origin in inspected.origins.values()):
        yield LintFinding(
            rule_catalogue.NOTHING_SET,
            f"no setting is given, so the defaults of {inspected.client.title} were checked; if the application sets "
            f"them under other names, say which",
        )


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
