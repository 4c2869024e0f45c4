"""Does the limit on polls fit handlers and session, and is a hung handler noticed?"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients import features
from heartbeat_tuner.clients.client import Hung
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.limits import poll_batches
from heartbeat_tuner.limits.allowed_values import POLL_GAP_MARGIN
from heartbeat_tuner.lint.checked_settings import Expectations, Inspected, LintFinding, Origin
from heartbeat_tuner.lint.rule import LintSeverity, Rule

TINY: Final = timedelta(seconds=30)
"""One poll hands out 500 messages by default: below this they have less than 60 ms each, database and all."""

HUGE: Final = timedelta(hours=1)
"""Above this a hung handler is noticed by people sooner than by Kafka."""

LIMIT_BELOW_SESSION: Final = Rule(
    code="HT201",
    id="limit-below-session",
    severity=LintSeverity.ERROR,
    when="librdkafka: the max poll interval, platformatic: the rebalance timeout is shorter than the session timeout: "
    "the client refuses to start",
    why="The library checks this when the consumer is created.",
    example="# librdkafka\nsession.timeout.ms=45000\nmax.poll.interval.ms=30000",
    fix="Raise the limit to the session timeout or more.",
)
HANDLER_OUTLASTS_POLL: Final = Rule(
    code="HT202",
    id="handler-outlasts-poll-interval",
    severity=LintSeverity.ERROR,
    when="clients with a max poll interval, with `--handler-time`: the handler of one poll is not shorter",
    why="A member that does not poll for the max poll interval leaves its group, though it beats. Its commit fails, "
    "and the same messages come again.",
    example="heartbeat-tuner check --client java --max-poll-interval 1m --handler-time 90s",
    fix="Take fewer messages with each poll (max.poll.records), or raise the limit. Only a raised limit costs "
    "detection time: a handler that hangs is noticed that much later.",
)
POLL_BELOW_SESSION: Final = Rule(
    code="HT203",
    id="poll-interval-below-session",
    severity=LintSeverity.INFO,
    when="the max poll interval is shorter than the session timeout",
    why="A slow member leaves sooner than a dead one is removed.",
    example="session.timeout.ms=45000\nmax.poll.interval.ms=40000",
    fix="Raise the max poll interval, unless handlers are surely shorter.",
)
LONG_POLL: Final = Rule(
    code="HT204",
    id="long-poll-interval",
    severity=LintSeverity.INFO,
    when="the max poll interval is above the library's default: a handler that hangs is noticed late",
    why="The max poll interval is how long a hung handler goes unnoticed. Where it is the rebalance timeout too, "
    "every rebalance may wait that long for one slow member.",
    example="max.poll.interval.ms=900000",
    fix="Take fewer messages with each poll instead.",
)
HUGE_POLL: Final = Rule(
    code="HT205",
    id="huge-poll-interval",
    severity=LintSeverity.WARNING,
    when=f"the max poll interval is above {durations.show(HUGE)}, and no handler needs that (`--handler-time`)",
    why="A handler that hangs keeps its partitions for hours. Where the max poll interval is the rebalance timeout "
    "too, one slow member stops the whole group for as long: the group takes the longest of all its members.",
    example="max.poll.interval.ms=86400000",
    fix="Set it to a little more than the longest handler of one poll. Pause the partitions while a long job runs.",
)
TINY_POLL: Final = Rule(
    code="HT206",
    id="tiny-poll-interval",
    severity=LintSeverity.WARNING,
    when=f"the max poll interval is below {durations.show(TINY)}, and nothing says that handlers are so short "
    "(`--handler-time`)",
    why="All messages of one poll have to be handled within it, 500 by default. One slow call to a database makes the "
    "member leave, and the group rebalances.",
    example="max.poll.interval.ms=10000",
    fix="Take the library's default of 5 minutes. A crash is noticed by the session timeout, not by this.",
)
HUNG_HANDLER: Final = Rule(
    code="HT207",
    id="hung-handler-unnoticed",
    severity=LintSeverity.INFO,
    when="clients without a max poll interval (KafkaJS only with `--brokers` above 1): a member whose handler hangs "
    "may beat endlessly",
    why="The library has no limit on handlers, and beats beside them.",
    example="heartbeat-tuner check --client sarama",
    fix="Give handlers a time limit of their own.",
)


def _limit_below_session(inspected: Inspected, _: Expectations) -> Iterator[LintFinding]:
    """Find limits that the library wants to be no shorter than the session."""
    client = inspected.client
    if inspected.knows(Setting.SESSION_TIMEOUT, *client.must_cover_session):
        for broken in client.limit_violations(inspected.values):
            yield LintFinding(LIMIT_BELOW_SESSION, broken)


def _handler_hangs(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find clients that do not notice a handler that never returns."""
    client = inspected.client
    if client.hung is Hung.UNNOTICED or (client.hung is Hung.PLACEMENT and expectations.brokers > 1):
        phrase = (
            "{client} has no max poll interval: a member whose handler hangs {hung}; give handlers a time limit of "
            "their own"
        )
        yield LintFinding(HUNG_HANDLER, say(phrase, client=client.title, hung=client.hung))


