"""The rules of `heartbeat-tuner check`, and the values that would hold.

That KafkaJS at 1 s, 333 ms and 5 s really rebalances endlessly, and at 30 s, 1 s and 1 s does not, is proven on a real
broker in tests/integration/kafka_parts/test_kafkajs.py.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain import durations, sentences
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.limits.allowed_values import Infeasible
from heartbeat_tuner.lint import checked_settings, linting, rule_catalogue, suggestions
from heartbeat_tuner.lint.checked_settings import Expectations, Inspected, OtherProperties, SessionBounds
from heartbeat_tuner.lint.rule import LintSeverity
from heartbeat_tuner.lint.rules import beat_rules, poll_rules, session_rules, value_rules
from heartbeat_tuner.lint.suggestions import Remedy
from tests.support import check_examples
from tests.support.check_examples import Example

EXAMPLES = check_examples.examples()
BEAT_LADDER = ("few-beats-per-session", "beat-not-always-in-time", "beat-never-in-time", "refused-by-client")

# Most durations that people set, and edges: a rule's comparison must not depend on round numbers.
durations_ms = st.one_of(
    st.sampled_from([1, 333, 999, 1_000, 3_000, 5_000, 6_000, 10_000, 30_000, 45_000, 60_000, 300_000, 1_800_000]),
    st.integers(min_value=1, max_value=120_000),
    st.integers(min_value=1, max_value=2**31 - 1),
).map(lambda ms: timedelta(milliseconds=ms))
clients = st.sampled_from(sorted(catalogue.CLIENTS.values(), key=lambda client: client.name))
expectations = st.builds(
    Expectations,
    brokers=st.integers(min_value=1, max_value=9),
    max_detection_time=durations_ms,
    handler_time=st.none() | durations_ms,
    blocking_messages=st.integers(min_value=0, max_value=50),
    longest_pause=st.none() | durations_ms,
    broker_session=st.builds(SessionBounds, st.none() | durations_ms),
)


@st.composite
def inspected(draw: st.DrawFn) -> Inspected:
    """Return any settings of any client."""
    client = draw(clients)
    chosen = draw(st.dictionaries(st.sampled_from(client.settings), durations_ms))
    return Inspected.of(client, chosen, protocol=draw(st.sampled_from(client.protocols)))


def found(inspected: Inspected, expected: Expectations = Expectations()) -> list[str]:  # noqa: B008 - it is frozen
    """Return the ids of what the rules find."""
    return [finding.rule.id for finding in linting.lint(inspected, expected)]


def ladder(inspected: Inspected, expected: Expectations) -> int:
    """Return how badly the session is too short for the beat; 0 if it is not."""
    return max((BEAT_LADDER.index(rule) + 1 for rule in found(inspected, expected) if rule in BEAT_LADDER), default=0)


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_examples_are_found_as_documented(example: Example) -> None:
    """Good settings and bad ones, for each client."""
    assert found(example.inspected, example.expectations) == example.findings


@pytest.mark.parametrize(("count", "says_so"), [(1, False), (3, True)])
def test_a_handler_that_blocks_message_after_message_is_said_to(count: int, *, says_so: bool) -> None:
    """The silence is that of all of them, which nobody would expect from the time of one."""
    inspected = Inspected.of(catalogue.client("aiokafka"), {Setting.SESSION_TIMEOUT: timedelta(seconds=30)})
    findings = linting.lint(inspected, Expectations(handler_time=timedelta(seconds=40), blocking_messages=count))
    message = next(finding.message for finding in findings if finding.rule is session_rules.HANDLER_OUTLASTS_SESSION)
    assert (f"each of {count} messages" in message) is says_so


@pytest.mark.parametrize(
    ("name", "records", "says"),
    [
        (
            "java",
            None,
            "set max.poll.records to 320 or less (now 500 by default): at 0.72 s a message that needs 230 s",
        ),
        ("java", 100, "set max.poll.records to 64 or less (now 100): at 3.6 s a message that needs 230 s"),
        ("java", 1, "raise the limit: fewer messages with each poll (max.poll.records, now 1) do not help"),
        ("kafka-python", None, "set max_poll_records to 320 or less"),
        ("streams", None, "set max.poll.records to 641 or less (now 1000 by default)"),
        ("rust-rdkafka", None, "raise the limit, or take fewer messages with each poll"),
    ],
)
def test_two_ways_out_of_slow_handlers_are_shown(name: str, records: int | None, says: str) -> None:
    """With what the messages need then, and only where the library has the setting: 1.3 times 230 s is under 5 min."""
    others = OtherProperties(poll_records=records)
    inspected = Inspected.of(catalogue.client(name), {Setting.MAX_POLL_INTERVAL: timedelta(minutes=5)}, others=others)
    findings = linting.lint(inspected, Expectations(handler_time=timedelta(minutes=6)))
    (message,) = [finding.message for finding in findings if finding.rule is poll_rules.HANDLER_OUTLASTS_POLL]
    assert says in message


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_findings_carry_their_facts(example: Example) -> None:
    """All but what the library's card says in words of its own: that it refuses to start."""
    own = {beat_rules.REFUSED_BY_CLIENT, poll_rules.LIMIT_BELOW_SESSION}
    findings = linting.lint(example.inspected, example.expectations)
    assert all(sentences.facts(finding.message) for finding in findings if finding.rule not in own)


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_examples_are_mended_as_documented(example: Example) -> None:
    """New values where some hold, nothing where what is wanted collides, and silence where nothing has to change."""
    findings = linting.lint(example.inspected, example.expectations)
    answer = suggestions.suggest(example.inspected, example.expectations, findings)
    match answer:
        case None:
            assert example.holds is None
        case Infeasible():
            assert example.holds == "nothing"
        case Remedy(changes, removals):
            shown: dict[str, object] = {setting.value: durations.show(value) for setting, value in changes.items()}
            assert shown | ({"remove": list(removals)} if removals else {}) == example.holds


