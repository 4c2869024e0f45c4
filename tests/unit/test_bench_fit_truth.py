"""How far a fit is from the truth: nothing where it says the same, and by its factor where it does not."""

import dataclasses
import math

import pytest

from bench import fit_truth
from heartbeat_tuner.metrics.measured import ABSENCE, POLL_GAP
from heartbeat_tuner.models.group_model import GroupModel
from sandbox.fleet import GroupTruth, Usual, fleet
from tests.support import fitted

QUICK = fleet(1, kafkajs_share=0.0)[0]
SLOW = dataclasses.replace(QUICK, group="slow", polls=Usual(3.0, 0.5))

VALUES_A_DAY = 960.0
THRESHOLD_S = 0.5


def model(truth: GroupTruth, *, factor: float = 1.0) -> GroupModel:
    """Return a model that says of absences what the truth does, its times multiplied by a factor."""
    law = truth.absences
    tail = dataclasses.replace(
        fitted.tail(),
        threshold_s=THRESHOLD_S * factor,
        share=law.per_day_over(THRESHOLD_S) / VALUES_A_DAY,
        shape=law.shape,
        log_scale=math.log((law.scale_s + law.shape * THRESHOLD_S) * factor),
    )
    quantity = fitted.quantity(tail=tail, values=2_880, member_days=3.0, group_days=1.0)
    return fitted.model(namespace=truth.namespace, group=truth.group, quantities={ABSENCE: quantity})


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_a_fit_is_compared_by_the_time_that_is_exceeded_as_often(factor: float) -> None:
    """A tail of a Pareto law is one again, with another scale."""
    found = fit_truth.comparisons([QUICK], [model(QUICK, factor=factor)])
    assert {item.rate for item in found} >= {"1 a day", "1 a month", "1 a year"}
    for item in found:
        assert (item.quantity, item.groups) == (ABSENCE, 1)
        assert item.ratios == pytest.approx((factor,) * 3, rel=1e-6)
        assert item.covered == 1.0


def test_what_shows_in_part_is_not_compared() -> None:
    """Absences of a group whose handlers take seconds; its poll gaps are."""
    assert fit_truth.comparisons([SLOW], [model(SLOW)]) == []
    assert fit_truth.true_s(SLOW, ABSENCE, 1.0) is None
    longest_s = fit_truth.true_s(SLOW, POLL_GAP, 1.0)
    assert longest_s is not None
    assert 15 < longest_s < 30
    assert fit_truth.comparisons([QUICK], []) == []
