"""What the laboratory writes for programs and for people."""

from collections.abc import Mapping
from typing import Any

import yaml

from heartbeat_tuner.clients import catalogue
from tests.lab import experiments, page, report
from tests.lab.experiments import Expected
from tests.lab.laboratory import Outcome
from tests.lab.report import Checked, Result, Skipped
from tests.lab.verdicts import Seen, Trial


def result(client: str, name: str, median_s: float | None, rebalances: int | None = None) -> Result:
    """Return an experiment that had this outcome."""
    card = catalogue.client(client)
    experiment = next(item for item in experiments.of(card) if item.name == name)
    expected = experiments.expect(experiment, card)
    return Result(client, experiment, Outcome(expected, median_s, median_s, 5, rebalances), reruns=0)


def document(*results: Result, checked: tuple[Checked, ...] = ()) -> Mapping[str, Any]:
    """Return what `lab.json` would hold."""
    return report.document(results, checked, [Skipped("connect", "no Maven here")])


def test_a_row_has_what_was_predicted_and_what_was_measured() -> None:
    """KafkaJS' own: H 3 s, and a beat every 5 s."""
    (row,) = document(result("kafkajs", "idle, defaults", 5.005))["rows"]
    assert row["settings"] == {
        "sessionTimeout": "30s",
        "heartbeatInterval": "3s",
        "fetchWait": "5s",
        "rebalanceTimeout": "1m",
    }
    assert row["predicted_low_s"] <= row["measured_median_s"] <= row["predicted_high_s"]
    assert (row["client"], row["version"], row["ok"], row["reruns"]) == ("kafkajs", "2.2.4", True, 0)


def test_settings_are_as_predicted_when_check_says_what_came_of_them() -> None:
    """A storm that check does not see is a bad row; who never joined has no period, and who holds has the card's."""
    storm, refused, held = Seen(3, 0, 2, 5.0, 5.0), Seen(0, 0, 0, 1.0, 1.0), Seen(1, 3, 0, 4.0, 4.0)
    rows = document(
        checked=(
            Checked(Trial("kafkajs", "S 1s, H 333ms, W 5s"), storm, 0),
            Checked(Trial("kafkajs", "S 6s, H 1s, W 1s"), storm, 1),
            Checked(Trial("kafkajs", "S 3s, H 3s, W 500ms"), refused, 0),
            Checked(Trial("kafkajs", "S 20s, H 3s, W 5s"), held, 0),
        )
    )["rows"]
    assert [(row["experiment"], row["ok"], row["reruns"]) for row in rows] == [
        ("settings: S 1s, H 333ms, W 5s (storm)", True, 0),
        ("settings: S 6s, H 1s, W 1s (storm)", False, 1),
        ("settings: S 3s, H 3s, W 500ms (refused)", True, 0),
        ("settings: S 20s, H 3s, W 5s (holds)", False, 0),
    ]
    assert [row["measured_median_s"] for row in rows] == [5.0, 5.0, None, 4.0]
    assert [row["predicted_high_s"] for row in rows] == [None, 1.07, None, 5.23]


def test_the_page_compares_clients_at_a_glance() -> None:
    """One line each, with what was measured; a dash for what was not."""
    found = page.page(
        document(
            result("kafkajs", "idle, defaults", 5.005),
            result("kafkajs", "a handler hangs", 5.1),
            result("java", "idle, defaults", 3.002),
            result("java", "the connection is cut for 2 s", None, 0),
            result("sarama", "the connection is cut for 2 s", None, 1),
            result("sarama", "a handler hangs", None),
        )
    )
    lines = {line.split("](")[0].removeprefix("| ["): line for line in found.splitlines() if line.startswith("| [")}
    assert "| **fetch loop** | **5.0 s** (H 3s) | - | - | - | - | after 5.1 s, or **never** |" in lines["kafkajs"]
    assert "| own thread | 3.0 s | - | - | - | goes on | - |" in lines["java"]
    assert "| joins again | **never** | - | yes |" in lines["sarama"]
    assert "- `connect`: no Maven here" in found


def test_the_page_says_where_the_references_were_wrong() -> None:
    """Each entry of the list is about a client of the catalogue, and on the page."""
    entries = yaml.safe_load(page.DISAGREEMENTS.read_text())
    found = page.page(document())
    for entry in entries:
        assert set(entry) == {"client", "said", "seen"}
        assert entry["client"] in catalogue.CLIENTS
        assert entry["seen"] in found


def test_an_expectation_that_nothing_happens_holds_only_then() -> None:
    """As for a member that must not be removed."""
    assert Expected(10, None).holds(None)
    assert not Expected(10, None).holds(12.0)
    assert not Expected(1, 2).holds(None)
