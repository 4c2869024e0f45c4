"""The command on a real Prometheus, through what goes wrong on the way to it: days come to be the same all the same."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from bench.exporters import write_series
from heartbeat_tuner.fitting import calendar_days
from heartbeat_tuner.fitting.calendar_days import DAY
from heartbeat_tuner.fitting.history import History
from heartbeat_tuner.fitting.outcome import ExitStatus
from sandbox.binaries import Binaries
from sandbox.prometheus import Prometheus
from tests.support import again, fits, histories
from tests.support.faulty_prometheus import Faulty
from tests.support.fits import Ended
from tests.support.results import content
from tests.support.scripted_server import serving

pytestmark = pytest.mark.timeout(600)  # four runs, one after the other

UNTIL: Final = calendar_days.newest_whole_day(datetime.now(UTC))
DAYS: Final = tuple(UNTIL - DAY * age for age in range(6))
"""The newest first; on the last there is nothing, and on the one before only its last hour."""

CLUSTER: Final = "main"


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A real one, that has a small fleet on four days, and in the last hour of the one before."""
    with Prometheus(tmp_path_factory.mktemp("prometheus"), Binaries(), kubeconfig=None) as started:
        write_series(int(started.url.rpartition(":")[2]), histories.of_days(DAYS[3], DAYS[0], members=2, every_s=300.0))
        yield started


def days_in(folder: Path) -> dict[date, bytes]:
    """Return what is kept."""
    history = History(str(folder / "history"))
    return {day: Path(history.path(day)).read_bytes() for day in history.days()}


def models_in(folder: Path) -> list[dict[str, Any]]:
    """Return what the models say of these days: not who fitted them when, nor what a run before knew better."""
    models = list(content(folder / "models").values())
    for model in models:
        for quantity in model["spec"]["quantities"]:
            quantity.pop("kept", None)
    return models


def said(ended: Ended) -> dict[str, Any]:
    """Return the summary of a run that showed nobody a trace."""
    fits.clean(ended)
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_whatever_goes_wrong_with_a_day_and_however_a_run_ends_the_days_come_to_be_the_same(
    spark: SparkSession, prometheus: Prometheus, tmp_path: Path
) -> None:
    """What passes is borne; what does not costs its day, which the next run reads; one that is killed costs nothing."""
    whole = again.from_prometheus(spark, prometheus.url, CLUSTER)
    straight = again.run(tmp_path / "straight", whole, until=UNTIL, count=len(DAYS))
    assert (straight.status, straight.reading.read) == (ExitStatus.DONE, DAYS[4::-1])
    expected = days_in(tmp_path / "straight")

    mine = tmp_path / "mine"
    assert again.run(mine, whole, until=DAYS[4], count=1).status is ExitStatus.DONE
    faulty = Faulty(prometheus.url)
    faulty.passing, faulty.partial, faulty.clock, faulty.flooded = DAYS[:4]
    with serving(faulty) as proxy:
        options = (
            "--prometheus", proxy.url, "--timeout", "3s", "--cluster", CLUSTER, "--master", "local[2]",
            "--since", f"{24 * len(DAYS)}h", "--until", UNTIL.isoformat(), "--output", "json",
            "--history", str(mine / "history"), "--models", str(mine / "models"),
        )  # fmt: skip
        first = fits.fit(*options)
        report = said(first)
        assert (first.status, report["status"]) == (1, "IN_PART")
        assert (report["days"]["keptBefore"], report["days"]["read"]) == (1, [DAYS[0].isoformat()])
        assert report["days"]["withoutData"] == [DAYS[5].isoformat()]
        failures = {item["day"]: item["message"] for item in report["days"]["failed"]}
        for day, sentence in (
            (DAYS[1], "only part of the data (a store is away)"),
            (DAYS[2], "Prometheus' clock says "),
            (DAYS[3], "Prometheus answered 422 (query processing would load too many samples into memory)"),
        ):
            assert failures.pop(day.isoformat()).partition("; tried")[0].count(sentence) == 1
        assert failures == {}
        assert set(faulty.hits) == {"422", "429", "503", "slow", "partial", "clock", "flooded"}
        assert days_in(mine) == {day: expected[day] for day in (DAYS[0], *DAYS[4:])}
        assert report["models"]["written"] == 1

        faulty.heal()
        assert fits.Fit(*options).killed_after(2, 0.3)  # a day is read, and the next one not yet
        left = days_in(mine)
        assert left.items() <= expected.items()
        assert DAYS[1] in left

        last = fits.fit(*options)
        report = said(last)
        assert (last.status, report["status"]) == (0, "DONE")
        assert report["days"]["keptBefore"] == len(left)
        assert report["days"]["read"] == [day.isoformat() for day in reversed(DAYS) if day not in left]
        stages = [json.loads(line)["event"] for line in last.stderr.splitlines()]
        assert stages == ["history", *["day"] * (len(DAYS) - len(left)), "read", "fit", "write"]
        assert days_in(mine) == expected
        assert models_in(mine) == models_in(tmp_path / "straight")

        asked = len(proxy.requests)
        nothing_more = fits.fit(*options)
        models = {"written": 0, "unchanged": 1, "failed": [], "gone": []}
        assert (nothing_more.status, said(nothing_more)["models"]) == (0, models)
        assert len(proxy.requests) == asked
    (model,) = models_in(mine)
    assert model["spec"]["cluster"] == CLUSTER
