"""The command `heartbeat-tuner clients`, and the page that says the same."""

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner, Result

from heartbeat_tuner.cli import cli
from heartbeat_tuner.cli.checking import cards
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Client
from tests.support import documents

CARDS = pytest.mark.parametrize("card", catalogue.CLIENTS.values(), ids=catalogue.CLIENTS)


def run(*arguments: str) -> Result:
    """Run the command in this process; whatever is not an exit status is a bug."""
    result = CliRunner().invoke(cli, ["clients", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def shown(*arguments: str) -> str:
    """Return what the command says, in one line."""
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return " ".join(result.stdout.split())


def parsed(*arguments: str) -> Any:
    """Return what the command gives to programs."""
    return json.loads(run(*arguments, "-o", "json").stdout)


def section(name: str) -> str:
    """Return a client's part of the reference page."""
    page = (documents.CHECKOUT / "docs" / "reference" / "clients.md").read_text()
    return re.split(rf"^## {re.escape(name)}$", page, flags=re.MULTILINE)[1].split("\n## ")[0]


def test_each_client_has_a_line_with_what_sends_its_beat() -> None:
    """Name, version measured, what sends the beat, defaults."""
    lines = {line.split()[0]: line for line in run().stdout.splitlines() if line}
    assert set(catalogue.CLIENTS) <= set(lines)
    assert lines["kafkajs"].split(maxsplit=2)[1:] == ["2.2.4", "the fetch loop             S 30s, H 3s, W 5s, R 1m"]
    assert [item["name"] for item in parsed()] == list(catalogue.CLIENTS)


@CARDS
def test_a_card_fits_a_terminal(card: Client) -> None:
    """No line is longer than 100 columns, and none ends in spaces."""
    for arguments in ((), (card.name,), (card.name, "--client-version", card.versions[0])):
        lines = run(*arguments).stdout.splitlines()
        assert [line for line in lines if len(line) > 100 or line != line.rstrip()] == []


@CARDS
def test_card_json_and_page_say_all_that_is_known(card: Client) -> None:
    """What a catalogue row has, a reader gets: a row without its part of the page fails here."""
    text, report, page = shown(card.name), json.dumps(parsed(card.name), ensure_ascii=False), section(card.name)
    variables = [name for preset in card.presets.values() for name in preset.values()]
    sentences = [*card.advice, *(f"{other.note}." for other in card.others), card.static_membership.value]
    assert (parsed(card.name)["measured"], cards.evidence(card) in text) == (card.measured, True)
    assert cards.evidence(card)[1:] in page
    for known in (*(card.names[setting] for setting in card.settings), *variables, *sentences, card.how):
        assert known in text
        assert known in page
        assert json.dumps(known.removesuffix("."), ensure_ascii=False)[1:-1] in report


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kafkajs", "an idle member: 5s"),
        ("kafkajs", "its handler does not return: 25s to 30s; never where a broker leads none of its partitions"),
        ("kafka-node", "Any heartbeat interval is taken, though one"),
        ("franz-go", "with a heartbeat interval above the session timeout; one that equals it never works."),
        (
            "java",
            "No difference: 3 brokers, answers that take 1.5s, handlers that wait 4s and handlers that compute 4s, 5",
        ),
        (
            "java",
            "Older versions - Before 2.7: a member does not beat while its group prepares to rebalance. - Before 3.0:",
        ),
        ("java-kip848", "The broker refuses a heartbeat interval of the group that is not below its session timeout."),
        ("platformatic", "the broker's: it ignores those that it has."),
        ("java-kip848", "the newer of two members with one id is refused until the older one's session is over."),
        ("node-rdkafka", "is fenced (in a group of the consumer protocol, the newer is refused)."),
        ("node-rdkafka", "So does an answer that takes longer than the heartbeat interval."),
        ("franz-go", "a frozen node. A slow answer does, too."),
        ("connect", "its own thread of work (the herder) hangs: 1m to 1m3.1s"),
        ("platformatic", "It refuses to start with rebalanceTimeout below the session timeout."),
        ("confluent-kafka-javascript", "It refuses to start with rebalanceTimeout below half of the session timeout."),
        ("sarama", "A value is a duration as Go writes it: 30 seconds are 30s, and a bare number is refused."),
        ("sarama", "its handler does not return: never"),
        ("streams", "it is closed: 41.9s to 45s"),
        ("aiokafka", "handlers that compute 4s, 5 messages at once: 3s to 23s"),
        ("connect", "It has no max poll interval: rebalance.timeout.ms plays its part."),
        ("spring", "group protocol SPRING_KAFKA_CONSUMER_PROPERTIES_GROUP_PROTOCOL"),
        ("spring", "Variables with --preset plain session timeout KAFKA_SESSION_TIMEOUT_MS"),
    ],
)
def test_a_card_says_what_is_particular(name: str, words: str) -> None:
    """In words, with figures."""
    assert words in shown(name)


def test_a_card_is_shown_as_it_was() -> None:
    """Older versions have other defaults, and what is older still is listed."""
    text = shown("java", "--client-version", "2.8")
    assert text.startswith("java, as of 2.8: the Java consumer, measured with 4.4.0, known from 1.1 to 4.4")
    assert "session timeout session.timeout.ms 10s" in text
    assert "Before 2.7:" in text
    assert "Before 3.0:" not in text
    card = parsed("java", "--client-version", "2.8")
    assert (card["asOf"], card["defaults"]["sessionTimeout"]) == ("2.8", 10_000)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["kafkaj"], "client library 'kafkaj' is unknown; did you mean kafkajs? known are aiokafka,"),
        (["kafkajs", "--client-version=3"], "KafkaJS 3 is unknown; the nearest known version is 2.2"),
        (["kafkajs", "--client-version=latest"], "'latest' is not a version; write it like 2.2.4"),
        (["--client-version=3"], "name the client, too"),
    ],
)
def test_what_is_unknown_is_refused(arguments: list[str], sentence: str) -> None:
    """Exit status 2, and the nearest that is known."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
