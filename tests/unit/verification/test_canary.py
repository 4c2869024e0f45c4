"""Whom the next episode hits, where a part of the pods has new values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heartbeat_tuner.verification import canary


@given(st.integers(0, 40), st.floats(0.05, 0.95))
def test_without_an_effect_it_is_a_fair_game(episodes: int, share: float) -> None:
    """The mean over all ways to hit is 1."""
    hits = np.arange(episodes + 1)
    likely = stats.binom.pmf(hits, episodes, share)
    won = [math.exp(canary.log_e(int(count), episodes - int(count), share)) for count in hits]
    assert float((likely * won).sum()) == pytest.approx(1.0, rel=1e-6)


@given(st.integers(0, 100), st.integers(0, 100), st.floats(0.05, 0.95))
def test_a_hit_more_is_more_harm(hits: int, others: int, share: float) -> None:
    """And one of another pod is less."""
    here = canary.log_e(hits, others, share)
    assert canary.log_e(hits + 1, others, share) > here
    assert canary.log_e(hits, others + 1, share) < here


def test_three_hits_of_three_show_harm_in_a_small_canary_only() -> None:
    """Half the pods are hit three times in a row once in eight; two never show anything."""
    assert canary.shows_harm(3, 0, 0.1)
    assert not canary.shows_harm(3, 0, 0.5)
    assert not canary.shows_harm(2, 0, 0.001)
    assert canary.shows_harm(10, 0, 0.5)


def test_a_million_episodes_are_a_number() -> None:
    """In both directions."""
    assert math.isfinite(canary.log_e(1_000_000, 0, 0.25))
    assert math.isfinite(canary.log_e(0, 1_000_000, 0.25))


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, math.nan])
def test_a_share_without_two_kinds_of_pods_is_refused(share: float) -> None:
    """There is nothing to compare."""
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        canary.log_e(1, 1, share)


def test_negative_counts_are_refused() -> None:
    """They are a mistake of the caller's."""
    with pytest.raises(ValueError, match="must not be negative"):
        canary.log_e(-1, 0, 0.5)
