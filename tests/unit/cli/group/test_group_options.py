"""What `recommend`, `explain` and `simulate` refuse, and from where they take a model."""

import dataclasses
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.cli import cli
from heartbeat_tuner.domain import durations
from heartbeat_tuner.models.group_model import GroupModel
from tests.support import cases

COMMANDS = ("recommend", "explain", "simulate")
GROUP = ("--group", "orders", "--client", "java", "--members", "3", "--partitions", "12")


def fresh(**changes: object) -> GroupModel:
    """Return the model as last night's fit would have written it."""
    now = datetime.now(UTC)
    yesterday = now.date() - timedelta(days=1)
    usual = {"since": yesterday - timedelta(days=13), "until": yesterday, "fitted_at": now}
    return cases.model(**{**usual, **changes})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the group's model."""
    return written(tmp_path, [fresh()])


def written(folder: Path, models: Sequence[GroupModel]) -> Path:
    """Return the folder with these models."""
    ModelFiles(folder).write(models)
    return folder


def run(command: str, *arguments: str) -> Result:
    """Run a command; whatever it says, it is no traceback."""
    result = CliRunner().invoke(cli, [command, *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def said(result: Result) -> str:
    """Return all of it in one line."""
    return " ".join(result.output.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_is_enough_for_an_answer(command: str, folder: Path) -> None:
    """No Prometheus, no cluster: the values that are recommended are the same wherever they are told."""
    options = (*GROUP, "--models", str(folder), "-o", "json")
    result = run(command, *options, *(("--days", "1") if command == "simulate" else ()))
    assert result.exit_code == 0, result.output
    found, decision = json.loads(result.stdout), cases.by_model().decision
    assert decision is not None
    assert decision.target is not None
    session = decision.target.session_timeout
    if command == "recommend":
        assert found["settings"]["sessionTimeout"]["recommendedMilliseconds"] == durations.to_ms(session)
    elif command == "explain":
        assert f"sessionTimeout 45s → {durations.show(session)}" in found["links"][-1]["sentences"][0]
    else:
        assert found["scenes"]["whatIf"]["settingsMilliseconds"]["sessionTimeout"] == durations.to_ms(session)


@pytest.mark.parametrize("command", COMMANDS)
def test_yaml_says_what_json_says(command: str, folder: Path) -> None:
    """Sentences among it, whatever facts they carry."""
    options = (*GROUP, "--models", str(folder), *(("--days", "1") if command == "simulate" else ()))
    as_json, as_yaml = (run(command, *options, "-o", output) for output in ("json", "yaml"))
    assert as_yaml.exit_code == 0, as_yaml.output
    assert yaml.safe_load(as_yaml.stdout) == json.loads(as_json.stdout)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "give --prometheus URL, --models FOLDER or both"),
        (("--models", "{folder}", "--members", "0"), "'--members': 0 is not in the range 1<=x<=10000"),
        (("--models", "{folder}", "--members", "1000000000"), "1000000000 is not in the range 1<=x<=10000"),
        (("--models", "{folder}", "--partitions", "-1"), "'--partitions': -1 is not in the range 1<=x<=1000000"),
        (("--models", "{folder}/none"), "does not exist"),
        (("--models", "{folder}", "--max-false-evictions-per-month", "0"), "0.0 is not in the range 0<x<="),
        (("--models", "{folder}", "--max-false-evictions-per-month", "nan"), "nan is no number"),
        (("--models", "{folder}", "--max-detection-time", "0s"), "choose a time between 1ms and"),
        (
            ("--models", "{folder}", "--protocol", "lazy"),
            "'lazy' is not one of 'eager', 'cooperative',",
        ),
        (("--models", "{folder}", "--bound", "session-timeout"), "--bound 'session-timeout': write it like"),
        (("--models", "{folder}", "--bound", "session-timeout=20s"), "write the least and the greatest value"),
        (("--models", "{folder}", "--bound", "session-timeout=30s..20s"), "the least value (30s) is above the"),
        (
            ("--models", "{folder}", "--bound", "session-timeout=20..30"),
            "--bound session-timeout: add a unit, like 20ms, 20s or 20m: '20' has none",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(command: str, options: tuple[str, ...], words: str, folder: Path) -> None:
    """One sentence with the option, the value and the rule; status 2."""
    result = run(command, *GROUP, *(option.format(folder=folder) for option in options))
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in said(result)


def test_members_are_asked_for_where_nothing_tells_them(folder: Path) -> None:
    """A model knows delays, not who shares the work."""
    result = run("recommend", "--group", "orders", "--client", "java", "--models", str(folder))
    assert result.exit_code == 2
    assert "give --members and --partitions: without --prometheus" in said(result)


def test_the_consumer_protocol_is_not_of_every_library(folder: Path) -> None:
    """KafkaJS speaks the classic one only."""
    kafkajs = ("--group", "orders", "--client", "kafkajs", "--members", "3", "--partitions", "12")
    result = run("recommend", *kafkajs, "--models", str(folder), "--protocol", "consumer")
    assert result.exit_code == 2
    assert "--protocol consumer: KafkaJS does not speak the consumer protocol" in said(result)


def test_a_group_of_the_streams_protocol_is_decided_by_its_own_card_and_keys(folder: Path) -> None:
    """Its bounds are the broker's for such groups; a plain consumer has no such protocol."""
    streams = ("--group", "orders", "--client", "streams", "--members", "3", "--partitions", "24")
    options = (*streams, "--models", str(folder))
    found = json.loads(run("recommend", *options, "--protocol", "streams", "-o", "json").stdout)
    assert found["settings"]["sessionTimeout"]["nowMilliseconds"] == 45_000
    assert found["settings"]["heartbeatInterval"]["nowMilliseconds"] == 5_000
    assert any("streams.session.timeout.ms and streams.heartbeat.interval.ms" in note for note in found["notes"])
    narrow = ("--max-detection-time", "30s")
    assert "group.streams.min.session.timeout.ms" in said(run("recommend", *options, "--protocol", "streams", *narrow))
    java = ("--group", "orders", "--client", "java", "--members", "3", "--partitions", "24", "--models", str(folder))
    result = run("recommend", *java, "--protocol", "streams")
    assert result.exit_code == 2
    assert "--protocol streams: the Java consumer does not speak Kafka Streams' protocol" in said(result)
    assert "Kafka Streams does not speak the consumer protocol" in said(
        run("recommend", *options, "--protocol", "consumer")
    )


@pytest.mark.parametrize("client", ["java", "spring"])
@pytest.mark.parametrize("command", COMMANDS)
def test_in_the_consumer_protocol_defaults_and_bounds_are_the_brokers(command: str, client: str, folder: Path) -> None:
    """A broker that nobody configured takes S from 45s to 60s, and H from 5s to 15s, and has the least of both."""
    group = ("--group", "orders", "--client", client, "--members", "3", "--partitions", "24")
    options = (*group, "--models", str(folder), "--protocol", "consumer", "-o", "json")
    found = json.loads(run(command, *options, *(("--days", "1") if command == "simulate" else ())).stdout)
    if command == "recommend":
        session, interval = (found["settings"][item] for item in ("sessionTimeout", "heartbeatInterval"))
        assert (session["nowMilliseconds"], interval["nowMilliseconds"]) == (45_000, 5_000)
        assert 45_000 <= session["recommendedMilliseconds"] <= 60_000
        assert 5_000 <= interval["recommendedMilliseconds"] <= 15_000
        notes = " ".join(found["notes"])
        assert "the broker's default is assumed for session timeout, heartbeat interval; the library's" in notes
        assert "session timeouts and heartbeat intervals are assumed to be Kafka's defaults (45s to 1m, and 5s" in notes
    elif command == "explain":
        numbers = {number["name"]: number for link in found["links"] for number in link["numbers"]}
        assert (numbers["session timeout"]["now"], numbers["heartbeat interval"]["now"]) == (45.0, 5.0)
        assert numbers["heartbeat interval"]["note"] == "assumed: the broker's default"
        assert numbers["shortest session allowed"]["now"] == 45.0
    else:
        for scene in found["scenes"].values():
            assert 45_000 <= scene["settingsMilliseconds"]["sessionTimeout"] <= 60_000
            assert 5_000 <= scene["settingsMilliseconds"]["heartbeatInterval"] <= 15_000


def test_what_is_said_goes_before_the_brokers_defaults(folder: Path) -> None:
    """A group may have values of its own; a wish outside the broker's bounds collides with them."""
    options = (*GROUP, "--models", str(folder), "--protocol", "consumer", "--heartbeat-interval", "8s")
    found = json.loads(run("recommend", *options, "-o", "json").stdout)["settings"]
    assert (found["heartbeatInterval"]["nowMilliseconds"], found["heartbeatInterval"]["assumed"]) == (8_000, False)
    assert "No session timeout fits" in said(run("recommend", *options, "--max-detection-time", "30s"))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"client": "kafkajs"}, "was measured of kafkajs consumers, and this group's library is said to be java"),
        ({"group": "billing"}, "no model in"),
        ({"quantities": {}}, "rests on 0 days"),
        (
            {
                "since": datetime(2025, 1, 1, tzinfo=UTC).date(),
                "until": datetime(2025, 1, 9, tzinfo=UTC).date(),
                "fitted_at": datetime(2025, 1, 10, tzinfo=UTC),
            },
            "more than 7 days ago",
        ),
    ],
)
def test_a_model_that_may_not_be_used_is_told(
    command: str, changes: dict[str, object], words: str, tmp_path: Path
) -> None:
    """It is unknown then, with the operator's own sentence; status 1 and no figure."""
    where = str(written(tmp_path, [fresh(**changes)]))
    result = run(command, *GROUP, "--namespace", "shop", "--models", where)
    assert result.exit_code == 1
    assert words in said(result)