def _poll_interval(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find poll limits that handlers break, or that look like something else than they are."""
    client, limit, handler = inspected.client, inspected.values.max_poll_interval, expectations.handler_time
    if limit is None or not inspected.knows(Setting.MAX_POLL_INTERVAL):
        return
    waits = client.poll_limit_factor * limit
    named = "max poll interval" if waits == limit else "max poll interval {limit}, doubled"
    if handler is not None and handler >= waits:
        phrase = (
            "a member that does not poll for {waits} ({named}) leaves the group though it beats, and the handler of "
            "one poll takes {handler}; {ways}"
        )
        ways = _two_ways(inspected, handler, waits)
        text = say(phrase, waits=waits, named=say(named, limit=limit), handler=handler, ways=ways)
        yield LintFinding(HANDLER_OUTLASTS_POLL, text)
    covered = Setting.MAX_POLL_INTERVAL in client.must_cover_session
    if not covered and inspected.knows(Setting.SESSION_TIMEOUT) and limit < inspected.values.session_timeout:
        phrase = (
            "the max poll interval ({limit}) is shorter than the session timeout ({session}): a member that is slow "
            "leaves sooner than one that is dead is removed"
        )
        phrase += (
            ", and has no longer than that to rejoin" if client.rebalance_wait is Setting.MAX_POLL_INTERVAL else ""
        )
        text = say(phrase, limit=limit, session=inspected.values.session_timeout)
        yield LintFinding(POLL_BELOW_SESSION, text)


def _poll_interval_far_out(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find poll limits that are much longer or shorter than handlers are."""
    client, limit, handler = inspected.client, inspected.values.max_poll_interval, expectations.handler_time
    default = client.defaults.max_poll_interval
    if limit is None or default is None or not inspected.knows(Setting.MAX_POLL_INTERVAL):
        return
    waits = client.poll_limit_factor * limit
    named = say("max poll interval" if waits == limit else "max poll interval {limit}, doubled", limit=limit)
    if waits < TINY and handler is None and inspected.origins[Setting.MAX_POLL_INTERVAL] is Origin.GIVEN:
        phrase = (
            "a member that does not poll for {waits} ({named}) leaves the group, and all messages of one poll have to "
            "be handled in that time; say with --handler-time how long that takes, or raise the limit"
        )
        yield LintFinding(TINY_POLL, say(phrase, waits=waits, named=named))
    slow = ""
    if client.rebalance_wait is Setting.MAX_POLL_INTERVAL:
        slow = ", and every rebalance of the whole group may wait that long for one slow member"
    if waits > longest_of_use(expectations):
        rule = HUGE_POLL
    elif limit > default:
        rule = LONG_POLL
    else:
        return
    phrase = "a handler that hangs is noticed only after {waits} ({named})"
    yield LintFinding(rule, say(phrase + slow, waits=waits, named=named))


def _two_ways(inspected: Inspected, handler: timedelta, waits: timedelta) -> str:
    """Return what a handler of one poll that takes too long leaves to do, as part of a sentence.

    Args:
        inspected: the settings.
        handler: the longest that the handler of one poll takes.
        waits: the time after which the member leaves.
    """
    known = features.poll_records(inspected.client)
    if known is None:
        return "raise the limit, or take fewer messages with each poll"
    given = inspected.others.poll_records
    records = int(known.default) if given is None else given
    fewer = poll_batches.most_records(records, handler, waits)
    if fewer is None:
        phrase = "raise the limit: fewer messages with each poll ({name}, now {records}) do not help"
        return say(phrase, name=known.name, records=records)
    phrase = (
        "set {name} to {fewer} or less (now {records}{default}): at {each:about} a message that needs {takes:about}, "
        "and {margin} times as long is within the limit; or raise the limit, and a hung handler is noticed later"
    )
    return say(
        phrase,
        fewer=fewer,
        name=known.name,
        records=records,
        default=" by default" if given is None else "",
        each=handler / records,
        takes=poll_batches.handling(fewer, records, handler),
        margin=POLL_GAP_MARGIN,
    )


def longest_of_use(expectations: Expectations) -> timedelta:
    """Return the longest poll limit that handlers may need."""
    handler = expectations.handler_time or timedelta(0)
    needed = durations.ceil_to_second(POLL_GAP_MARGIN * handler) + timedelta(seconds=5)
    return max(HUGE, needed)


CHECKS: Final = (_limit_below_session, _handler_hangs, _poll_interval, _poll_interval_far_out)
