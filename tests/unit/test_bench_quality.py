"""The figures of `bench.quality`, by hand."""

import dataclasses
import math
from datetime import timedelta

import pytest

from bench.quality_figures import Case, Outcome, Reference, figures
from heartbeat_tuner.domain.liveness import LivenessSettings

SETTINGS = LivenessSettings(timedelta(seconds=45), timedelta(seconds=3), timedelta(milliseconds=500))


def outcome(net: float, evictions: float = 0.5) -> Outcome:
    """Settings that cost so much."""
    return Outcome(SETTINGS, net, net + 1.0, evictions)


def case(default: float, tuned: float, oracle: float, rule: float = 100.0) -> Case:
    """A Java group that was changed, and whose every setting meets the objective."""
    return Case(
        client="java",
        kind="clean",
        reference=Reference(outcome(default), outcome(oracle), feasible=True),
        rule=outcome(rule),
        tuned=outcome(tuned),
        vouched=True,
        evictions=0,
        verdict="Change",
        reason="Cheaper",
    )


def test_a_share_is_of_sums_and_not_a_mean_of_shares() -> None:
    """Large groups weigh more than small ones."""
    found = figures([case(100, 50, 50), case(1000, 1000, 500)])
    assert found["captured_share"] == pytest.approx(50 / 550)


def test_a_loss_counts_against_what_is_saved_elsewhere() -> None:
    """A group that became dearer takes from the sum."""
    assert figures([case(100, 50, 50), case(100, 125, 50)])["captured_share"] == pytest.approx(0.25)


def test_regret_is_a_median_a_quantile_and_a_ratio_of_sums() -> None:
    """Three groups, of which one is large."""
    found = figures([case(20, 11, 10), case(20, 12, 10), case(200, 130, 100)])
    assert found["oracle_median"] == pytest.approx(1.2)
    assert found["oracle_p90"] == pytest.approx(1.28)
    assert found["oracle_total"] == pytest.approx(153 / 120)


def test_the_rule_is_met_by_a_geometric_mean_and_its_evictions_by_a_sum() -> None:
    """Half the cost in one group and double in the other are no gain."""
    many = dataclasses.replace(case(100, 50, 50, rule=100), rule=outcome(100, evictions=9.5))
    found = figures([many, case(100, 50, 50, rule=25)])
    assert found["rule_geomean"] == pytest.approx(math.sqrt(0.5 * 2.0))
    assert found["rule_evictions_ratio"] == pytest.approx(1.0 / 10.0)


def test_only_groups_that_can_be_safe_and_were_vouched_for_count_as_within() -> None:
    """Who was left with the word that it misses its objective, or cannot meet it, is no broken promise."""
    unsafe = dataclasses.replace(case(100, 50, 50), tuned=outcome(50, evictions=2))
    left = dataclasses.replace(unsafe, vouched=False)
    hopeless = dataclasses.replace(unsafe, reference=dataclasses.replace(unsafe.reference, feasible=False))
    assert figures([case(100, 50, 50), unsafe, left, hopeless])["within_objective"] == pytest.approx(0.5)


def test_an_objective_that_is_just_met_is_met() -> None:
    """The objective is a number that may be reached."""
    just = dataclasses.replace(case(100, 50, 50), tuned=outcome(50, evictions=1.0))
    assert figures([just])["within_objective"] == 1.0


def test_worse_is_more_than_two_per_cent_and_evidence_three_evictions() -> None:
    """One group of two has the evidence."""
    danger = dataclasses.replace(case(100, 103, 50), evictions=3)
    found = figures([danger, case(100, 103, 50), case(100, 101, 50), case(100, 50, 50)])
    assert found["made_worse"] == pytest.approx(0.5)
    assert found["made_worse_without_evidence"] == pytest.approx(0.25)


def test_a_library_counts_only_where_there_is_something_to_save() -> None:
    """Four per cent are under the noise of a fleet."""
    poor = dataclasses.replace(case(100, 98, 96), client="java-kip848")
    found = figures([case(100, 60, 50), poor])
    assert found["per_client"] == {"java": pytest.approx(0.8)}
    assert found["oracle_saves"]["java-kip848"] == pytest.approx(0.04)