def test_a_model_of_other_buckets_or_none_at_all_is_told(folder: Path) -> None:
    """Whoever may write files may have written anything."""
    (path,) = folder.glob("*/*.json")
    document = json.loads(path.read_text())
    document["spec"]["histogramSchema"] = 99
    path.write_text(json.dumps(document))
    result = run("recommend", *GROUP, "--models", str(folder))
    assert result.exit_code == 1
    assert "is of histogram schema 99" in said(result)
    path.write_text("{")
    result = run("recommend", *GROUP, "--models", str(folder))
    assert result.exit_code == 1
    assert "holds no models; `heartbeat-tuner fit --prometheus URL" in said(result)


def test_models_of_two_places_are_asked_back(tmp_path: Path) -> None:
    """Nobody can guess which namespace, or which Kafka cluster, is meant."""
    model = fresh(cluster="main")
    two = [model, dataclasses.replace(model, namespace="bank")]
    result = run("recommend", *GROUP, "--models", str(written(tmp_path / "places", two)))
    assert (result.exit_code, "namespaces bank, shop; say --namespace" in said(result)) == (2, True)
    two = [model, dataclasses.replace(model, cluster="other")]
    where = str(written(tmp_path / "clusters", two))
    result = run("recommend", *GROUP, "--models", where)
    assert (result.exit_code, "Kafka clusters main and other; say --cluster" in said(result)) == (2, True)
    assert run("recommend", *GROUP, "--models", where, "--cluster", "other").exit_code == 0
    refused = run("recommend", *GROUP, "--models", where, "--cluster", "mian")
    words = "--cluster mian: did you mean main? the models of this group are of main and other"
    assert (refused.exit_code, words in said(refused)) == (2, True)
    far = run("recommend", *GROUP, "--models", where, "--cluster", "xyz")
    assert "--cluster xyz: the models of this group are of main and other" in said(far)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--max-detection-time", "3s"), "objective.maxDetectionTime allows at most 3s"),
        (("--bound", "session-timeout=..3s"), "bounds.sessionTimeout.max allows at most 3s"),
        (("--bound", "heartbeat-interval=20s..", "--bound", "session-timeout=..50s"), "No session timeout fits"),
    ],
)
def test_what_collides_is_infeasible_and_names_both(options: tuple[str, ...], words: str, folder: Path) -> None:
    """An answer, since it can be repaired: status 0; the guard says nothing of values."""
    result = run("recommend", *GROUP, "--models", str(folder), *options)
    assert result.exit_code == 0
    assert "\nInfeasible\n" in result.output
    assert words in said(result)
    assert run("explain", *GROUP, "--models", str(folder), *options).exit_code == 0
