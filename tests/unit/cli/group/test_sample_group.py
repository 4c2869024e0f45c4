"""What ships to try commands with: fresh on any day, and what the bench makes."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bench import sample_model
from heartbeat_tuner.api import model_documents
from heartbeat_tuner.cli.group import sample_group
from tests.support import checks


def numbers(document: Any) -> Any:
    """Return a document whose numbers are approximate: another processor rounds otherwise."""
    if isinstance(document, dict):
        return {name: numbers(value) for name, value in document.items()}
    if isinstance(document, list):
        return [numbers(value) for value in document]
    return pytest.approx(document, rel=1e-6) if isinstance(document, float) else document


def test_it_is_what_the_command_makes() -> None:
    """Nobody edits it by hand: `python -m bench.sample_model`."""
    made = model_documents.document_of(sample_model.model())
    stored = json.loads(sample_group.SAMPLE.read_bytes())
    assert stored == numbers(json.loads(json.dumps(made)))


@pytest.mark.parametrize("years", [0, 10])
def test_it_is_of_last_night(years: int) -> None:
    """A model counts for a week, and people try commands at any time."""
    now = datetime.now(UTC) + timedelta(days=365 * years)
    (fitted,) = sample_group.recent(now)
    assert fitted.model.until == now.date() - timedelta(days=1)
    assert (fitted.model.until - fitted.model.since).days == 13


@pytest.mark.parametrize("command", ["recommend", "explain", "simulate"])
def test_one_option_is_enough(command: str) -> None:
    """The rest may still be said."""
    said = checks.run(command, "--sample", *(["--days", "1"] if command == "simulate" else []))
    assert said.exit_code == 0, said.output
    assert "orders (shop): the Java consumer, 5 members, 5 partitions" in said.stdout
    other = checks.run("recommend", "--sample", "--members", "3", "--session-timeout", "30s", "-o", "json")
    assert json.loads(other.stdout)["members"] == 3
    assert json.loads(other.stdout)["settings"]["sessionTimeout"]["nowMilliseconds"] == 30_000


def test_it_is_no_group_of_a_prometheus() -> None:
    """Metrics and model would be of two groups."""
    said = checks.run("recommend", "--sample", "--prometheus", "http://127.0.0.1:1")
    assert (said.exit_code, "give --sample or --prometheus" in said.stderr) == (2, True)
