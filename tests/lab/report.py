"""What the laboratory found, as rows: `build/lab.json` for programs, from which `page` makes `docs/lab.md`."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain import durations
from tests.lab import experiments, page
from tests.lab.experiments import Expected, Experiment
from tests.lab.laboratory import Outcome
from tests.lab.verdicts import TRIALS, Seen, Trial, Verdict

CHECKOUT: Final = Path(__file__).parents[2]
JSON: Final = CHECKOUT / "build" / "lab.json"
PAGE: Final = CHECKOUT / "docs" / "lab.md"


@dataclasses.dataclass(frozen=True)
class Result:
    """One experiment with one library, done."""

    client: str
    experiment: Experiment
    outcome: Outcome
    reruns: int

    def row(self) -> dict[str, Any]:
        """Return it as `lab.json` has it."""
        card = catalogue.client(self.client)
        settings = self.experiment.of(self.experiment.card(self.client))
        return {
            "client": self.client,
            "version": card.measured,
            "experiment": self.experiment.name + self._again(),
            "settings": {name.value: durations.show(settings[name]) for name in card.settings},
            "predicted_low_s": round(self.outcome.expected.low_s, 3),
            "predicted_high_s": _rounded(self.outcome.expected.high_s),
            "measured_median_s": _rounded(self.outcome.median_s),
            "measured_max_s": _rounded(self.outcome.max_s),
            "ok": self.outcome.ok,
            "reruns": self.reruns,
        }

    def _again(self) -> str:
        count = self.outcome.rebalances
        return "" if count is None else f" (rebalances: {count})"


@dataclasses.dataclass(frozen=True)
class Skipped:
    """A library that could not be tried, and why."""

    client: str
    why: str


@dataclasses.dataclass(frozen=True)
class Checked:
    """One trial of settings with one library, done."""

    trial: Trial
    seen: Seen
    reruns: int

    @property
    def expected(self) -> Expected | None:
        """Between which times the period has to lie, if the consumer is to hold."""
        period = self.trial.period()
        return None if period is None else Expected.of_period(period)

    @property
    def ok(self) -> bool:
        """Whether `heartbeat-tuner check` says what came of it, and the card how often it beat."""
        expected = self.expected
        return self.seen.verdict is self.trial.said() and (expected is None or expected.holds(self.seen.median_s))

    def row(self) -> dict[str, Any]:
        """Return it as `lab.json` has it."""
        card = catalogue.client(self.trial.client)
        settings = card.filled(self.trial.settings)
        expected = self.expected
        refused = self.seen.verdict is Verdict.REFUSED
        return {
            "client": self.trial.client,
            "version": card.measured,
            "experiment": f"{self.trial.name} ({self.seen.verdict})",
            "settings": {name.value: durations.show(settings[name]) for name in card.settings},
            "predicted_low_s": None if expected is None else round(expected.low_s, 3),
            "predicted_high_s": None if expected is None else _rounded(expected.high_s),
            "measured_median_s": None if refused else _rounded(self.seen.median_s),
            "measured_max_s": None if refused else _rounded(self.seen.max_s),
            "ok": self.ok,
            "reruns": self.reruns,
        }


def document(results: Sequence[Result], checked: Sequence[Checked], skipped: Sequence[Skipped]) -> dict[str, Any]:
    """Return what `lab.json` holds, the rows by library, and in the order of the plan."""
    planned = {name: [item.name for item in experiments.of(card)] for name, card in catalogue.CLIENTS.items()}
    rows = [
        *(
            result.row()
            for result in sorted(results, key=lambda result: planned[result.client].index(result.experiment.name))
        ),
        *(item.row() for item in sorted(checked, key=lambda item: TRIALS.index(item.trial))),
    ]
    return {"rows": _by_library(rows), "skipped": [dataclasses.asdict(item) for item in skipped]}


def write(found: dict[str, Any]) -> None:
    """Write `build/lab.json`, and the page from it; of libraries that were not tried this time, what is there stays."""
    stored: dict[str, Any] = json.loads(JSON.read_text()) if JSON.exists() else {"rows": [], "skipped": []}
    tried = {(row["client"], _is_trial(row)) for row in found["rows"]}
    mine = {name for name, _ in tried} | {item["client"] for item in found["skipped"]}
    rows = [*found["rows"], *(row for row in stored["rows"] if (row["client"], _is_trial(row)) not in tried)]
    skipped = [*found["skipped"], *(item for item in stored["skipped"] if item["client"] not in mine)]
    whole = {"rows": _by_library(rows), "skipped": skipped}
    JSON.parent.mkdir(exist_ok=True)
    JSON.write_text(json.dumps(whole, indent=1) + "\n")
    PAGE.write_text(page.page(whole))


def _by_library(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows by library, its experiments first."""
    order = list(catalogue.CLIENTS)
    return sorted(rows, key=lambda row: (order.index(row["client"]), _is_trial(row)))


def _is_trial(row: dict[str, Any]) -> bool:
    return str(row["experiment"]).startswith("settings: ")


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
