"""How far a change is, and when members were evicted: there and back through a status, and nothing that cannot be."""

import dataclasses
import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.api import followed, parsing
from heartbeat_tuner.api.applied import values_of
from heartbeat_tuner.api.v1alpha1.changes_v1alpha1 import HistoryStatus, VerificationStatus
from heartbeat_tuner.domain.verifications import (
    MOST_EPISODES,
    MOST_EVICTING,
    MOST_LEFT_OUT,
    Effect,
    EpisodeRate,
    EvictingSession,
    EvictionHistory,
    FollowedChange,
    Outcome,
)
from tests.support import manifests, worlds

HISTORY = HistoryStatus(
    since="2026-03-02T12:00:00Z", cluster_ref="main", group_id="orders", values=values_of(worlds.STORM)
)
CHANGE = VerificationStatus(at="2026-03-02T12:00:00Z", outcome=Outcome.WORSE)
WORSE = {"changeTime": "2026-03-02T12:00:00Z", "outcome": "Worse"}
SEEN = {"episodes": 3, "days": 1.0, "perDayLower": 0.6, "perDayUpper": 8.8}
NOT_OURS = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2019-12-31T23:59:59Z")

moments = st.integers(0, 40_000_000).map(lambda after_s: worlds.NOW + timedelta(seconds=after_s))
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=64)
edges = st.lists(st.integers(0, 10_000_000), unique=True, max_size=2 * MOST_LEFT_OUT).map(sorted)
evicting_sessions = st.builds(
    EvictingSession,
    session=st.integers(1, 3_600).map(lambda session_s: timedelta(seconds=session_s)),
    episodes=st.integers(1, MOST_EPISODES),
    days=st.integers(4, 400).map(lambda quarters: quarters / 4),
    on_days=st.integers(1, 40),
    until=moments,
    spec=words,
)

NOTED = EvictionHistory(
    worlds.NOW, worlds.STORM, evicting=(EvictingSession(timedelta(seconds=45), 3, 8.0, 3, worlds.NOW, "asked"),)
)


@st.composite
def histories(draw: st.DrawFn) -> EvictionHistory:
    """Return a history as `verification.eviction_history` makes them."""
    since = draw(moments)
    begun_s = since.timestamp()
    after_s = sorted(draw(st.sets(st.integers(0, 10_000_000), max_size=MOST_EPISODES)))
    limits_s = draw(edges)
    return EvictionHistory(
        since,
        draw(st.sampled_from([worlds.STORM, worlds.java_settings("45s")])),
        tuple(begun_s + at_s for at_s in after_s),
        tuple((begun_s + begin, begun_s + end) for begin, end in zip(limits_s[::2], limits_s[1::2], strict=False)),
        evicting=tuple(draw(st.lists(evicting_sessions, max_size=MOST_EVICTING))),
    )


@given(
    st.builds(
        FollowedChange,
        at=moments,
        landed=st.none() | moments,
        deployed=st.none() | moments,
        outcome=st.sampled_from(Outcome),
        message=words,
        reached=st.none() | moments,
    )
)
def test_a_change_is_read_as_it_was_noted(change: FollowedChange) -> None:
    """But for the words of what does no harm: their figures move by themselves, and the condition has them."""
    noted = followed.verification_of(change)
    again = followed.followed_of(VerificationStatus.model_validate_json(noted.model_dump_json(by_alias=True)))
    assert again is not None
    assert again.message == ("" if change.outcome is Outcome.VERIFYING else change.message)
    assert followed.verification_of(again) == noted
    assert (again.at, again.landed, again.outcome) == (change.at, change.landed, change.outcome)


@given(histories())
def test_a_history_is_read_as_it_was_noted(history: EvictionHistory) -> None:
    """To the second; else each look would write the status again, and a verdict would move with it."""
    noted = HistoryStatus.model_validate_json(followed.history_status(history).model_dump_json(by_alias=True))
    assert followed.history_of(noted) == history


def test_until_when_evictions_may_be_missing_is_remembered() -> None:
    """The next leader proves nothing by the time before; what is no moment of ours says nothing."""
    history = EvictionHistory(worlds.NOW, worlds.STORM, hidden_until=worlds.NOW + worlds.HOUR)
    noted = followed.history_status(history)
    assert followed.history_of(noted) == history
    forged = followed.history_of(noted.model_copy(update={"hidden_until": "9999-12-31T23:59:59Z"}))
    assert forged == dataclasses.replace(history, hidden_until=None)


def test_the_longest_history_fits_a_status() -> None:
    """Two fortnights before a change and four weeks since: every episode and every gap that may be noted."""
    begun_s, step_s = worlds.NOW.timestamp(), 86_400 * 98 // MOST_EPISODES
    times = tuple(begun_s + step_s * number for number in range(1, MOST_EPISODES + 1))
    gaps = tuple((at_s, at_s + 900.0) for at_s in times[-MOST_LEFT_OUT:])
    history = EvictionHistory(worlds.NOW, worlds.STORM, times, gaps)
    assert followed.history_of(followed.history_status(history)) == history


@pytest.mark.parametrize("moment", NOT_OURS)
@pytest.mark.parametrize("field", ["at", "landed", "reached"])
def test_a_change_of_a_time_that_is_none_of_ours_is_not_followed(field: str, moment: str) -> None:
    """Arithmetic with such moments ends a cycle, and nothing that they say was seen."""
    assert followed.followed_of(CHANGE.model_copy(update={field: moment})) is None