def test_there_are_examples_of_every_rule_and_enough_for_each_client() -> None:
    """What can be said by flags is shown on the page; only a value that is not seen needs a file."""
    named = {rule for example in EXAMPLES for rule in example.findings}
    assert {rule.id for rule in rule_catalogue.RULES if rule.cured_by_values} - named == {"setting-unseen"}
    counts = Counter(example.client for example in EXAMPLES)
    assert set(counts) == set(catalogue.CLIENTS)
    assert min(counts.values()) >= 6
    assert min(counts[name] for name in ("java", "kafkajs", "spring", "streams")) >= 20


def test_a_client_s_examples_are_good_ones_and_bad_ones() -> None:
    """Each library has settings that work, and settings that do not with what would hold."""
    severities = {rule.id: rule.severity for rule in rule_catalogue.RULES}
    worst = {name: set[bool]() for name in catalogue.CLIENTS}
    for example in EXAMPLES:
        worst[example.client].add(all(severities[rule] is LintSeverity.INFO for rule in example.findings))
    assert [name for name, seen in worst.items() if seen != {True, False}] == []


def test_severities_are_what_people_build_on() -> None:
    """A rule that becomes an error breaks somebody's build: that must not happen by accident."""
    severities = {rule.id: rule.severity.value for rule in rule_catalogue.RULES}
    assert severities == {
        "unreadable-file": "error",
        "nothing-recognised": "error",
        "misspelt-name": "error",
        "ignored-setting": "error",
        "unreadable-value": "error",
        "named-variable-missing": "error",
        "value-out-of-range": "error",
        "rebalance-below-beat": "error",
        "request-below-fetch": "error",
        "request-above-idle": "error",
        "assignor-with-consumer-protocol": "error",
        "remote-assignor-in-classic": "error",
        "assignors-mixed": "error",
        "protocol-unsupported": "error",
        "version-lacks": "error",
        "kafka-refuses-client": "error",
        "static-id-shared": "error",
        "static-id-duplicate": "error",
        "no-values-fit": "error",
        "few-beats-at-worst": "warning",
        "pause-outlasts-session": "warning",
        "session-near-broker-floor": "warning",
        "huge-poll-interval": "warning",
        "tiny-poll-interval": "warning",
        "joining-times-out": "warning",
        "static-id-of-deployment": "warning",
        "static-id-random": "warning",
        "static-id-overlaps": "warning",
        "static-id-unsupported": "warning",
        "given-twice": "warning",
        "client-unknown": "warning",
        "joining-may-time-out": "info",
        "doubtful-name": "info",
        "implausible-value": "error",
        "refused-by-client": "error",
        "limit-below-session": "error",
        "beat-never-in-time": "error",
        "beat-not-always-in-time": "error",
        "handler-outlasts-session": "error",
        "handler-outlasts-poll-interval": "error",
        "consumer-protocol-refuses": "error",
        "consumer-protocol-ignores": "warning",
        "handler-outlasts-rebalance-timeout": "warning",
        "few-beats-per-session": "warning",
        "session-outside-broker-bounds": "warning",
        "slow-detection": "warning",
        "migration-unsupported": "error",
        "migration-version": "error",
        "migration-refuses": "error",
        "migration-assignor-unknown": "error",
        "migration-ignores": "warning",
        "migration-flawed-version": "warning",
        "migration-session-bounds": "warning",
        "migration-static-id": "warning",
        "migration-assignor": "info",
        "migration-patterns": "info",
        "migration-detection": "info",
        "migration-path": "info",
        "setting-unseen": "warning",
        "beat-waits-for-fetch": "info",
        "interval-below-floor": "info",
        "hung-handler-unnoticed": "info",
        "poll-interval-below-session": "info",
        "long-poll-interval": "info",
        "nothing-set": "info",
    }


