"""What the laboratory found: `build/lab.json` for programs, `docs/lab.md` for people who choose a client."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain import durations
from tests.lab.experiments import Experiment
from tests.lab.laboratory import Outcome

CHECKOUT: Final = Path(__file__).parents[2]
JSON: Final = CHECKOUT / "build" / "lab.json"
PAGE: Final = CHECKOUT / "docs" / "lab.md"

_LETTERS: Final = {
    "sessionTimeout": "S",
    "heartbeatInterval": "H",
    "fetchWait": "W",
    "maxPollInterval": "M",
    "rebalanceTimeout": "R",
}


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
            "experiment": self.experiment.name,
            "settings": {name.value: durations.show(settings[name]) for name in card.settings},
            "predicted_low_s": round(self.outcome.expected.low_s, 3),
            "predicted_high_s": _rounded(self.outcome.expected.high_s),
            "measured_median_s": _rounded(self.outcome.median_s),
            "measured_max_s": _rounded(self.outcome.max_s),
            "ok": self.outcome.ok,
            "reruns": self.reruns,
        }


@dataclasses.dataclass(frozen=True)
class Skipped:
    """A library that could not be tried, and why."""

    client: str
    why: str


def write(results: Sequence[Result], skipped: Sequence[Skipped]) -> None:
    """Write `build/lab.json`."""
    JSON.parent.mkdir(exist_ok=True)
    document = {
        "rows": [result.row() for result in results],
        "skipped": [dataclasses.asdict(one) for one in skipped],
    }
    JSON.write_text(json.dumps(document, indent=1) + "\n")


def page(document: dict[str, Any], preface: str) -> str:
    """Return `docs/lab.md` from what `lab.json` holds and the words before the tables."""
    lines = [preface.rstrip(), ""]
    rows = document["rows"]
    for client in dict.fromkeys(row["client"] for row in rows):
        card = catalogue.client(client)
        mine = [row for row in rows if row["client"] == client]
        lines += [
            f"## {client}",
            "",
            f"{card.title[0].upper()}{card.title[1:]} {card.measured}: it beats {card.how}.",
            "",
        ]
        lines += [
            "| experiment | settings | predicted s | measured s | longest s | as predicted |",
            "|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {row['experiment']} | {_settings(row['settings'])} | {_interval(row)} "
            f"| {_seconds(row['measured_median_s'])} | {_seconds(row['measured_max_s'])} "
            f"| {'yes' if row['ok'] else '**no**'} |"
            for row in mine
        ]
        lines.append("")
    if document["skipped"]:
        lines += ["## Not tried", "", *(f"- `{one['client']}`: {one['why']}" for one in document["skipped"]), ""]
    return "\n".join(lines)


def _settings(settings: dict[str, str]) -> str:
    return ", ".join(f"{_LETTERS[name]} {value}" for name, value in settings.items())


def _interval(row: dict[str, Any]) -> str:
    high = row["predicted_high_s"]
    return "never" if high is None else f"{row['predicted_low_s']:.2f} .. {high:.2f}"


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.2f}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
