"""From keys and texts to consumers: what is read, and what is said of the rest."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.lint import consumers, rule_catalogue, written_values
from heartbeat_tuner.lint.checked_settings import IdSource
from heartbeat_tuner.lint.found_consumers import FoundConsumer, ReadingOptions
from heartbeat_tuner.lint.found_settings import FileEntry, FoundSettings, WorkloadFacts
from heartbeat_tuner.lint.rule import LintSeverity
from heartbeat_tuner.lint.written_values import DurationForm

JAVA = ReadingOptions(client=catalogue.client("java"))


def read(texts: dict[str, str | None], options: ReadingOptions = JAVA) -> list[FoundConsumer]:
    """Return the consumers of a place with these entries, one on each line."""
    entries = [FileEntry(key, text, line) for line, (key, text) in enumerate(texts.items(), start=1)]
    return consumers.read(FoundSettings("a place", "a file", entries), options)


def test_a_doubtful_name_is_not_read_and_said() -> None:
    """It may be a web session; the option that settles it is named, with the line."""
    (consumer,) = read({"KAFKA_BROKERS": "b", "SESSION_TIMEOUT_MS": "45000"})
    (finding,) = consumer.findings
    assert (finding.rule.id, finding.line, dict(consumer.given)) == ("doubtful-name", 2, {})
    assert "--env sessionTimeout=SESSION_TIMEOUT_MS" in finding.message


def test_a_preset_reads_its_own_names_alone() -> None:
    """Protocol and static id have names there, too."""
    options = ReadingOptions(
        client=catalogue.client("java"), preset="plain", named=catalogue.client("java").presets["plain"]
    )
    texts: dict[str, str | None] = {
        "KAFKA_SESSION_TIMEOUT_MS": "9000",
        "KAFKA_CONSUMER_HEARTBEAT_INTERVAL_MS": "1",
        "KAFKA_GROUP_PROTOCOL": "classic",
        "KAFKA_GROUP_INSTANCE_ID": "a-1",
    }
    (consumer,) = read(texts, options)
    assert dict(consumer.given) == {Setting.SESSION_TIMEOUT: timedelta(seconds=9)}
    assert consumer.others.static_id is not None
    assert consumer.others.static_id.source is IdSource.LITERAL


@pytest.mark.parametrize(
    ("key", "text", "records"),
    [
        ("max.poll.records", "50", 50),
        ("KAFKA_MAX_POLL_RECORDS", " 50 ", 50),
        ("spring.kafka.consumer.max-poll-records", "50", 50),
        ("max.poll.records", "0", None),
        ("max.poll.records", "99999999999", None),
        ("max.poll.records", "many", None),
        ("max.poll.records", "", None),
        ("max.poll.records", None, None),
    ],
)
def test_how_many_messages_a_poll_hands_out_is_read(key: str, text: str | None, records: int | None) -> None:
    """What says no number that Kafka takes stands for nothing: no rule rests on it."""
    limit = "spring.kafka.consumer.properties.max.poll.interval.ms" if "spring" in key else "max.poll.interval.ms"
    (consumer,) = read({limit: "300000", key: text})
    assert consumer.others.poll_records == records


def test_without_a_library_nothing_is_guessed_of_what_is_not_seen() -> None:
    """Nobody knows which variables the Secret would have to hold."""
    place = FoundSettings("a place", "a file", [], unseen_prefixes=[""])
    assert consumers.unseen(place, ReadingOptions()) == []
    (consumer,) = consumers.unseen(place, JAVA)
    assert Setting.SESSION_TIMEOUT in consumer.unseen


def test_another_timeout_that_cannot_be_read_is_no_matter() -> None:
    """Only rules that need it are left out."""
    (consumer,) = read({"KAFKA_SESSION_TIMEOUT_MS": "30000", "KAFKA_REQUEST_TIMEOUT_MS": "soon"})
    assert (consumer.others.request_timeout, list(consumer.findings)) == (None, [])


def test_what_names_no_consumer_holds_for_all() -> None:
    """A channel of Quarkus has the settings that all channels share."""
    texts: dict[str, str | None] = {
        "mp.messaging.incoming.a.group.id": "a",
        "mp.messaging.incoming.b.session.timeout.ms": "9000",
        "kafka.session.timeout.ms": "30000",
    }
    first, second = read(texts)
    assert [consumer.given[Setting.SESSION_TIMEOUT].seconds for consumer in (first, second)] == [30, 9]


@pytest.mark.parametrize(
    ("text", "field", "source"),
    [
        ("orders-1", "", IdSource.LITERAL),
        (None, "metadata.name", IdSource.POD_NAME),
        (None, "status.podIP", IdSource.RANDOM),
        ("x-$(POD_NAME)", "", IdSource.POD_NAME),
        ("${random.uuid}", "", IdSource.RANDOM),
        ("${SOMEWHERE}", "", IdSource.OTHER),
        ("{{ .Release.Name }}", "", IdSource.OTHER),
        (None, "", IdSource.OTHER),
        ("$OTHER", "", IdSource.OTHER),
    ],
)
def test_where_a_static_id_comes_from(text: str | None, field: str, source: IdSource) -> None:
    """A literal one is shared by all pods, a random one by nobody."""
    entries = [FileEntry("KAFKA_GROUP_INSTANCE_ID", text, field=field)]
    place = FoundSettings("a", "a", entries, workload=WorkloadFacts("Deployment", 3, surges=True))
    (consumer,) = consumers.read(place, JAVA)
    assert consumer.others.static_id is not None
    assert (consumer.others.static_id.source, consumer.others.static_id.replicas) == (source, 3)


@pytest.mark.parametrize(
    ("text", "form", "ms"),
    [
        ("30000", DurationForm.MILLISECONDS, 30_000),
        ("30", DurationForm.SECONDS, 30_000),
        ("30s", DurationForm.GO, 30_000),
        ("PT1H30M0.5S", DurationForm.EITHER, 5_400_500),
        ("1m30s", DurationForm.EITHER, 90_000),
        ("5000", DurationForm.EITHER, 5_000),
    ],
)
def test_a_duration_is_read_in_its_form(text: str, form: DurationForm, ms: int) -> None:
    """Each reader takes its own."""
    assert written_values.duration(text, form) == timedelta(milliseconds=ms)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("PT", DurationForm.EITHER),
        ("PT999999999H", DurationForm.EITHER),
        ("30s", DurationForm.SECONDS),
        ("0", DurationForm.MILLISECONDS),
        ("-5", DurationForm.EITHER),
        ("PT0.0001S", DurationForm.EITHER),
    ],
)
def test_what_is_no_duration_is_refused(text: str, form: DurationForm) -> None:
    """Also one that Kafka's protocol cannot hold."""
    with pytest.raises(ValueError, match=r".+"):
        written_values.duration(text, form)


