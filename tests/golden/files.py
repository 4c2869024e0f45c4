"""The files of the golden decisions: `cases/NAME.input.yaml` and, beside it, `cases/NAME.decision.yaml`.

A decision is written as data, with its sentences folded to lines that people can read; figures have three significant
digits, which is more than any sentence shows and less than machines differ in.
"""

import dataclasses
import difflib
from pathlib import Path
from typing import Any, Final

import yaml

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.verdicts import Decision, Forecast, Prediction

CASES: Final = Path(__file__).with_name("cases")

_INPUT: Final = ".input.yaml"
_DECISION: Final = ".decision.yaml"
_WIDTH: Final = 100
_SHORT: Final = 80


def names(folder: Path = CASES) -> list[str]:
    """Return the names of all cases, in order."""
    return sorted(path.name.removesuffix(_INPUT) for path in folder.glob(f"*{_INPUT}"))


def orphans(folder: Path = CASES) -> list[str]:
    """Return the names of decisions that have no input."""
    decided = {path.name.removesuffix(_DECISION) for path in folder.glob(f"*{_DECISION}")}
    return sorted(decided - set(names(folder)))


def read_input(name: str, folder: Path = CASES) -> dict[str, Any]:
    """Return what a case is."""
    case: dict[str, Any] = yaml.load((folder / f"{name}{_INPUT}").read_text(), Loader=_TimesAsText)  # noqa: S506 - a safe one
    return case


def decision_file(name: str, folder: Path = CASES) -> Path:
    """Return where the decision of a case stands."""
    return folder / f"{name}{_DECISION}"


def accepted(name: str, folder: Path = CASES) -> str:
    """Return the decision of a case as it was accepted; empty if none was."""
    path = decision_file(name, folder)
    return path.read_text() if path.exists() else ""


def difference(name: str, before: str, after: str) -> str:
    """Return how a decision differs from the one that was accepted; empty if it does not."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"{name}, accepted", f"{name}, now"
    )
    return "".join(lines)


def text_of(decision: Decision) -> str:
    """Return a decision as its file has it."""
    return yaml.dump(data_of(decision), Dumper=_Folding, sort_keys=False, allow_unicode=True, width=_WIDTH)


def data_of(decision: Decision) -> dict[str, Any]:
    """Return a decision as plain values; what it does not have is left out."""
    hold, advice = decision.hold, decision.static_ids
    everything = {
        "verdict": decision.verdict.value,
        "reason": decision.finding.reason.value,
        "finding": decision.finding.message,
        "advice": decision.advice,
        "target": None if decision.target is None else _values(decision.target),
        "hold": None if hold is None else {"reason": hold.reason.value, "message": hold.message},
        "objectiveMet": None if decision.proof is None else decision.proof.reason.value,
        "outlook": decision.outlook,
        "forecast": None if decision.forecast is None else _forecast(decision.forecast),
        "staticIds": None if advice is None else {"worth": advice.worth.value, "message": advice.message},
    }
    return {field: value for field, value in everything.items() if value}


def _values(settings: LivenessSettings) -> dict[str, str]:
    return {setting.value: durations.show(value) for setting, value in settings.by_setting.items()}


def _forecast(forecast: Forecast) -> dict[str, Any]:
    everything = {
        "confidence": forecast.confidence.value,
        "now": _figures(forecast.now),
        "new": None if forecast.new is None else _figures(forecast.new),
        "lower": None if forecast.lower is None else durations.show(forecast.lower),
        "upper": None if forecast.upper is None else durations.show(forecast.upper),
        "uncapped": None if forecast.uncapped is None else _values(forecast.uncapped),
    }
    return {field: value for field, value in everything.items() if value}


def _figures(prediction: Prediction) -> dict[str, float]:
    return {name: float(f"{value:.3g}") for name, value in dataclasses.asdict(prediction).items()}


class _TimesAsText(yaml.SafeLoader):
    """Reads times as kubectl does: as they are written."""


_TimesAsText.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Folding(yaml.SafeDumper):
    """Writes long sentences over several lines."""


def _sentence(dumper: _Folding, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=">" if len(text) > _SHORT else None)


_Folding.add_representer(str, _sentence)
_Folding.add_multi_representer(str, _sentence)  # a sentence carries its facts
