"""The test that may be looked at as often as one likes: it is a fair game, and says more with each episode."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from heartbeat_tuner.tails import count_bounds
from heartbeat_tuner.verification import e_process
from heartbeat_tuner.verification.e_process import HARMFUL, HARMFUL_OF_RECORD, HELPFUL, LEAST_EPISODES, PastCount

COUNTS = st.integers(0, 200)
EXPECTED = st.floats(0, 200)


@given(st.floats(0.01, 20.0))
def test_the_mean_under_the_reference_is_one(expected: float) -> None:
    """Summed over all counts that Poisson's law makes: what is won on harm and on benefit is a fair game."""
    count = np.arange(0.0, 2_000.0)
    likely = stats.poisson.logpmf(count, expected)
    for ratios in (HARMFUL, HELPFUL):
        logs = e_process.log_e(count, np.full(count.size, expected), ratios)
        won = special.logsumexp(logs + likely)
        assert math.exp(won) == pytest.approx(1.0, abs=1e-6)


@given(st.floats(0.01, 10.0), st.floats(0.0, 1.0), st.floats(1.0, 10.0))
def test_lower_rates_and_scattered_days_win_no_more(expected: float, part: float, scatter: float) -> None:
    """A supermartingale for every rate up to the reference, and for any root of what is won."""
    count = np.arange(0.0, 2_000.0)
    likely = stats.poisson.logpmf(count, expected * part)
    logs = e_process.log_e(count, np.full(count.size, expected), HARMFUL, scatter)
    assert special.logsumexp(logs + likely) <= 1e-9


def test_harm_is_falsely_shown_no_more_often_than_promised() -> None:
    """Looked at after each of a hundred days' episodes, at the very reference rate: Ville's inequality."""
    numbers = np.random.default_rng(1)
    shown = [
        float(e_process.harm(np.cumsum(numbers.exponential(1.0, 100))).max()) >= math.log(1 / e_process.ALPHA)
        for _ in range(2_000)
    ]
    assert 0 < np.mean(shown) <= e_process.ALPHA


@pytest.mark.parametrize(("rate", "before", "since"), [(0.1, 14.0, 28.0), (1.0, 14.0, 2.0), (3.0, 3.0, 3.0)])
def test_the_mean_against_a_record_is_one_for_every_rate(rate: float, before: float, since: float) -> None:
    """Summed over all counts before and since. For harm it is less, by the episode that was cut off."""
    count, seen = np.arange(0.0, 2_000.0), np.arange(0.0, 100.0)
    likely = stats.poisson.logpmf(count, rate * since)
    for ratios, cut_off in ((HARMFUL_OF_RECORD, 1.0), (HELPFUL, 0.0)):
        logs = [
            special.logsumexp(e_process.log_e_of_record(count, since, PastCount(past, before), ratios) + likely)
            for past in seen
        ]
        mean = math.exp(special.logsumexp(np.array(logs) + stats.poisson.logpmf(seen, rate * before)))
        stretched = (before + since) / (before + np.array(ratios) * since)
        assert mean == pytest.approx((stretched**cut_off).mean(), rel=1e-6)
        assert mean <= 1.0 + 1e-9


def test_a_long_record_is_a_known_rate() -> None:
    """Three a day for longer than anyone watched. Where days scatter, each bet loses its own root."""
    record = PastCount(3e9, 1e9)
    count, expected = (values.ravel() for values in np.meshgrid([0.0, 1.0, 5.0, 200.0], [0.0, 0.5, 5.0, 200.0]))
    for ratios in (HARMFUL_OF_RECORD, HELPFUL):
        plain, scattered = (
            e_process.log_e_of_record(count, expected / 3.0, record, ratios, dispersion) for dispersion in (1.0, 4.0)
        )
        assert plain == pytest.approx(e_process.log_e(count, expected, ratios), abs=0.1)
        assert (scattered <= e_process.log_e(count, expected, ratios, 4.0) + 0.1).all()


@given(COUNTS, st.floats(0.01, 100.0), COUNTS)
def test_against_a_record_an_episode_more_is_more_harm_and_quiet_time_less(count: int, days: float, seen: int) -> None:
    """Monotone in N and in exposure."""
    record = PastCount(seen, 14.0)
    counted = e_process.log_e_of_record([count, count + 1, count], [days, days, days + 1], record, HARMFUL_OF_RECORD)
    assert counted[2] < counted[0] < counted[1]


@pytest.mark.parametrize("rate", [0.1, 1.0, 10.0])
def test_against_a_record_harm_is_falsely_shown_no_more_often_than_promised(rate: float) -> None:
    """A fortnight before, and a look at each of the episodes after it."""
    numbers = np.random.default_rng(3)
    highest = [
        e_process.harm_of_record(
            np.cumsum(numbers.exponential(1 / rate, 200)), PastCount(numbers.poisson(14 * rate), 14.0)
        ).max()
        for _ in range(2_000)
    ]
    assert np.mean(np.array(highest) >= math.log(1 / e_process.ALPHA)) <= e_process.ALPHA


