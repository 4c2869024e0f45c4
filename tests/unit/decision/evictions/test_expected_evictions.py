"""What a model says of settings: expectations, wishes, and the sentences that carry them."""

import dataclasses
import math
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from scipy import stats

from heartbeat_tuner.clients.client import Period
from heartbeat_tuner.decision.evictions import expected_evictions
from heartbeat_tuner.decision.evictions.expected_evictions import Expectation
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize.remedy import Chosen
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.domain.reasons import Reason as Reasons
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.models.group_model import EarlierTail, QuantityModel
from heartbeat_tuner.tails.model import Rejected, RejectionReason
from tests.support import fitted, worlds
from tests.support.pipelines import choose, outlook
from tests.support.worlds import seconds

SURE = fitted.tail(share_log_sd=1e-4, covariance=(1e-8, 0.0, 1e-8))
BAD = Rejected(RejectionReason.BAD_FIT, "Anderson-Darling 9.1")


def danger(*, most: str = "60s", objective: float = 1.0, **quantity: Any) -> DecisionInput:
    """Return a group at KafkaJS' defaults that is evicted all the time, with a model of its absences."""
    return worlds.situation(
        seen=worlds.record(evictions=9, silence=seconds(29)),
        policy=worlds.policy(objective=Objective(durations.parse(most), objective)),
        model=fitted.fitted(quantities={"absence": fitted.quantity(**quantity)}),
    )


def expectation(quantity: QuantityModel, limit_s: float, age_s: float = 0.0) -> Expectation:
    """Return what is expected where something is."""
    found = expected_evictions.expected(quantity, seconds(limit_s), seconds(age_s))
    assert found is not None
    return found


def test_an_expectation_is_the_laws_mean_over_all_ages_of_the_last_beat() -> None:
    """Beside the integral of the exact law."""
    found = expectation(fitted.quantity(tail=SURE, largest_s=1.5), 12.0, 5.0)
    ages = np.linspace(0, 5, 20_001)
    exact = 0.01 * stats.genpareto.sf(12 - ages - SURE.threshold_s, 0.1, scale=0.5).mean()
    assert found.mean == pytest.approx(30 * 2880 * exact, rel=0.01)
    assert found.upper >= found.mean
    assert not found.unbounded


def test_what_was_seen_once_may_be_seen_again() -> None:
    """The law alone would allow fewer of those that were seen: one in 14 days is up to 4 of them."""
    thin = fitted.tail(share=1e-9)
    seen = expectation(fitted.quantity(tail=thin, largest_s=20.0), 15.0)
    assert seen.mean < 0.01
    assert seen.upper == pytest.approx(30 / 14 * (1 + 1.645 + 1.35), rel=1e-3)
    beyond = expectation(fitted.quantity(tail=thin, largest_s=20.0), 40.0)
    assert beyond.upper == pytest.approx(30 / 14 * 2**-2.5)


def test_below_its_threshold_a_tail_knows_only_a_least() -> None:
    """And says that it is one."""
    found = expectation(fitted.quantity(), 5.0, 5.0)
    assert found.unbounded
    assert str(found).startswith("more than ")
    assert not expectation(fitted.quantity(), 7.0, 5.0).unbounded


def test_nothing_is_expected_without_a_tail_or_a_day() -> None:
    """No number comes from a bad fit."""
    for quantity in (fitted.quantity(tail=BAD), fitted.quantity(group_days=0.9)):
        assert expected_evictions.expected(quantity, seconds(30)) is None
        assert expected_evictions.needed(quantity, 1.0) is None


@pytest.mark.parametrize("quantity", [fitted.quantity(tail=BAD), fitted.quantity(group_days=0.9)])
def test_a_model_without_a_tail_or_a_day_wishes_for_no_session(quantity: QuantityModel) -> None:
    """A session is never raised on a fit that says nothing."""
    period = seconds(5)
    wish = expected_evictions.session_wish(fitted.fitted(quantities={"absence": quantity}), 1.0, period)
    assert wish is None
    sure = fitted.fitted(quantities={"absence": fitted.quantity()})
    assert expected_evictions.session_wish(sure, 1.0, period) is not None


def test_a_need_is_the_worse_of_two_bounds() -> None:
    """The fit's own where its tail is heavy, the shape-free one where it is light."""
    share = 1 / 30 / 2880
    heavy = fitted.tail(shape=0.5)
    assert expected_evictions.needed(fitted.quantity(tail=heavy, largest_s=6.0), 1.0) == heavy.quantile_upper_s(share)
    light = fitted.quantity(tail=SURE, largest_s=20.0)
    assert expected_evictions.needed(light, 1.0) == pytest.approx(20 * (30 / 14) ** 0.4)
    assert expected_evictions.needed(light, 100.0) == 20.0
    assert expected_evictions.needed(fitted.quantity(tail=SURE, largest_s=None), 1e9) == SURE.largest_s
    assert expected_evictions.needed(light, 0.0) == math.inf