@pytest.mark.parametrize("name", sorted(catalogue.CLIENTS))
def test_the_libraries_own_defaults_are_no_worse_than_worth_knowing(name: str) -> None:
    """Who sets nothing must not be told to set something."""
    findings = linting.lint(Inspected.of(catalogue.client(name), {}), Expectations())
    assert {finding.rule.severity for finding in findings} == {LintSeverity.INFO}


@given(inspected(), expectations)
def test_what_is_suggested_holds(inspected: Inspected, expected: Expectations) -> None:
    """The suggested values have neither errors nor warnings of their own, and they change something."""
    findings = linting.lint(inspected, expected)
    answer = suggestions.suggest(inspected, expected, findings)
    if not isinstance(answer, Remedy):
        return
    assert answer.changes or answer.removals
    stored = {
        setting: inspected.values[setting]
        for setting in inspected.client.settings
        if inspected.origins[setting] == "given"
    }
    new = {
        setting: value for setting, value in (stored | dict(answer.changes)).items() if setting not in answer.removals
    }
    after = linting.lint(Inspected.of(inspected.client, new, protocol=inspected.protocol), expected)
    assert [finding for finding in after if bad(finding)] == []


def bad(finding: checked_settings.LintFinding) -> bool:
    """Whether a finding asks for other values."""
    return finding.rule.severity is not LintSeverity.INFO and finding.rule.cured_by_values


def misread(findings: Sequence[checked_settings.LintFinding]) -> bool:
    """Whether a value was read in another unit."""
    return any(finding.rule is value_rules.IMPLAUSIBLE for finding in findings)


@given(inspected(), expectations)
def test_whatever_is_bad_is_answered(inspected: Inspected, expected: Expectations) -> None:
    """An error or a warning comes with values that hold, or with the two numbers that collide; nothing else does.

    Nothing is derived from a value that was read in another unit.
    """
    findings = linting.lint(inspected, expected)
    found_bad = any(bad(finding) for finding in findings) and not misread(findings)
    assert (suggestions.suggest(inspected, expected, findings) is not None) == found_bad


@given(inspected(), expectations, durations_ms)
def test_a_longer_session_is_never_worse_for_the_beat(
    inspected: Inspected, expected: Expectations, more: timedelta
) -> None:
    """More S only climbs down the ladder, where it is a session at all."""
    assume(not misread(linting.lint(inspected, expected)))
    longer = dataclasses.replace(
        inspected, values=dataclasses.replace(inspected.values, session_timeout=inspected.values.session_timeout + more)
    )
    assert ladder(longer, expected) <= ladder(inspected, expected)