def test_a_bet_on_the_record_sees_harm_sooner_than_its_upper_bound() -> None:
    """Five times the rate of one a day, after a fortnight."""
    days = np.arange(1.0, 41.0) / 5.0
    by_bound = e_process.first(
        e_process.harm(count_bounds.garwood(14, 14.0, alpha=e_process.ALPHA).upper * days) >= e_process.THRESHOLD
    )
    by_record = e_process.first(e_process.harm_of_record(days, PastCount(14, 14.0)) >= e_process.THRESHOLD)
    assert by_bound is not None
    assert by_record is not None
    assert days[by_record] < 0.7 * days[by_bound]


@given(COUNTS, EXPECTED)
def test_an_episode_more_is_more_harm_and_less_benefit(count: int, expected: float) -> None:
    """Monotone in N."""
    harm, benefit = (e_process.log_e([count, count + 1], [expected] * 2, bets) for bets in (HARMFUL, HELPFUL))
    assert harm[1] > harm[0]
    assert benefit[1] < benefit[0]


@given(COUNTS, EXPECTED, st.floats(0.01, 10.0))
def test_quiet_time_is_less_harm_and_more_benefit(count: int, expected: float, more: float) -> None:
    """Monotone in exposure, with the sign turned."""
    harm, benefit = (e_process.log_e([count] * 2, [expected, expected + more], bets) for bets in (HARMFUL, HELPFUL))
    assert harm[1] < harm[0]
    assert benefit[1] > benefit[0] - 1e-12


def test_a_million_episodes_are_a_number() -> None:
    """And none at all, and more than a float can hold the power of."""
    logs = e_process.log_e([1e6, 0.0, 1e6], [1.0, 1e6, 1e6], HARMFUL)
    assert np.isfinite(logs).all()
    assert logs[0] == pytest.approx(1e6 * math.log(32) - 31 - math.log(6))
    assert np.isfinite(e_process.log_e([1e6, 0.0], [1e6, 1e6], HELPFUL)).all()


def test_an_episode_refutes_a_rate_of_nothing() -> None:
    """The bet that none is left is lost at the first, the others go on."""
    assert e_process.log_e(1.0, 0.0, (0.0, 0.5)) == pytest.approx(math.log(0.25))
    assert e_process.log_e(0.0, 3.0, (0.0,)) == pytest.approx(3.0)
    record = PastCount(4, 8.0)
    assert e_process.log_e_of_record(0.0, 8.0, record, (0.0,)) == pytest.approx(4 * math.log(2))
    half = math.log(0.5) + 5 * math.log(16 / 12)
    assert e_process.log_e_of_record(1.0, 8.0, record, (0.0, 0.5)) == pytest.approx(math.log(0.5) + half)


def test_fewer_than_three_never_show_harm() -> None:
    """However rare they were to be."""
    logs = e_process.harm(np.full(4, 1e-9))
    assert (logs[: LEAST_EPISODES - 1] == -np.inf).all()
    assert logs[LEAST_EPISODES - 1] > math.log(1 / e_process.ALPHA)


def test_first_is_the_first() -> None:
    """Or none."""
    assert e_process.first(np.array([False, True, True])) == 1
    assert e_process.first(np.array([False, False])) is None
    assert e_process.first(np.array([], dtype=bool)) is None


def test_the_days_until_harm_shows_are_those_of_simulated_groups() -> None:
    """Within a half of the median: it is what people are told to wait."""
    numbers = np.random.default_rng(2)
    for times in (2.0, 5.0):
        expected = e_process.days_to_show(times, 1.0)
        shown = []
        for _ in range(300):
            at = np.cumsum(numbers.exponential(1.0 / times, 400))
            place = e_process.first(e_process.harm(at) >= e_process.THRESHOLD)
            shown.append(math.inf if place is None else at[place])
        assert 0.5 < np.median(shown) / expected < 1.5


def test_against_a_record_they_are_too() -> None:
    """One a day for a fortnight, and three or five after it."""
    numbers = np.random.default_rng(4)
    record = PastCount(14, 14.0)
    for times in (3.0, 5.0):
        shown = []
        for _ in range(300):
            at = np.cumsum(numbers.exponential(1.0 / times, 400))
            place = e_process.first(e_process.harm_of_record(at, record) >= e_process.THRESHOLD)
            shown.append(math.inf if place is None else at[place])
        assert 0.5 < np.median(shown) / e_process.days_to_show_by_record(times, record) < 1.5
    assert e_process.days_to_show_by_record(1.0, record) == math.inf
    assert e_process.days_to_show_by_record(1e-6, record) == math.inf


def test_what_is_no_more_than_the_reference_never_shows() -> None:
    """And three episodes take the time of three, however high the rate."""
    assert e_process.days_to_show(1.0, 1.0) == math.inf
    assert e_process.days_to_show(math.inf, 1.0) == math.inf
    assert e_process.days_to_show(1.0, 0.0) == math.inf
    assert e_process.days_to_show(30.0, 1e-6) == pytest.approx(0.1)
