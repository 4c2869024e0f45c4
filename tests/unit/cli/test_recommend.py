"""What `recommend` refuses before it asks, and how it tells what it rests on."""

import dataclasses
from datetime import timedelta

import pytest
from click.testing import CliRunner

from heartbeat_tuner.cli import cli, recommend
from heartbeat_tuner.cli.group import group_case
from heartbeat_tuner.cli.group.group_case import Case
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import ValueSource
from heartbeat_tuner.domain.verdicts import ObjectivePrice
from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics
from heartbeat_tuner.models.group_model import Fitted
from tests.support import cases, counters, worlds
from tests.support.inventories import diagnosed, exported
from tests.support.worlds import HOUR, NOW

BEGAN = NOW - HOUR - timedelta(minutes=5)
NOWHERE = ("--prometheus", "http://127.0.0.1:1", "--group", "orders")


def refused(*arguments: str) -> str:
    """Return the sentence with which the command ends, status 2."""
    result = CliRunner().invoke(cli, ["recommend", *NOWHERE, *arguments])
    assert isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code, result.stdout) == (2, "")
    return " ".join(result.stderr.split())


def text(said: Case) -> str:
    """Return it as a terminal gets it, in one line."""
    return " ".join(recommend.as_text(said).split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--client", "kafkjs"), "client library 'kafkjs' is unknown; did you mean kafkajs?"),
        (
            ("--client", "sarama"),
            "--client sarama: consumers of Sarama cannot be measured yet, only those of",
        ),
        (("--client", "kafkajs", "--max-poll-interval", "5m"), "--max-poll-interval: KafkaJS has no max poll interval"),
        (("--client", "java", "--session-timeout", "45"), "add a unit, like 45ms, 45s or 45m: '45' has none"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_asked(options: tuple[str, ...], words: str) -> None:
    """There is no Prometheus at all."""
    assert words in refused(*options)


def test_a_storm_is_one_table_with_its_reason() -> None:
    """Measured, now, recommended, why."""
    said = text(cases.watched(counters.stormy(worlds.pods(), BEGAN, NOW), cases.unmodelled()))
    assert "orders (shop): KafkaJS, 3 pods, measured by kafkajs-prometheus-exporter" in said
    assert "a heartbeat every none was accepted; by the settings, 333ms to 5s" in said
    assert "evictions 2160 of live members" in said
    assert "session timeout 1s 30s CadenceExceedsSession" in said
    assert "Set sessionTimeout 1s → 30s" in said
    assert "no broker was asked" in said
    assert "assumed for" not in said


def test_assumed_settings_are_told_wherever_they_count() -> None:
    """Who raises an assumed value may lower the real one."""
    said = cases.watched(
        counters.stormy(worlds.pods(), BEGAN, NOW), cases.unmodelled(worlds.settings(), ValueSource.DEFAULT)
    )
    assert "session timeout 30s (assumed)" in text(said)
    assert "the answer rests on that; say what is set with --session-timeout, --heartbeat-interval" in text(said)
    assert all(setting["assumed"] for setting in recommend.document(said)["settings"].values())


def test_a_beat_of_other_settings_is_told() -> None:
    """The members beat every 5 s, which these settings cannot give."""
    said = cases.watched(
        counters.quiet(worlds.pods(), BEGAN, NOW), cases.unmodelled(worlds.settings("30s", "1s", "1s"))
    )
    assert "the members do not beat as these settings say: their handlers take long, or others are set" in text(said)
    assert "default is assumed" not in text(said)
    assert said.is_known


def test_a_beat_of_other_settings_hides_none_that_are_assumed() -> None:
    """Both are told: what is assumed may be what is wrong."""
    assumed = cases.unmodelled(worlds.settings("30s", "8s", "8s"), ValueSource.DEFAULT)
    said = text(cases.watched(counters.quiet(worlds.pods(), BEGAN, NOW), assumed))
    assert "the members do not beat as these settings say: others are set, most likely" in said
    assert "the library's default is assumed for session timeout, heartbeat interval, fetch wait" in said
    assert "spec.client" not in said  # a policy's fields: the command has options


def test_a_busy_member_beats_sooner_than_an_idle_one() -> None:
    """A fetch that has something to fetch does not wait, so nothing speaks for other settings."""
    busy = cases.unmodelled(worlds.settings("30s", "3s", "20s"))
    said = text(cases.watched(counters.quiet(worlds.pods(), BEGAN, NOW), busy))
    assert "a heartbeat every 5 s; by the settings, 3s to 20s" in said
    assert "do not beat" not in said


def test_the_unknown_has_no_values() -> None:
    """A column of what is set would read as a recommendation to keep it."""
    young = NOW - timedelta(seconds=30)
    said = cases.watched(counters.quiet(worlds.pods(), young, NOW), cases.unmodelled(worlds.settings()))
    assert not said.is_known
    assert "session timeout 30s - TooLittleData" in text(said)
    assert "a heartbeat every too few were counted; by the settings" in text(said)
    assert "Nothing is recommended" in text(said)
    assert recommend.document(said)["settings"]["sessionTimeout"]["recommendedMilliseconds"] is None


def test_names_that_could_steer_a_terminal_are_escaped() -> None:
    """They stand in the decision's sentences, too."""
    nasty = "or\x1b[2Jders\n"
    for found in ({}, counters.stormy(worlds.pods(), BEGAN, NOW)):
        said = recommend.as_text(cases.watched(found, cases.unmodelled(group=nasty, namespace=nasty)))
        assert all(item.isprintable() or item == "\n" for item in said)


def test_java_is_told_with_its_polls() -> None:
    """Its settings have one more."""
    said = cases.watched({}, cases.unmodelled(worlds.java_settings(), client=catalogue.client("java")))
    assert recommend.document(said)["measured"] is None
    assert set(recommend.document(said)["settings"]) >= {"maxPollInterval", "sessionTimeout"}


def test_a_group_in_two_namespaces_or_of_another_library_is_asked_back() -> None:
    """Which one is meant, nobody can guess."""
    client = catalogue.client("java")
    both = diagnosed(exported(java_metrics.JMX_EXPORTER), exported(java_metrics.JMX_EXPORTER, namespace="bank"))
    with pytest.raises(UsageProblem, match="in namespaces bank, shop; say which with --namespace"):
        group_case.the_group(both.only("orders"), client)
    with pytest.raises(UsageProblem, match="exported by kafkajs-prometheus-exporter, as consumers of kafkajs are"):
        group_case.the_group(diagnosed(exported(kafkajs_metrics.EXPORTER)).only("orders"), client)
    assert group_case.the_group(diagnosed().only("orders"), client) is None


def test_what_a_model_expects_stands_in_the_table() -> None:
    """Now, at what is recommended, and how sure that is."""
    said = cases.by_model()
    assert said.decision is not None
    assert said.decision.target is not None
    session = said.decision.target.session_timeout
    assert f"session timeout 45s {durations.show(session)} Cheaper" in text(said)
    assert "confidence - High 14 days, 42 member-days" in text(said)
    assert "make it with the next deploy" not in text(said)
    assert "make it with the next deploy" in text(cases.by_model(horizon=timedelta(hours=1)))
    found = recommend.document(said)["forecast"]
    assert found["recommended"]["stalledPartitionSecondsPerDay"] < found["now"]["stalledPartitionSecondsPerDay"]
    low, high = found["sessionTimeoutBandMilliseconds"]
    assert low <= durations.to_ms(session) <= high


def test_a_record_that_demands_a_cure_goes_before_the_model() -> None:
    """The model says what the cure brings."""
    model = Fitted("orders", cases.model(client="kafkajs"))
    report = cases.unmodelled(model=model, members=3, partitions=12)
    said = cases.watched(counters.stormy(worlds.pods(), BEGAN, NOW), report)
    assert "session timeout 1s 30s CadenceExceedsSession" in text(said)
    found = recommend.document(said)["forecast"]
    assert found["recommended"]["evictionsPerMonth"] < 1
    assert found["now"]["evictionsPerMonth"] > 100


def test_without_partitions_a_model_is_not_used() -> None:
    """KafkaJS' exporter tells none; what to say is told."""
    report = cases.unmodelled(worlds.settings(), model=Fitted("orders", cases.model(client="kafkajs")))
    said = cases.watched(counters.quiet(worlds.pods(), BEGAN, NOW), report)
    assert "the model is not used" in text(said)
    assert "say --members and --partitions" in text(said)
    assert recommend.document(said)["forecast"] is None


def test_whether_static_ids_pay_is_one_line_with_its_numbers() -> None:
    """Of a group that has a model; a program reads why nothing is said of others."""
    said = cases.by_model()
    found = recommend.document(said)["staticIds"]
    assert found["worth"] == "Costs"
    assert f"Advice: {found['message']}." in " ".join(recommend.as_text(said).split())
    storm = cases.watched(counters.stormy(worlds.pods(), BEGAN, NOW), cases.unmodelled())
    assert recommend.document(storm)["staticIds"]["worth"] == "Refused"
    assert "Advice" not in recommend.as_text(storm)


def test_what_an_objective_costs_stands_beside_the_forecast() -> None:
    """As plain values, and none where no price is in the way."""
    said = cases.by_model()
    assert said.decision is not None
    assert said.decision.forecast is not None
    assert recommend.document(said)["forecast"]["objectivePrice"] is None
    longer = worlds.settings("2m")
    forecast = dataclasses.replace(
        said.decision.forecast, price=ObjectivePrice(longer, 0.25, is_of_crashes=True, follows_our_changes=False)
    )
    costly = dataclasses.replace(said, decision=dataclasses.replace(said.decision, forecast=forecast))
    price = recommend.document(costly)["forecast"]["objectivePrice"]
    assert (price["costsMore"], price["onlyIfMembersCrashOften"]) == (0.25, True)
    assert price["sessionTimeoutMilliseconds"] == 120_000