@given(inspected(), expectations, durations_ms)
def test_a_slower_handler_is_never_better(inspected: Inspected, expected: Expectations, more: timedelta) -> None:
    """What a quick handler breaks, a slow one breaks, too."""
    assume(expected.handler_time is not None)
    assert expected.handler_time is not None
    slower = dataclasses.replace(expected, handler_time=expected.handler_time + more)
    far_out = {"huge-poll-interval", "tiny-poll-interval"}  # a slow handler explains a long limit
    assert set(found(inspected, expected)) - far_out <= set(found(inspected, slower))


@given(inspected(), expectations)
def test_findings_come_worst_first(inspected: Inspected, expected: Expectations) -> None:
    """Who reads only the first line reads the worst."""
    order = [list(LintSeverity).index(finding.rule.severity) for finding in linting.lint(inspected, expected)]
    assert order == sorted(order)


@given(inspected(), expectations)
def test_an_unseen_value_is_no_value(inspected: Inspected, expected: Expectations) -> None:
    """Where all is unseen, nothing is found but that, and what holds whatever the values are."""
    unseen = Inspected.of(inspected.client, {}, unseen=inspected.client.settings)
    findings = linting.lint(unseen, expected)
    assert {finding.rule.id for finding in findings} <= {"setting-unseen", "hung-handler-unnoticed"}
    assert suggestions.suggest(unseen, expected, findings) is None


@pytest.mark.parametrize(
    ("setting", "left"),
    [
        (Setting.SESSION_TIMEOUT, ["setting-unseen", "beat-waits-for-fetch", "interval-below-floor"]),
        (Setting.HEARTBEAT_INTERVAL, ["session-outside-broker-bounds", "setting-unseen"]),
        (Setting.FETCH_WAIT, ["session-outside-broker-bounds", "setting-unseen", "interval-below-floor"]),
    ],
)
def test_rules_that_need_no_unseen_value_go_on(setting: Setting, left: list[str]) -> None:
    """One hidden value does not hide what is wrong with the others."""
    values = {Setting.SESSION_TIMEOUT: 1_000, Setting.HEARTBEAT_INTERVAL: 333, Setting.FETCH_WAIT: 5_000}
    seen = {name: timedelta(milliseconds=ms) for name, ms in values.items() if name is not setting}
    inspected = Inspected.of(catalogue.client("kafkajs"), seen, unseen=[setting])
    assert found(inspected) == left


def test_an_unseen_fetch_wait_of_a_client_that_beats_by_itself_is_no_matter() -> None:
    """Java's beat does not wait for the fetch: no rule needs it."""
    inspected = Inspected.of(
        catalogue.client("java"),
        {Setting.SESSION_TIMEOUT: timedelta(seconds=45)},
        unseen=[Setting.FETCH_WAIT],
    )
    assert found(inspected) == []


@pytest.mark.parametrize(("name", "asked"), [("kafkajs", True), ("aiokafka", False)])
def test_an_unseen_rebalance_timeout_matters_where_a_handler_holds_up_the_rejoin(name: str, *, asked: bool) -> None:
    """Where the rejoin goes on beside handlers, no rule needs R."""
    inspected = Inspected.of(catalogue.client(name), {}, unseen=[Setting.REBALANCE_TIMEOUT])
    assert ("setting-unseen" in found(inspected, Expectations(handler_time=timedelta(seconds=1)))) is asked


def test_what_collides_is_named() -> None:
    """The reader knows which of the two numbers to change."""
    inspected = Inspected.of(catalogue.client("kafkajs"), {Setting.SESSION_TIMEOUT: timedelta(seconds=30)})
    expected = Expectations(handler_time=timedelta(minutes=6))
    answer = suggestions.suggest(inspected, expected, linting.lint(inspected, expected))
    assert isinstance(answer, Infeasible)
    assert "at least 6m4s (longer than a member is silent while a handler runs, 6m3s)" in answer.message
    assert "--max-detection-time allows at most 5m" in answer.message
