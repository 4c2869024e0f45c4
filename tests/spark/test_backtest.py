"""Models of the first days, asked about the later ones."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from heartbeat_tuner.fitting.models import backtest, backtest_scores
from heartbeat_tuner.fitting.models.backtest_scores import BacktestVerdict
from heartbeat_tuner.tails import drift
from heartbeat_tuner.tails.histogram import EDGES_S
from tests.support.fleet_days import TODAY, ago, fleet, of_day


def test_the_same_fleet_is_foreseen() -> None:
    """Counts lie around what was predicted, and bounds hold."""
    found = backtest.run(fleet(6, groups=60), fit_until=ago(2))
    (score,) = found.fleet
    assert (found.fitted_since, found.fitted_until, found.scored_since, found.scored_until) == (
        ago(5),
        ago(2),
        ago(1),
        TODAY,
    )
    assert score.verdict is BacktestVerdict.HOLDS
    assert [level.exceeded for level in score.levels] == [1e-2, 1e-3, 1e-4]
    for level in score.levels:
        assert level.groups == 60
        assert level.kept > 0.9
        assert level.within > 0.85
    assert score.levels[0].ratio == pytest.approx(1.0, abs=0.1)
    assert score.drifted == {drift.DriftVerdict.SAME: 60}
    assert "were predicted; the bound held for" in score.because


@pytest.mark.parametrize(
    ("longer", "verdict", "drifted"),
    [
        (2.0, BacktestVerdict.TOO_LOW, drift.DriftVerdict.LONGER),
        (0.5, BacktestVerdict.TOO_HIGH, drift.DriftVerdict.SHORTER),
    ],
)
def test_a_fleet_that_changed_is_not(longer: float, verdict: BacktestVerdict, drifted: drift.DriftVerdict) -> None:
    """In either direction."""
    rows = pa.concat_tables([fleet(4, groups=20, newest=ago(2)), fleet(2, groups=20, longer=longer, seed=2)])
    (score,) = backtest.run(rows, fit_until=ago(2)).fleet
    assert score.verdict is verdict
    assert score.drifted == {drifted: 20}


def test_counts_are_those_beyond_the_edge() -> None:
    """Seen and predicted are of the same time, at the mean and at the bound."""
    rows = fleet(4, groups=5)
    found = backtest.run(rows, fit_until=ago(1))
    (scored,) = [group for group in found.groups if group.subject.group == "orders-3"]
    assert scored.values == 2_880
    late = [
        (EDGES_S[row["bucket"]], row["n"])
        for row in rows.to_pylist()
        if (row["day"], row["group"]) == (TODAY, "orders-3") and row["bucket"] >= 0
    ]
    assert len(scored.asked) == 3
    for asked in scored.asked:
        assert asked.seen == sum(count for lower_s, count in late if lower_s >= asked.time_s)
        assert asked.upper_seen == sum(count for lower_s, count in late if lower_s >= asked.upper_time_s)
        assert asked.predicted == pytest.approx(2_880 * asked.exceeded, rel=0.15)
        assert asked.upper_predicted <= 2_880 * asked.exceeded * 1.001
        assert asked.upper_time_s >= asked.time_s


def test_chance_is_poissons() -> None:
    """Within what a Poisson law does in 95 % of cases; SciPy says the same of every count."""
    seen = np.arange(60.0)
    for predicted in (0.01, 0.5, 3.0, 17.0):
        law = stats.poisson(predicted)
        within = (law.cdf(seen) >= 0.025) & (law.sf(seen - 1) >= 0.025)
        assert backtest_scores.within_chance(seen, np.full(60, predicted)).tolist() == within.tolist()
        beyond = law.sf(seen - 1) < 0.025
        assert backtest_scores.beyond_chance(seen, np.full(60, predicted)).tolist() == beyond.tolist()


def test_groups_without_models_or_values_are_not_scored() -> None:
    """Those without a model are counted by the reason; those that went are left out."""
    rows = pa.concat_tables([fleet(4, groups=8), of_day(ago(2), {"few": {5: 2}})])
    gone = rows.filter(
        pa.compute.invert(
            pa.compute.and_(
                pa.compute.equal(rows["group"], "orders-7"), pa.compute.greater(rows["day"], pa.scalar(ago(1)))
            )
        )
    )
    found = backtest.run(gone, fit_until=ago(1))
    assert found.rejected == {"too few values for a reference": 1}
    assert sorted(group.subject.group for group in found.groups) == [f"orders-{number}" for number in range(7)]


def test_too_little_tells_nothing() -> None:
    """Three exceedances of all groups together are the least that says something."""
    late = of_day(TODAY, {"orders-0": {100: 20}})
    (score,) = backtest.run(pa.concat_tables([fleet(3, groups=2, newest=ago(1)), late]), fit_until=ago(1)).fleet
    assert score.verdict is BacktestVerdict.UNKNOWN
    assert all(level.ratio is None for level in score.levels)


def test_both_sides_need_days() -> None:
    """Else there is nothing to fit, or nothing to score."""
    rows = fleet(2, groups=2)
    for day in (ago(9), TODAY):
        with pytest.raises(ValueError, match="there must be days up to it, and days after it"):
            backtest.run(rows, fit_until=day)
