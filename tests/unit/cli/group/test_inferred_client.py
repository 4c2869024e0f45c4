"""Who says no library is answered for the one that `doctor` shows, and reads so."""

import dataclasses
import json
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics
from heartbeat_tuner.metrics.raw.samples import Series
from tests.support import cases, checks, scripted_server
from tests.support.inventories import exported
from tests.support.scripted_server import Handler
from tests.support.worlds import NOW

SHIFT_S = time.time() - NOW.timestamp()
"""The command line looks at the clock; the series are of a day of their own."""

MODELLED = ("--members", "3", "--partitions", "12")


def answering(series: Sequence[Series]) -> scripted_server.Script:
    """Return a Prometheus that has these series, and answers what `doctor` and `recommend` ask."""

    def answer(handler: Handler) -> None:
        query = handler.asked.form["query"][0]
        if query.startswith("count by"):
            result = [{"metric": series_.labels, "value": [time.time(), "1"]} for series_ in series]
            found = {"resultType": "vector", "result": result}
        elif query.startswith("{"):
            result = [
                {"metric": series_.labels, "values": [[t + SHIFT_S, str(v)] for t, v in series_.samples]}
                for series_ in series
            ]
            found = {"resultType": "matrix", "result": result}
        else:
            found = {"resultType": "vector", "result": []}
        scripted_server.respond(handler, scripted_server.answer(found))

    return answer


@pytest.fixture
def prometheus() -> Iterator[str]:
    """A Prometheus with a group of Java and one of KafkaJS, which run in two namespaces under one name, too."""
    series = [
        *exported(java_metrics.JMX_EXPORTER),
        *exported(kafkajs_metrics.EXPORTER, "payments"),
        *exported(java_metrics.JMX_EXPORTER, "mixed"),
        *exported(kafkajs_metrics.EXPORTER, "mixed", namespace="bank"),
    ]
    with scripted_server.serving(answering(series)) as server:
        yield server.url


def test_the_exporter_shows_the_library(prometheus: str) -> None:
    """The answer says so, and which other libraries are exported alike."""
    found = checks.run("recommend", "--prometheus", prometheus, "--group", "orders", "-o", "json")
    document = json.loads(found.stdout)
    assert document["client"] == "java"
    kafkajs = json.loads(checks.run("explain", "--prometheus", prometheus, "--group=payments", "-o", "json").stdout)
    assert kafkajs["client"] == "kafkajs"


def test_a_group_that_is_not_there_is_answered_with_the_nearest(prometheus: str) -> None:
    """No library can be known of it."""
    found = checks.run("recommend", "--prometheus", prometheus, "--group", "ordrs")
    sentence = "--group ordrs: no exporter shows a group of this name; did you mean orders? 3 groups are shown"
    assert (found.exit_code, " ".join(found.stderr.split())) == (2, f"Error: {sentence}")


def test_groups_of_one_name_and_two_libraries_are_asked_back(prometheus: str) -> None:
    """Unless the namespace says which."""
    found = checks.run("recommend", "--prometheus", prometheus, "--group", "mixed")
    assert (found.exit_code, found.stderr) == (2, "Error: give --client: groups of this name run java and kafkajs\n")


def test_the_model_shows_the_library(tmp_path: Path) -> None:
    """The note says what to do if it is another one."""
    now = datetime.now(UTC)
    until = now.date() - timedelta(days=1)
    model = cases.model(since=until - timedelta(days=13), until=until, fitted_at=now)
    ModelFiles(tmp_path).write([model])
    found = checks.run("recommend", "--models", tmp_path, "--group", "orders", *MODELLED)
    assert found.exit_code == 0, found.output
    assert "Note: --client java is inferred: the group's model is of it." in found.stdout
    stated = checks.run("recommend", "--models", tmp_path, "--group", "orders", "--client", "java", *MODELLED)
    assert "inferred" not in stated.stdout
    refused = checks.run("recommend", "--models", tmp_path, "--group", "ordrs", *MODELLED)
    assert (refused.exit_code, "is of this group; did you mean orders?" in refused.stderr) == (2, True)
    ModelFiles(tmp_path).write([model, dataclasses.replace(model, client="kafkajs", cluster="other")])
    both = checks.run("recommend", "--models", tmp_path, "--group", "orders", *MODELLED)
    assert "give --client: the group's models are of java and kafkajs" in both.stderr