def test_a_cure_rises_to_what_the_model_needs() -> None:
    """The record asks for 43 s; weeks of history know of worse."""
    without = decide(dataclasses.replace(danger(most="5m"), model=worlds.situation().model))
    decision = decide(danger(most="5m", largest_s=60.0))
    assert without.target is not None
    assert decision.target is not None
    assert without.target.session_timeout == seconds(43)
    assert decision.target.session_timeout == seconds(90)


def test_a_wish_is_cut_by_the_ceiling_that_says_so() -> None:
    """It makes nothing infeasible, unlike what the record needs."""
    decision = decide(danger(largest_s=60.0))
    assert decision.target is not None
    assert decision.target.session_timeout == seconds(60)


def test_never_is_as_long_as_is_allowed() -> None:
    """No session is long enough to be sure."""
    decision = decide(danger(objective=0.0))
    assert decision.target is not None
    assert decision.target.session_timeout == seconds(60)


def test_a_wish_leaves_the_library_able_to_start() -> None:
    """So far as the poll limit of librdkafka goes, and no further."""
    inputs = worlds.situation(
        now=worlds.java_settings(session="30s", poll="50s"),
        policy=worlds.policy(library="confluent-kafka-python", objective=Objective(timedelta(minutes=5), 1.0)),
        seen=worlds.record(evictions=9, silence=seconds(10)),
        model=fitted.fitted(quantities={"absence": fitted.quantity(largest_s=60.0)}),
    )
    found = choose(inputs, Reasons.DANGER)
    assert isinstance(found, Chosen)
    assert found.settings.session_timeout == seconds(50)
    assert "but maxPollInterval, which must cover it, allows 50s" in found.message


def poll_gaps(**quantity: Any) -> DecisionInput:
    """Return a Java group whose members leave for not polling, with a model of its poll gaps."""
    seen = dataclasses.replace(worlds.record(), poll_gap_evictions=9, longest_poll_gap=seconds(400))
    return worlds.situation(
        now=worlds.java_settings(),
        policy=worlds.java_policy(),
        seen=seen,
        model=fitted.fitted(client="java", quantities={"pollGap": fitted.quantity(**quantity)}),
    )


@pytest.mark.parametrize(
    ("quantity", "limit_s"),
    [({"largest_s": 600.0}, 780), ({"largest_s": 20.0}, 520), ({"largest_s": None}, 520), ({"tail": BAD}, 520)],
)
def test_a_poll_limit_covers_the_largest_gap_of_weeks(quantity: dict[str, Any], limit_s: float) -> None:
    """1.3 times; a model without a tail, or that saw less than the record, asks for nothing more."""
    decision = decide(poll_gaps(**quantity))
    assert decision.target is not None
    assert decision.target.max_poll_interval == seconds(limit_s)


def test_a_group_that_is_well_is_left_alone_and_told_what_to_expect() -> None:
    """The sentence names the model, its days, and both numbers."""
    decision = decide(worlds.situation(model=fitted.fitted()))
    assert (decision.verdict, decision.target) == (Verdict.UNPROVEN, None)
    assert outlook(worlds.situation(model=fitted.fitted())) == (
        "ConsumerGroupModel orders (14 days until 2026-03-01) expects evictions a month: under 0.01 (at most 0.048) "
        "for silence at the values set"
    )


def test_a_model_of_other_quantities_says_so() -> None:
    """Poll gaps are nothing to a client without a poll limit; and without values there is nothing to expect."""
    inputs = worlds.situation(model=fitted.fitted(quantities={"pollGap": fitted.quantity()}))
    says = "ConsumerGroupModel orders (14 days until 2026-03-01) says nothing of the values set"
    assert outlook(inputs) == says
    mixed = dataclasses.replace(inputs, model=fitted.fitted(), workload=worlds.workload(mixed=True))
    assert decide(mixed).outlook == says


def test_an_older_tail_is_told_as_such() -> None:
    """With its own days."""
    stored = EarlierTail(
        fitted.TAIL, 2880.0, fitted.model().since, fitted.UNTIL - timedelta(days=3), fitted.model().fitted_at
    )
    inputs = worlds.situation(model=fitted.fitted(quantities={"absence": fitted.quantity(tail=BAD, kept=stored)}))
    older = "the newest fit was rejected, so these are older: absence of days until 2026-02-26"
    assert outlook(inputs).endswith(f"for silence at the values set; {older}")


@pytest.mark.parametrize(
    ("number", "sentence"), [(0.0, "under 0.01"), (0.0123, "0.012"), (1.0, "1"), (99.9, "100"), (12_345.0, "12000")]
)
def test_figures_have_two_digits(number: float, sentence: str) -> None:
    """More would pretend to know, and move every day."""
    assert str(Expectation(number, number)) == f"{sentence} (at most {sentence})"


def test_evictions_that_no_tail_can_count_are_no_measure_of_rebalances() -> None:
    """A session below what a tail knows may evict any number of members: nothing is unexplained then."""
    model = fitted.fitted(quantities={"absence": fitted.quantity()})
    beats = Period(seconds(1), seconds(1), seconds(1))
    long, short = (
        expected_evictions.per_day_at_most(model, worlds.settings(session, "1s", "1s"), beats)
        for session in ("60s", "1s")
    )
    assert 0.0 < long < 1.0
    assert short == math.inf
