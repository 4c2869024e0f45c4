"""The course of a run on a real history and a real fit; only the source is told what to say. No Spark is started."""

import dataclasses
import functools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.fitting import job
from heartbeat_tuner.fitting.calendar_days import DAY
from heartbeat_tuner.fitting.history import History, HistoryError
from heartbeat_tuner.fitting.models import model_estimate
from heartbeat_tuner.fitting.outcome import DayFailure, ExitStatus, FitOutcome
from heartbeat_tuner.models.group_model import GroupModel
from heartbeat_tuner.ports.stored_models import Written
from tests.support.contract_rows import nothing, rows_of

UNTIL = date(2026, 11, 20)
NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
DAYS = tuple(UNTIL - DAY * age for age in range(4))  # newest first


@dataclasses.dataclass
class Source:
    """Says what it is told to, and remembers what it was asked."""

    found: Mapping[date, pa.Table | DayFailure]
    asked: list[date] = dataclasses.field(default_factory=list)
    order: Callable[[Sequence[date]], Sequence[date]] = lambda days: days

    def read(self, days: Sequence[date]) -> Iterator[tuple[date, pa.Table | DayFailure]]:
        """Give the days, in an order of its own."""
        for day in self.order(days):
            self.asked.append(day)
            yield day, self.found[day]


@dataclasses.dataclass
class Heard:
    """Remembers the stages."""

    stages: list[str] = dataclasses.field(default_factory=list)

    def stage(self, name: str, **_facts: object) -> None:
        """Take note."""
        self.stages.append(name)

    def day(self, day: date, *, done: int, days: int) -> None:
        """Take no note."""


WHOLE = {day: rows_of(day) for day in DAYS}


def run(
    folder: Path,
    source: Source,
    *,
    write: Callable[[Sequence[GroupModel]], Written] | None = None,
    name: str = "job-1",
    history: History | None = None,
    namespaces: Sequence[str] = (),
) -> FitOutcome:
    """Run a job of four days that keeps its days and models in a folder."""
    report, _ = job.run(
        job.RunOrder(until=UNTIL, since=timedelta(days=4), now=NOW, job=name, namespaces=namespaces),
        job.RunParts(
            days=source.read,
            history=history or History(str(folder / "history")),
            estimate=functools.partial(model_estimate.models, on=UNTIL, fitted_at=NOW, job=name),
            write=write or ModelFiles(folder / "models").write,
        ),
        Heard(),
    )
    return report


def content(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder that are somebody's result."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in {".parquet", ".json"}
    }


def test_a_run_reads_all_days_once_and_the_next_one_none(tmp_path: Path) -> None:
    """What is kept is not asked for, and models that say the same are left alone."""
    source = Source(WHOLE)
    first = run(tmp_path, source)
    assert (first.status, source.asked) == (ExitStatus.DONE, list(DAYS))
    assert first.reading.values == 4 * 2 * 2_000
    assert first.stored == Written(2, 0, [])
    before = content(tmp_path)
    again = run(tmp_path, source, name="job-2")
    assert (again.status, len(source.asked)) == (ExitStatus.DONE, 4)
    assert again.stored == Written(0, 2, [])
    assert content(tmp_path) == before


def test_groups_of_a_namespace_that_is_not_asked_for_any_more_get_no_models(tmp_path: Path) -> None:
    """The history has them for two weeks: where the job's rights ended with the question, each night would fail."""
    both = {day: pa.concat_tables([WHOLE[day], rows_of(day, namespace="bank")]) for day in DAYS}
    assert run(tmp_path, Source(both)).fitted.groups == 4
    named: list[GroupModel] = []

    def write(models: Sequence[GroupModel]) -> Written:
        named.extend(models)
        return Written(len(models), 0, ())

    report = run(tmp_path, Source({}), write=write, namespaces=["shop"])
    assert report.status is ExitStatus.DONE
    assert {(item.namespace, item.group) for item in named} == {("shop", "orders"), ("shop", "billing")}


