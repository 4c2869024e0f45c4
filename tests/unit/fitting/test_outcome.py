"""What a run exits with, and what it says."""

import dataclasses
from datetime import UTC, date, datetime

import pytest

from heartbeat_tuner.cli.fit_run import fit_summary
from heartbeat_tuner.fitting import outcome
from heartbeat_tuner.fitting.outcome import DayFailure, ExitStatus, FitCounts, FitOutcome, HistoryReading
from heartbeat_tuner.models.group_model import GroupModel, QuantityModel
from heartbeat_tuner.ports.stored_models import Written
from heartbeat_tuner.tails import histogram
from heartbeat_tuner.tails.model import Rejected, RejectionReason

D = date(2026, 11, 20)
GOOD = HistoryReading((date(2026, 11, 7), D), 13, (D,), (), 4_000, (), ())
FIT = FitCounts(2, {"absence": 2}, {"pollGap": {RejectionReason.TOO_FEW_VALUES.value: 2}})
DONE = FitOutcome("job-1", GOOD, FIT, Written(2, 0, ()), 3.25)
BROKEN = DayFailure(D, "history/day=2026-11-20/histograms.parquet: is no whole Parquet file")


def with_reading(**changes: object) -> FitOutcome:
    """Return the good run, read otherwise."""
    return dataclasses.replace(DONE, reading=dataclasses.replace(GOOD, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fit_outcome", "status"),
    [
        (DONE, ExitStatus.DONE),
        (dataclasses.replace(DONE, stored=None), ExitStatus.DONE),
        (dataclasses.replace(DONE, stored=Written(0, 2, ())), ExitStatus.DONE),
        (dataclasses.replace(DONE, stored=Written(0, 1, ("bank: forbidden",))), ExitStatus.IN_PART),
        (dataclasses.replace(DONE, stored=Written(0, 0, ("the API server does not answer",))), ExitStatus.NOTHING),
        (dataclasses.replace(DONE, stored=Written(0, 1, (), ("namespace bank: does not exist",))), ExitStatus.DONE),
        (dataclasses.replace(DONE, stored=Written(0, 0, (), ("namespace bank: does not exist",))), ExitStatus.NOTHING),
        (dataclasses.replace(DONE, fitted=FitCounts(0, {}, {})), ExitStatus.NOTHING),
        (with_reading(failures=(DayFailure(D, "503"),)), ExitStatus.IN_PART),
        (with_reading(broken=(BROKEN,)), ExitStatus.DONE),
        (with_reading(broken=(BROKEN,), read=()), ExitStatus.IN_PART),
        (with_reading(read=(), empty=(D,)), ExitStatus.DONE),
    ],
)
def test_the_exit_status_says_whether_to_run_it_again(fit_outcome: FitOutcome, status: ExitStatus) -> None:
    """0 all, 1 in part, 2 no model; a broken file that was read again is repaired."""
    assert fit_outcome.status is status


def test_rejected_tails_are_counted_by_their_reason() -> None:
    """They are no failure: there is nothing to be run again."""
    rejected = QuantityModel(3, 1.0, 1.0, 0.1, Rejected(RejectionReason.TOO_FEW_VALUES, "3 of 50"))
    model = GroupModel(
        "shop", "orders", "java", "", histogram.SCHEMA, D, D, 1, datetime(2026, 11, 21, tzinfo=UTC), "job-1",
        {"absence": rejected},
    )  # fmt: skip
    assert outcome.counted([model, model]) == FitCounts(2, {}, {"absence": {RejectionReason.TOO_FEW_VALUES.value: 2}})


def test_the_summary_is_a_table() -> None:
    """Days, groups, tails, models, time."""
    said = fit_summary.as_text(DONE)
    rows = [line.split(None, 1) for line in said.splitlines() if line]
    assert ["window", "2026-11-07 to 2026-11-20 (UTC)"] in rows
    assert ["days", "13 kept before, 1 read"] in rows
    assert ["absence", "2 fitted"] in rows
    assert ["pollGap", "0 fitted; 2 without: too few values for a reference"] in rows
    assert ["models", "2 written, 0 unchanged"] in rows
    assert said.endswith("\ndone.\n")


def test_the_same_failure_of_many_days_is_told_once() -> None:
    """Two weeks of a refused token are one sentence."""
    days = [date(2026, 11, number) for number in (7, 8, 9, 20)]
    said = fit_summary.as_text(with_reading(failures=tuple(DayFailure(day, "401 Unauthorized") for day in days)))
    assert said.count("401 Unauthorized") == 1
    assert "- 2026-11-07 to 2026-11-09, 2026-11-20: 401 Unauthorized" in said
    assert "4 failed (2026-11-07 to 2026-11-09, 2026-11-20)" in said


def test_many_failures_are_cut_on_a_terminal_and_whole_in_json() -> None:
    """Nothing steers the terminal."""
    failures = tuple(f"namespace team-{number}: for\x1bbidden" for number in range(40))
    report = dataclasses.replace(DONE, stored=Written(1, 0, failures))
    said = fit_summary.as_text(report)
    assert "- and 35 more; -o json has all of them" in said
    assert all(item.isprintable() or item == "\n" for item in said)
    assert fit_summary.document(report)["models"]["failed"] == list(failures)


def test_a_namespace_that_is_gone_is_told_and_no_failure() -> None:
    """Its groups ended with it; the run is done, and who looks sees which it was."""
    report = dataclasses.replace(
        DONE, stored=Written(1, 0, (), ("namespace bank: does not exist; 3 models not written",))
    )
    said = fit_summary.as_text(report)
    assert "1 written, 0 unchanged, 1 namespaces gone" in said
    assert "- namespace bank: does not exist; 3 models not written" in said
    assert fit_summary.document(report)["models"]["gone"] == ["namespace bank: does not exist; 3 models not written"]


def test_nothing_to_fit_says_where_to_look() -> None:
    """No value in two weeks is a question of names or rights."""
    report = with_reading(read=(), empty=(D,))
    said = fit_summary.as_text(dataclasses.replace(report, fitted=FitCounts(0, {}, {})))
    assert "`heartbeat-tuner doctor`" in said
    assert "1 without data (2026-11-20)" in said