@pytest.mark.parametrize(
    "forged",
    [
        *({"since": moment} for moment in NOT_OURS),
        {"episodes": "soon"},
        {"episodes": "-5"},
        {"episodes": "1.5"},
        {"episodes": "²"},
        {"episodes": "nan"},
        {"episodes": "900 0"},
        {"episodes": "9" * 11},
        {"left_out": "5"},
        {"left_out": "5-"},
        {"left_out": "-5"},
        {"left_out": "1-2-3"},
        {"left_out": "9-5"},
        {"left_out": "1-9 5-12"},
    ],
)
def test_a_history_that_cannot_be_is_none(forged: dict[str, str]) -> None:
    """Counting begins again; what somebody wrote there takes no change back."""
    assert followed.history_of(HISTORY.model_copy(update=forged)) is None


def test_a_session_that_evicted_at_no_time_of_ours_did_not() -> None:
    """Whoever wrote that would hold back every shorter session."""
    noted = followed.history_status(NOTED)
    assert noted.evicting is not None
    forged = [noted.evicting[0].model_copy(update={"until": moment}) for moment in NOT_OURS]
    assert followed.history_of(noted.model_copy(update={"evicting": [*forged, *noted.evicting]})) == NOTED


@given(st.text(alphabet="0123456789-. \nxNa", max_size=60), st.text(alphabet="0123456789-. \nxNa", max_size=60))
def test_no_text_of_a_history_raises(episodes: str, left_out: str) -> None:
    """And what is read of it is in order."""
    found = followed.history_of(HISTORY.model_copy(update={"episodes": episodes, "left_out": left_out}))
    if found is not None:
        assert list(found.episodes_s) == sorted(found.episodes_s)
        assert all(begin <= end for begin, end in found.left_out)


@pytest.mark.parametrize(
    "forged",
    [
        {"verification": {"changeTime": "2026-03-02T12:00:00Z", "outcome": "Excellent"}},
        {"verification": {"changeTime": "yesterday", "outcome": "Worse"}},
        {"verification": {"outcome": "Worse"}},
        {"verification": 7},
        {"verification": {**WORSE, "effect": {"after": {**SEEN, "days": 1e308}}}},
        {"verification": {**WORSE, "effect": {"after": {**SEEN, "days": float("nan")}}}},
        {"verification": {**WORSE, "effect": {"before": {**SEEN, "perDayUpper": -1.0}, "after": SEEN}}},
        {"history": {"startTime": "2026-03-02T12:00:00Z"}},
        {"history": {**followed.history_status(NOTED).model_dump(by_alias=True), "evicting": [{"episodes": 0}]}},
        {"history": "none"},
        {"reverted": [{"values": {}}]},
        {"reverted": "none"},
    ],
)
def test_what_cannot_be_read_hides_nothing_else(forged: dict[str, object]) -> None:
    """A word of another version, or of a person: the change itself stays known, and nothing follows from the word."""
    noted = values_of(worlds.STORM).model_dump(by_alias=True, exclude_none=True)
    applied = {"values": noted, "previous": noted, "changeTime": "2026-03-02T11:00:00Z", "workloadUid": "workload-1"}
    policy = parsing.policy_of(manifests.policy(status={"applied": applied, **forged}))
    assert policy.application is not None
    assert policy.followed is None or not policy.followed.is_harmful
    assert policy.failed == ()


def test_an_effect_shows_stalled_partition_seconds_with_their_interval() -> None:
    """Where the model said what one eviction stalls; it comes back as it was noted."""
    effect = Effect(EpisodeRate(14, 14.0, 0.547, 1.678, 40.0), EpisodeRate(0, 0.0, 0.0, math.inf, 90.0))
    change = FollowedChange(worlds.NOW, effect=effect)
    noted = followed.verification_of(change)
    document = noted.model_dump(by_alias=True, exclude_none=True)["effect"]
    assert document["before"] == {
        "episodes": 14,
        "days": 14.0,
        "perDayLower": 0.547,
        "perDayUpper": 1.68,
        "stalledPartitionSecondsEach": 40.0,
        "stalledPartitionSecondsPerDayLower": 21.9,
        "stalledPartitionSecondsPerDayUpper": 67.1,
    }
    assert document["after"] == {
        "episodes": 0,
        "days": 0.0,
        "perDayLower": 0.0,
        "stalledPartitionSecondsEach": 90.0,
        "stalledPartitionSecondsPerDayLower": 0.0,
    }
    known = followed.followed_of(noted)
    assert known is not None
    before = EpisodeRate(14, 14.0, 0.547, 1.68, 40.0)
    assert known.effect == dataclasses.replace(effect, before=before)
    plain = followed.verification_of(FollowedChange(worlds.NOW, effect=Effect(None, EpisodeRate(1, 1.0, 0.1, 5.0))))
    assert "stalled" not in str(plain.model_dump(by_alias=True, exclude_none=True))


def test_a_forged_figure_of_an_effect_makes_no_status_that_cannot_be_stored() -> None:
    """Numbers that are too large for their product."""
    forged = Effect(None, EpisodeRate(1, 1.0, 1e300, 1e300, 1e300))
    after = followed.verification_of(FollowedChange(worlds.NOW, effect=forged)).effect
    assert after is not None
    assert after.after.stalled_partition_seconds_per_day_upper is None