@pytest.mark.parametrize("seed", range(5))
def test_days_in_any_order_give_the_same_files(tmp_path: Path, seed: int) -> None:
    """In one run or in several."""
    run(tmp_path / "straight", Source(WHOLE))
    shuffled = random.Random(seed).sample(DAYS, 4)  # noqa: S311 - an order, no secret
    early = set(shuffled[: seed % 4])
    if early:
        some = {day: WHOLE[day] if day in early else DayFailure(day, "503") for day in DAYS}
        run(
            tmp_path / "mixed", Source(some, order=lambda _: shuffled), write=lambda models: Written(0, len(models), [])
        )
    run(tmp_path / "mixed", Source(WHOLE, order=lambda days: [day for day in shuffled if day in days]))
    assert content(tmp_path / "mixed") == content(tmp_path / "straight")


def test_a_failed_day_costs_itself_and_is_asked_for_again(tmp_path: Path) -> None:
    """Models are fitted from the others."""
    source = Source({**WHOLE, DAYS[1]: DayFailure(DAYS[1], "503 from http://prometheus")})
    first = run(tmp_path, source)
    assert first.status is ExitStatus.IN_PART
    assert first.reading.failures == (DayFailure(DAYS[1], "503 from http://prometheus"),)
    assert first.stored is not None
    assert first.stored.written == 2
    healed = Source(WHOLE)
    assert run(tmp_path, healed).status is ExitStatus.DONE
    assert healed.asked == [DAYS[1]]


def test_nothing_but_failures_writes_no_model(tmp_path: Path) -> None:
    """And leaves none behind that rests on nothing."""
    report = run(tmp_path, Source({day: DayFailure(day, "connection refused") for day in DAYS}))
    assert (report.status, content(tmp_path)) == (ExitStatus.NOTHING, {})


def test_good_history_serves_when_the_source_is_gone(tmp_path: Path) -> None:
    """The models of yesterday's history are written, and the missing day is told."""
    run(tmp_path, Source({**WHOLE, DAYS[0]: DayFailure(DAYS[0], "503")}))
    report = run(tmp_path, Source({DAYS[0]: DayFailure(DAYS[0], "connection refused")}))
    assert (report.status, report.fitted.groups, report.reading.kept) == (ExitStatus.IN_PART, 2, 3)


def test_a_day_without_data_is_kept_once_a_later_one_has_some(tmp_path: Path) -> None:
    """The last one may still come; the one before will not."""
    source = Source({**WHOLE, DAYS[0]: nothing(), DAYS[2]: nothing()})
    assert run(tmp_path, source).status is ExitStatus.DONE
    source.asked.clear()
    late = dataclasses.replace(source, found=WHOLE)
    assert run(tmp_path, late).reading.read == (DAYS[0],)
    assert late.asked == [DAYS[0]]


def test_a_day_without_data_is_no_quiet_day(tmp_path: Path) -> None:
    """The models rest on as many days as have data."""
    run(tmp_path, Source({**WHOLE, DAYS[2]: nothing()}))
    (model, _) = model_estimate.models(
        History(str(tmp_path / "history")).read(DAYS).rows, on=UNTIL, fitted_at=NOW, job="j"
    )
    assert model.days == 3
    assert model.quantities["absence"].group_days == pytest.approx(3.0)


def test_no_data_at_all_is_asked_for_again(tmp_path: Path) -> None:
    """Most likely the address, tenant or names are wrong."""
    source = Source(dict.fromkeys(DAYS, nothing()))
    assert run(tmp_path, source).status is ExitStatus.NOTHING
    assert run(tmp_path, source).status is ExitStatus.NOTHING
    assert len(source.asked) == 8


def test_a_broken_file_is_read_again(tmp_path: Path) -> None:
    """The history is whole afterwards, to the byte."""
    run(tmp_path, Source(WHOLE))
    before = content(tmp_path)
    path = tmp_path / "history" / f"day={DAYS[2]}" / "histograms.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    healed = Source(WHOLE)
    report = run(tmp_path, healed)
    assert (report.status, healed.asked) == (ExitStatus.DONE, [DAYS[2]])
    assert "is no whole Parquet file" in report.reading.broken[0].message
    assert content(tmp_path) == before