def test_seconds_are_suggested_as_seconds() -> None:
    """The name says the unit."""
    assert written_values.meant("30s", DurationForm.SECONDS) == "write 30"
    assert written_values.meant("x", DurationForm.SECONDS) == "write 30 seconds as 30"


@given(st.text(max_size=40), st.sampled_from(DurationForm))
def test_whatever_a_text_is_it_is_read_or_refused(text: str, form: DurationForm) -> None:
    """Files are anybody's."""
    try:
        assert written_values.duration(text, form) > timedelta(0)
    except ValueError:
        assert written_values.meant(text, form)
    assert written_values.shown(text)
    written_values.filled_in(text, {})
    written_values.assignors(text)


@given(st.dictionaries(st.text(max_size=30), st.none() | st.text(max_size=20), max_size=5))
def test_whatever_stands_in_a_place_it_is_read(texts: dict[str, str | None]) -> None:
    """Nobody's file ends in a traceback."""
    for options in (JAVA, ReadingOptions()):
        for consumer in read(texts, options):
            for client in consumer.clients:
                consumer.inspected(client)


def test_a_variable_that_is_named_takes_the_place_of_others() -> None:
    """The usual name means nothing then."""
    options = ReadingOptions(client=catalogue.client("java"), named={Setting.SESSION_TIMEOUT: "MINE"})
    (consumer,) = read({"MINE": "20000", "KAFKA_SESSION_TIMEOUT_MS": "9000", "KAFKA_BROKERS": "b"}, options)
    assert dict(consumer.given) == {Setting.SESSION_TIMEOUT: timedelta(seconds=20)}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", '""'),
        ("$(OTHER)", "a reference to another variable, $(NAME)"),
        ("correct-horse", "a text of 13 characters"),
        ("x" * 300, "a text of more than 256 characters"),
        ("30s", "'30s'"),
        (" 30", "'30' with white space around it"),
    ],
)
def test_only_what_looks_like_a_duration_is_shown(text: str, shown: str) -> None:
    """The name may be a password's."""
    assert written_values.shown(text) == shown


def test_selectors() -> None:
    """An id, a code, or the beginning of codes; nothing else."""
    assert {rule.code[:3] for rule in rule_catalogue.selected("HT1")} == {"HT1"}
    assert [rule.code for rule in rule_catalogue.selected("refused-by-client")] == ["HT101"]
    with pytest.raises(ValueError, match="'HT9' is no rule"):
        rule_catalogue.selected("HT9")


def test_codes_and_ids_are_each_a_rule_s_own() -> None:
    """People filter by them; and errors come before warnings, those before notes."""
    rules = rule_catalogue.RULES
    assert len({rule.code for rule in rules}) == len({rule.id for rule in rules}) == len(rules)
    order = [list(LintSeverity).index(rule.severity) for rule in rules]
    assert order == sorted(order)
    assert all(rule.why and rule.example and rule.fix for rule in rules)
