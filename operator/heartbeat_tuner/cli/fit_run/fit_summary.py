"""What came of a run of `fit`, for people and for programs."""

from collections.abc import Collection
from datetime import date, timedelta
from typing import Any, Final

from heartbeat_tuner.cli.wording import shown, table, wrapped
from heartbeat_tuner.domain import durations
from heartbeat_tuner.fitting import calendar_days
from heartbeat_tuner.fitting.outcome import ExitStatus, FitOutcome

NAMED: Final = 5
"""How many failures are told one by one."""

_SENTENCE: Final = 1_000
"""Characters of a failure that are shown."""

_VERDICTS: Final = {
    ExitStatus.DONE: "done",
    ExitStatus.IN_PART: "done in part: models rest on what is there, and the next run asks again for what is not",
    ExitStatus.NOTHING: "nothing came of it",
}


def as_text(outcome: FitOutcome, *, refused: int = 0) -> str:
    """Return a table and what went wrong.

    Args:
        outcome: of the run.
        refused: lines of a lake that were no values.
    """
    reading, fitted, stored = outcome.reading, outcome.fitted, outcome.stored
    rows = [
        ("window", f"{reading.window[0]} to {reading.window[1]} (UTC)"),
        ("days", _days(outcome)),
        ("values read", f"{reading.values:,}{f', {refused:,} refused' if refused else ''}"),
        ("groups", f"{fitted.groups:,}"),
    ]
    for quantity in sorted({*fitted.tails, *fitted.rejected}):
        rejected = fitted.rejected.get(quantity, {})
        parts = [f"{fitted.tails.get(quantity, 0):,} fitted", *(f"{n:,} without: {why}" for why, n in rejected.items())]
        rows.append((quantity, "; ".join(parts)))
    if stored is not None:
        failed = f", {len(stored.failed):,} failed" if stored.failed else ""
        gone = f", {len(stored.gone):,} namespaces gone" if stored.gone else ""
        rows.append(("models", f"{stored.written:,} written, {stored.unchanged:,} unchanged{failed}{gone}"))
    rows.append(("time", durations.show(timedelta(seconds=round(outcome.seconds, 1)))))
    blocks = ["\n".join(table(rows, ""))]
    failures = _failures(outcome)
    lines = [wrapped(shown(failure, _SENTENCE), "- ", "  ") for failure in failures[:NAMED]]
    if len(failures) > NAMED:
        lines.append(f"- and {len(failures) - NAMED} more; -o json has all of them")
    if lines:
        blocks.append("\n".join(lines))
    blocks.append(wrapped(f"{_verdict(outcome)}.", ""))
    return "\n\n".join(blocks) + "\n"


def document(outcome: FitOutcome) -> dict[str, Any]:
    """Return the same as plain values, every failure among them."""
    reading, fitted, stored = outcome.reading, outcome.fitted, outcome.stored
    return {
        "job": outcome.job,
        "status": outcome.status.name,
        "window": {"since": reading.window[0].isoformat(), "until": reading.window[1].isoformat()},
        "days": {
            "keptBefore": reading.kept,
            "read": [day.isoformat() for day in reading.read],
            "withoutData": [day.isoformat() for day in reading.empty],
            "failed": [{"day": failure.day.isoformat(), "message": failure.message} for failure in reading.failures],
            "broken": [{"day": failure.day.isoformat(), "message": failure.message} for failure in reading.broken],
        },
        "values": reading.values,
        "groups": fitted.groups,
        "tails": {
            quantity: {"fitted": fitted.tails.get(quantity, 0), "rejected": dict(fitted.rejected.get(quantity, {}))}
            for quantity in sorted({*fitted.tails, *fitted.rejected})
        },
        "models": None
        if stored is None
        else {
            "written": stored.written,
            "unchanged": stored.unchanged,
            "failed": list(stored.failed),
            "gone": list(stored.gone),
        },
        "seconds": round(outcome.seconds, 3),
    }


def _days(outcome: FitOutcome) -> str:
    reading = outcome.reading
    terms = [f"{reading.kept} kept before", f"{len(reading.read)} read"]
    if reading.empty:
        terms.append(f"{len(reading.empty)} without data ({_spans(reading.empty)})")
    if reading.failures:
        terms.append(f"{len(reading.failures)} failed ({_spans({failure.day for failure in reading.failures})})")
    return ", ".join(terms)


def _failures(outcome: FitOutcome) -> list[str]:
    """Return what went wrong, the same said of neighbouring days once, and which namespaces are gone."""
    by_message: dict[str, list[date]] = {}
    for failure in outcome.reading.failures:
        by_message.setdefault(failure.message, []).append(failure.day)
    again = set(outcome.reading.read)
    broken = [
        f"{day_failure.message}{'; it was read again' if day_failure.day in again else ''}"
        for day_failure in outcome.reading.broken
    ]
    sentences = [
        message if message.startswith(str(days[0])) else f"{_spans(days)}: {message}"
        for message, days in by_message.items()
    ]
    stored = outcome.stored
    return [*broken, *sentences, *((*stored.failed, *stored.gone) if stored else ())]


def _verdict(outcome: FitOutcome) -> str:
    reading = outcome.reading
    if not outcome.fitted.groups and not reading.failures:
        return (
            "nothing to fit: no day of the window has a value; `heartbeat-tuner doctor` says what a Prometheus has of "
            "consumer groups"
        )
    return _VERDICTS[outcome.status]


def _spans(days: Collection[date]) -> str:
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in calendar_days.spans(days))