def test_a_broken_file_that_cannot_be_read_again_costs_its_day(tmp_path: Path) -> None:
    """The source does not reach back so far any more."""
    run(tmp_path, Source(WHOLE))
    path = tmp_path / "history" / f"day={DAYS[3]}" / "histograms.parquet"
    path.write_bytes(b"")
    report = run(tmp_path, Source({DAYS[3]: DayFailure(DAYS[3], "422")}))
    assert (report.status, report.reading.kept) == (ExitStatus.IN_PART, 3)
    assert report.fitted.groups == 2


def test_a_broken_file_of_a_day_that_the_source_forgot_is_told_once(tmp_path: Path) -> None:
    """Prometheus does not reach back so far: the day is lost, and asked for no more."""
    run(tmp_path, Source(WHOLE))
    path = tmp_path / "history" / f"day={DAYS[3]}" / "histograms.parquet"
    path.write_bytes(b"")
    report = run(tmp_path, Source({DAYS[3]: nothing()}))
    assert (report.status, report.reading.empty) == (ExitStatus.IN_PART, (DAYS[3],))
    assert run(tmp_path, Source({})).status is ExitStatus.DONE
    assert "is no whole Parquet file" in report.reading.broken[0].message


class Full(History):
    """A history on a disk that takes two more days."""

    taken = 0

    def write(self, day: date, rows: pa.Table) -> None:
        """Take two, then none."""
        if self.taken == 2:
            raise HistoryError(f"{self.path(day)}: cannot be written (No space left on device): free some disk")
        self.taken += 1
        super().write(day, rows)


def test_a_full_disk_ends_the_reading_and_the_rest_is_fitted(tmp_path: Path) -> None:
    """What cannot be kept need not be read."""
    source = Source(WHOLE)
    report = run(tmp_path, source, history=Full(str(tmp_path / "history")))
    assert (report.status, source.asked, report.reading.read) == (
        ExitStatus.IN_PART,
        list(DAYS[:3]),
        (DAYS[1], DAYS[0]),
    )
    assert [failure.day for failure in report.reading.failures] == [DAYS[3], DAYS[2]]
    assert "No space left on device" in report.reading.failures[1].message
    assert report.fitted.groups == 2


def test_a_history_in_a_file_s_place_is_told_before_anything_is_read(tmp_path: Path) -> None:
    """Reading may take an hour."""
    (tmp_path / "history").write_text("")
    source = Source(WHOLE)
    with pytest.raises(HistoryError, match="give a folder, not a file"):
        run(tmp_path, source)
    assert source.asked == []


def test_models_that_cannot_be_written_leave_the_days_kept(tmp_path: Path) -> None:
    """The next run has nothing to read."""

    def unreachable(_models: Sequence[GroupModel]) -> Written:
        raise ApiServerError("the API server does not answer")

    report = run(tmp_path, Source(WHOLE), write=unreachable)
    assert report.status is ExitStatus.NOTHING
    assert report.stored == Written(0, 0, ("the API server does not answer",))
    healed = Source({})
    assert run(tmp_path, healed).status is ExitStatus.DONE
    assert healed.asked == []


def test_some_models_that_cannot_be_written_are_done_in_part(tmp_path: Path) -> None:
    """A namespace that is forbidden, for example."""
    report = run(tmp_path, Source(WHOLE), write=lambda _: Written(1, 0, ["namespace bank: forbidden"]))
    assert report.status is ExitStatus.IN_PART


def test_days_after_the_window_are_left_alone(tmp_path: Path) -> None:
    """They were written by a clock that was ahead, or for a later fit."""
    run(tmp_path, Source(WHOLE))
    History(str(tmp_path / "history")).write(UNTIL + DAY, rows_of(UNTIL + DAY))
    report = run(tmp_path, Source({}))
    assert (report.status, report.reading.kept) == (ExitStatus.DONE, 4)


def test_a_group_that_changed_its_client_rests_on_the_newest_one(tmp_path: Path) -> None:
    """Tails of another library say nothing of it."""
    changed = {day: rows_of(day, client="java" if day < DAYS[1] else "kafkajs") for day in DAYS}
    written: list[GroupModel] = []

    def keep(models: Sequence[GroupModel]) -> Written:
        written.extend(models)
        return Written(len(models), 0, [])

    assert run(tmp_path, Source(changed), write=keep).status is ExitStatus.DONE
    assert {(item.client, item.days) for item in written} == {("kafkajs", 2)}
