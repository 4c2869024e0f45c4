"""Does a rebalance wait long enough for a member, and does the member's own request wait as long?"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.lint.checked_settings import NAMES, Expectations, Inspected, LintFinding, Origin
from heartbeat_tuner.lint.rule import LintSeverity, Rule
from heartbeat_tuner.lint.rules.value_rules import arithmetic

REBALANCE_BELOW_BEAT: Final = Rule(
    code="HT301",
    id="rebalance-below-beat",
    severity=LintSeverity.ERROR,
    when="the rebalance timeout (Java, librdkafka: the max poll interval, which is sent as such) is not longer than "
    "the longest heartbeat period",
    why="A member learns of a rebalance from the answer to its heartbeat. If the rebalance waits no longer than a "
    "beat takes, it ends before an idle member learns of it. The member is dropped, and its return starts the next "
    "rebalance.",
    example="# KafkaJS: an idle member beats every 5 s\nKAFKA_REBALANCE_TIMEOUT_MS=4000",
    fix="Take the library's default, which is a minute or more.",
)
HANDLER_OUTLASTS_REBALANCE: Final = Rule(
    code="HT302",
    id="handler-outlasts-rebalance-timeout",
    severity=LintSeverity.WARNING,
    when="KafkaJS, Sarama, with `--handler-time`: the handler is not shorter than the rebalance timeout, so a "
    "rebalance drops a busy member",
    why="The member finishes its handler before it rejoins.",
    example="heartbeat-tuner check --client kafkajs --rebalance-timeout 20s --handler-time 20s",
    fix="Raise the rebalance timeout above the longest handler.",
)
JOINING_TIMES_OUT: Final = Rule(
    code="HT303",
    id="joining-times-out",
    severity=LintSeverity.WARNING,
    when="Sarama, @platformatic/kafka, aiokafka, kafka-node: the rebalance timeout is longer than the client waits for "
    "the answer to its join, and one of the two is given",
    why="The answer to a join comes when the rebalance is over. A client that gives up sooner fails to join, tries "
    "again, and so makes the rebalance longer.",
    example="# Sarama: Net.ReadTimeout is 30 s\nKAFKA_REBALANCE_TIMEOUT=120s",
    fix="Make the read or request timeout longer than the rebalance timeout.",
    cured_by_values=False,
)
JOINING_MAY_TIME_OUT: Final = Rule(
    code="HT304",
    id="joining-may-time-out",
    severity=LintSeverity.INFO,
    when="the rebalance timeout is longer than the client waits for the answer to its join, with the library's own "
    "defaults (Sarama, @platformatic/kafka)",
    why="By default the library gives up a join after 30 s, while the coordinator may wait a minute or more for the "
    "slowest member.",
    example="heartbeat-tuner check --client sarama",
    fix="Make the read or request timeout longer than the rebalance timeout.",
    cured_by_values=False,
)
REQUEST_BELOW_FETCH: Final = Rule(
    code="HT305",
    id="request-below-fetch",
    severity=LintSeverity.ERROR,
    when="kafka-python: the request timeout is not longer than the fetch wait: the client refuses to start",
    why="A fetch may wait at the broker for the whole fetch wait, so that a shorter request timeout would end it.",
    example="# kafka-python\nfetch_max_wait_ms: 40000\nrequest_timeout_ms: 30000",
    fix="Make the request timeout longer than the fetch wait.",
    cured_by_values=False,
)
REQUEST_ABOVE_IDLE: Final = Rule(
    code="HT306",
    id="request-above-idle",
    severity=LintSeverity.ERROR,
    when="kafka-python: the request timeout is not shorter than connections_max_idle_ms (9 minutes): the client "
    "refuses to start",
    why="A connection that is closed as idle would end the request that waits on it.",
    example="# kafka-python\nrequest_timeout_ms: 800000",
    fix="Make connections_max_idle_ms longer than the request timeout.",
    cured_by_values=False,
)

_IDLE_DEFAULT: Final = timedelta(minutes=9)
_REQUEST_DEFAULT: Final = timedelta(seconds=30)


def rebalance_wait(inspected: Inspected) -> timedelta:
    """Return how long a rebalance waits for the member."""
    setting = inspected.client.rebalance_wait
    return arithmetic(inspected.client, setting) * inspected.values[setting]


def _rebalance_below_beat(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find rebalances that are over before a member hears of them."""
    client, setting = inspected.client, inspected.client.rebalance_wait
    if setting is Setting.SESSION_TIMEOUT or not inspected.knows(setting, *inspected.beat_settings):
        return
    longest, waits = client.period(inspected.values, expectations.at_rest).longest, rebalance_wait(inspected)
    if waits > longest or longest >= inspected.values.session_timeout:  # else the beat itself is what is wrong
        return
    phrase = (
        "a rebalance waits {waits} for a member ({setting}), and a member learns of it from a beat, which may take "
        "{longest}: it is dropped before it knows"
    )
    yield LintFinding(REBALANCE_BELOW_BEAT, say(phrase, waits=waits, setting=NAMES[setting], longest=longest))


def _handler_outlasts_rebalance(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
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
    yield LintFinding(HANDLER_OUTLASTS_REBALANCE, say(phrase, limit=limit, handler=handler))


def _joining_times_out(inspected: Inspected, _: Expectations) -> Iterator[LintFinding]:
    """Find rebalances that last longer than the client waits for the answer to its join."""
    client, setting = inspected.client, inspected.client.rebalance_wait
    if client.joins_within is None or inspected.protocol.is_at_broker or not inspected.knows(setting):
        return  # only classic groups have joins
    name, default = client.joins_within
    given = inspected.others.request_timeout
    patience, waits = given or default, rebalance_wait(inspected)
    if waits <= patience:
        return
    follows = Setting.SESSION_TIMEOUT if setting in client.shares else setting
    chosen = given is not None or Origin.GIVEN in {inspected.origins[setting], inspected.origins[follows]}
    phrase = (
        "a rebalance may take {waits} ({setting}), but {client} gives up the join after {patience} ({name}) and tries "
        "again; make {name} longer"
    )
    rule = JOINING_TIMES_OUT if chosen else JOINING_MAY_TIME_OUT
    text = say(phrase, waits=waits, setting=NAMES[setting], client=client.title, patience=patience, name=name)
    yield LintFinding(rule, text)


def _request_timeout(inspected: Inspected, _: Expectations) -> Iterator[LintFinding]:
    """Find request timeouts that kafka-python refuses."""
    others = inspected.others
    if inspected.client.name != "kafka-python" or not inspected.knows(Setting.FETCH_WAIT):
        return
    request, idle = others.request_timeout or _REQUEST_DEFAULT, others.idle_limit or _IDLE_DEFAULT
    if request <= inspected.values.fetch_wait:
        phrase = (
            "kafka-python refuses to start with a request_timeout_ms ({request}) that is not longer than "
            "fetch_max_wait_ms ({wait})"
        )
        text = say(phrase, request=request, wait=inspected.values.fetch_wait)
        yield LintFinding(REQUEST_BELOW_FETCH, text)
    if request >= idle:
        phrase = (
            "kafka-python refuses to start with a request_timeout_ms ({request}) that is not shorter than "
            "connections_max_idle_ms ({idle})"
        )
        yield LintFinding(REQUEST_ABOVE_IDLE, say(phrase, request=request, idle=idle))


CHECKS: Final = (_rebalance_below_beat, _handler_outlasts_rebalance, _joining_times_out, _request_timeout)
