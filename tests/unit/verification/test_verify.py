"""From what was seen of a group to one answer with its sentence."""

import dataclasses
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain import sentences
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Rollout
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.domain.verifications import Outcome, PromisedRate
from heartbeat_tuner.verification import answers, references
from heartbeat_tuner.verification import verify as room
from heartbeat_tuner.verification.answers import Known
from heartbeat_tuner.verification.change import HORIZON, Change, Verification, Watched
from heartbeat_tuner.verification.e_process import PastCount
from heartbeat_tuner.verification.verify import verify

WRITTEN = datetime(2026, 3, 16, tzinfo=UTC)
LANDED = WRITTEN + timedelta(minutes=10)
DAY = timedelta(days=1)
CHANGE = Change(WRITTEN, LANDED, Rollout())
EVEN = [-day - (0.377 * day + 0.05) % 1 for day in range(14)]
"""One episode a day before the change, at any hour."""


def seen(*days: float, since: float = 14.0) -> Watched:
    """Return what was watched, with evictions so many days after values had landed."""
    return Watched(WRITTEN - since * DAY, [(LANDED + day * DAY).timestamp() for day in days])


def asked(*after: float, days: float, before: list[float] = EVEN, promise: PromisedRate | None = None) -> Verification:
    """Return the answer some days after values had landed."""
    change = dataclasses.replace(CHANGE, promise=promise)
    return verify(change, seen(*before, *after), now=LANDED + days * DAY)


def test_nothing_has_shown_yet_and_it_says_how_long_that_takes() -> None:
    """The honest line: a doubling of one a day cannot be told from chance by a fortnight's record."""
    answer = asked(0.5, 1.4, days=2)
    assert (answer.outcome, answer.episodes, answer.reached) == (Outcome.VERIFYING, 2, None)
    assert answer.days == pytest.approx(2)
    assert answer.message == (
        "2 episodes of evictions in 2 whole days since the change; 14 in 14 days before it, so at most 1.7 a day. "
        "3 times the rate of 1 a day would show after about 8.3 days; a doubling would not within 28"
    )


def test_the_sentence_stands_while_only_counts_move() -> None:
    """A status is written once a day for it, not for each hour that passes."""
    first, later = asked(days=2.1), asked(days=2.9)
    assert sentences.identity(first.message) == sentences.identity(later.message)


def test_a_doubling_shows_where_the_record_is_long() -> None:
    """Ten a day for a fortnight."""
    before = [-day - part / 10 - 0.05 for day in range(14) for part in range(10)]
    answer = asked(days=0.01, before=before)
    assert "A doubling of 10 a day would show after about" in answer.message


def test_five_times_the_rate_is_worse_and_keeps_its_moment() -> None:
    """Whenever it is looked at again, and whichever leader does."""
    bad = [0.1 + 0.2 * place for place in range(20)]
    answer = asked(*bad, days=4)
    assert answer.outcome is Outcome.WORSE
    assert answer.reached is not None
    assert LANDED < answer.reached < LANDED + 3 * DAY
    assert "more than before (14 in 14 days before it, so at most 1.7 a day)" in answer.message
    assert asked(*bad, days=20).reached == answer.reached
    before_it = (answer.reached - LANDED) / DAY - 0.001
    assert asked(*bad, days=before_it).outcome is Outcome.VERIFYING


def test_bursts_are_not_worse() -> None:
    """Two misfortunes that hit twelve members."""
    burst = [0.5 + 0.0001 * place for place in range(6)]
    assert asked(*burst, *(1.0 + at for at in burst), days=2).outcome is Outcome.VERIFYING


def test_quiet_days_verify_but_never_within_the_first() -> None:
    """None for ten days, where there was one a day."""
    answer = asked(days=28)
    assert answer.outcome is Outcome.VERIFIED
    assert answer.reached is not None
    assert 4 < (answer.reached - LANDED) / DAY < 7
    assert "fewer than before" in answer.message
    busy = [-14 * (place + 0.5) / 2_000 for place in range(2_000)]
    assert asked(days=0.99, before=busy).outcome is Outcome.VERIFYING
    assert asked(days=1.01, before=busy).reached == LANDED + DAY


def test_at_the_horizon_nothing_has_shown_and_the_values_stay() -> None:
    """As many as before for four weeks; what comes after that is not counted."""
    same = [day + 0.4 for day in range(28)]
    answer = asked(*same, *(29 + 0.02 * place for place in range(100)), days=40)
    assert (answer.outcome, answer.episodes) == (Outcome.INCONCLUSIVE, 28)
    assert answer.message.endswith("Neither harm nor benefit has shown in 28 days; the values stay")


def test_worse_than_promised_is_not_worse_than_before() -> None:
    """A model that was wrong: a reason to decide again."""
    same = [day + 0.4 for day in range(9)]
    answer = asked(*same, days=9, promise=PromisedRate(0.1))
    assert answer.outcome is Outcome.WORSE_THAN_PROMISED
    assert "more than the 0.1 a day that the model promised at most" in answer.message
    assert "not shown to be worse than before" in answer.message


def test_without_a_record_only_the_promise_is_broken() -> None:
    """Nothing is taken back for want of a record."""
    change = dataclasses.replace(CHANGE, promise=PromisedRate(0.1))
    later = [day + 0.4 for day in range(28)]
    answer = verify(change, seen(*later, since=0.0), now=LANDED + HORIZON)
    assert answer.outcome is Outcome.WORSE_THAN_PROMISED
    assert "whether that is worse than before is unknown" in answer.message
    quiet = verify(change, seen(since=0.0), now=LANDED + HORIZON)
    assert quiet.outcome is Outcome.INCONCLUSIVE
    assert "the group was not watched before the change" in quiet.message


@given(st.lists(st.floats(0, 40), max_size=60), st.floats(0, 40))
def test_from_unknowns_nothing_is_worse(days: list[float], now: float) -> None:
    """Neither a record nor a promise: whatever comes, there is nothing to compare it with."""
    answer = verify(CHANGE, seen(*days, since=0.0), now=LANDED + now * DAY)
    assert answer.outcome is (Outcome.INCONCLUSIVE if now >= 28 else Outcome.VERIFYING)
    assert "nothing to compare them with" in answer.message


def test_a_trade_is_judged_by_what_was_accepted() -> None:
    """Three a day were accepted where there was one: that many are verified as no more, and ten are harm."""
    accepted = PromisedRate(6.0, is_trade=True)
    three = [day / 3 + 0.1 for day in range(36)]
    traded = asked(*three, days=12, promise=accepted)
    assert traded.outcome is Outcome.VERIFIED
    assert "no more than was accepted for this change" in traded.message
    many = [0.02 + place / 30 for place in range(90)]
    worse = asked(*many, days=3, promise=accepted)
    assert worse.outcome is Outcome.WORSE
    assert "more than the 6 a day that were accepted" in worse.message
    assert asked(*three, days=12).outcome is Outcome.WORSE


def test_a_trade_is_harm_only_where_both_the_record_and_the_promise_are_exceeded() -> None:
    """A promise of less than there was is no reason to go back to it."""
    same = [day + 0.4 for day in range(12)]
    traded = asked(*same, days=12, promise=PromisedRate(0.1, is_trade=True))
    assert (traded.outcome, traded.log_harm) == (Outcome.WORSE_THAN_PROMISED, 0.0)


def test_what_was_accepted_makes_harm_show_later() -> None:
    """Five times as many is hardly more than six a day."""
    plain, traded = asked(days=0.1), asked(days=0.1, promise=PromisedRate(6.0, is_trade=True))
    assert "3 times the rate of 1 a day would show after about" in plain.message
    assert "10 times the rate of 1 a day would show after about" in traded.message


def test_a_storm_in_the_first_hour_is_worse_without_any_record() -> None:
    """The prediction alone allows for it."""
    change = dataclasses.replace(CHANGE, promise=PromisedRate(0.1))
    storm = [0.001, 0.012, 0.023, 0.034]
    answer = verify(change, seen(*storm, since=0.0), now=LANDED + DAY / 24)
    assert answer.outcome is Outcome.WORSE
    assert answer.reached == LANDED + 0.023 * DAY
    assert "at least 3 episodes of evictions more than the 0 that 0.1 a day allow" in answer.message
    assert verify(change, seen(*storm[:2], since=0.0), now=LANDED + DAY / 24).outcome is not Outcome.WORSE


def test_a_storm_that_was_there_before_is_no_storm_of_the_new_values() -> None:
    """They promised to end it, and did not: a broken promise."""
    storm = [-14 + 0.02 * place for place in range(699)]
    answer = asked(0.005, 0.016, 0.027, 0.038, days=0.05, before=storm, promise=PromisedRate(0.1))
    assert answer.outcome is Outcome.WORSE_THAN_PROMISED


def test_an_incident_is_waited_for() -> None:
    """It goes on for hours after the change, and counting begins a day later; then the rest counts as ever."""
    storm = [*EVEN, *(-0.3 + 0.02 * place for place in range(15))]
    goes_on = [0.02 * place for place in range(10)]
    answer = asked(*goes_on, days=0.5, before=storm)
    assert answer.outcome is Outcome.VERIFYING
    assert "counting begins at 2026-03-17T00:10:00Z" in answer.message
    assert asked(*goes_on, days=2, before=storm).episodes == 0
    lasting = [1.0 + 0.02 * place for place in range(100)]
    assert asked(*goes_on, *lasting, days=4, before=storm).outcome is Outcome.WORSE


def test_after_an_incident_no_hour_is_the_first() -> None:
    """Counting begins a day late: what comes then is judged as ever, and is no storm of the new values."""
    storm = [*EVEN, -0.036, -0.024, -0.012]
    again = [1.001, 1.012, 1.023, 1.034]
    answer = asked(*again, days=1.1, before=storm)
    assert answer.outcome is Outcome.WORSE
    assert "first hour" not in answer.message
    assert "first hour" in asked(*(at - 1.0 for at in again), days=0.1).message


def test_what_happens_to_all_groups_of_a_broker_is_left_out() -> None:
    """Three others had the same, at the same times."""
    bad = [0.1 + 0.2 * place for place in range(20)]
    watched = seen(*EVEN, *bad)
    alike = dataclasses.replace(watched, others_s=[[(LANDED + at * DAY).timestamp() + 60 for at in bad]] * 3)
    answer = verify(CHANGE, alike, now=LANDED + 4 * DAY)
    assert (answer.outcome, answer.episodes) == (Outcome.VERIFYING, 0)
    assert answer.days < 4 - 20 * 0.009


def test_rollouts_and_gaps_of_scrapes_are_left_out() -> None:
    """Their evictions, and their time, before the change as after it."""
    bad = [0.1 + 0.2 * place for place in range(20)]
    gap = (LANDED.timestamp(), (LANDED + 3.95 * DAY).timestamp())
    watched = dataclasses.replace(seen(*EVEN, *bad), left_out=[gap])
    answer = verify(CHANGE, watched, now=LANDED + 4 * DAY)
    assert (answer.outcome, answer.episodes) == (Outcome.VERIFYING, 0)
    assert answer.days == pytest.approx(0.05)


def test_what_is_left_out_may_have_no_beginning_and_no_end() -> None:
    """A pod that was told to end, and a Prometheus that lost the days before."""
    before, after = (moment.timestamp() for moment in (WRITTEN - 10 * DAY, LANDED + 2 * DAY))
    watched = dataclasses.replace(seen(*EVEN, 3.0), left_out=[(-math.inf, before), (after, math.inf)])
    answer = verify(CHANGE, watched, now=LANDED + 4 * DAY)
    assert (answer.outcome, answer.episodes) == (Outcome.VERIFYING, 0)
    assert answer.days == pytest.approx(2)
    assert "10 in 10 days before it" in answer.message


def test_what_begins_in_the_rollout_belongs_to_it() -> None:
    """An episode of three minutes before the values had landed goes on; that of an hour later is another."""
    during = seen(*EVEN, -0.002, 0.002, 0.04)
    assert verify(CHANGE, during, now=LANDED + DAY).episodes == 1


def test_a_change_of_which_nothing_was_seen_says_so() -> None:
    """Zero exposure: every sample was missing."""
    gap = (LANDED.timestamp(), (LANDED + 40 * DAY).timestamp())
    answer = verify(CHANGE, dataclasses.replace(seen(*EVEN), left_out=[gap]), now=LANDED + 30 * DAY)
    assert (answer.outcome, answer.days) == (Outcome.INCONCLUSIVE, 0.0)


def test_a_clock_that_was_set_concludes_nothing() -> None:
    """Whichever of the moments it was."""
    for change, now in (
        (CHANGE, WRITTEN - DAY),
        (CHANGE, WRITTEN + timedelta(minutes=5)),
        (dataclasses.replace(CHANGE, landed=WRITTEN - DAY), WRITTEN + DAY),
        (dataclasses.replace(CHANGE, landed=None), WRITTEN - DAY),
    ):
        answer = verify(change, seen(*EVEN, *(0.01 * place for place in range(50))), now=now)
        assert answer.outcome is Outcome.INCONCLUSIVE
        assert "a clock was set" in answer.message


def test_evictions_that_are_yet_to_come_are_not_counted() -> None:
    """Nor those whose times are no numbers."""
    watched = seen(*EVEN, 5.0, 6.0, 7.0)
    odd = dataclasses.replace(watched, evictions_s=[*watched.evictions_s, math.nan, math.inf])
    assert verify(CHANGE, odd, now=LANDED + DAY).episodes == 0


def test_a_record_that_begins_after_the_change_is_none() -> None:
    """The operator was installed anew."""
    answer = verify(CHANGE, seen(since=-1.0), now=LANDED + 2 * DAY)
    assert "nothing to compare them with" in answer.message


def test_values_on_their_way_are_waited_for() -> None:
    """Counting begins when they are in all pods."""
    answer = verify(dataclasses.replace(CHANGE, landed=None), seen(*EVEN), now=WRITTEN + timedelta(minutes=1))
    assert answer.outcome is Outcome.VERIFYING
    assert "not in all pods yet" in answer.message


def test_what_needs_no_statistics_comes_first() -> None:
    """However many episodes there were."""
    ignored = dataclasses.replace(CHANGE, contradiction=Finding(Reason.NO_EFFECT, "another beat"))
    answer = verify(ignored, seen(*EVEN, *(0.02 * place for place in range(50))), now=LANDED + DAY)
    assert answer.outcome is Outcome.NO_EFFECT


def test_a_million_episodes_are_judged() -> None:
    """A quarter of an hour apart, from the first to the last: no power is too large, and no step is endless."""
    every = np.arange(-14, 28, 1 / 96.0)
    flood = Watched(WRITTEN - 14 * DAY, ((LANDED.timestamp()) + every * 86_400).tolist() * 250)
    assert len(flood.evictions_s) > 1_000_000
    assert verify(CHANGE, flood, now=LANDED + HORIZON).outcome is Outcome.INCONCLUSIVE
    worse = seen(*EVEN, *np.arange(0.0, 28.0, 1 / 96.0).tolist())
    answer = verify(CHANGE, worse, now=LANDED + HORIZON)
    assert answer.outcome is Outcome.WORSE
    assert math.isfinite(answer.log_harm)


@given(st.lists(st.floats(0.0, 20.0), max_size=40), st.floats(0.0, 20.0))
def test_an_episode_more_is_never_less_harm(days: list[float], at: float) -> None:
    """Monotone in what happened, whenever it did. Within 15 minutes it may be none more."""
    apart = [day for day in days if abs(day - at) > 0.02]
    fewer, more = asked(*apart, days=20), asked(*apart, at, days=20)
    assert more.log_harm >= fewer.log_harm or more.episodes == fewer.episodes
    assert not (fewer.outcome is Outcome.WORSE and more.outcome is not Outcome.WORSE and more.episodes > fewer.episodes)


def test_harm_is_measured_with_what_a_record_leaves_possible() -> None:
    """Not with what it shows, which a fortnight of one kind of days may hide."""
    counted = room.count(CHANGE, seen(*EVEN, *(0.2 * place for place in range(10))), LANDED, LANDED + 3 * DAY)
    wider = dataclasses.replace(counted.before, possible_dispersion=10.0)
    plain, wide = room.harm_by_record(counted), room.harm_by_record(dataclasses.replace(counted, before=wider))
    assert wide[-1] < 0.2 * plain[-1]


def test_benefit_is_measured_against_what_was_no_incident() -> None:
    """Of a hundred episodes in a fortnight 86 were one: one a day after it is no better than before."""
    counted = room.count(CHANGE, seen(*EVEN, *(day + 0.4 for day in range(20))), LANDED, LANDED + 20 * DAY)
    hundred = dataclasses.replace(counted.before, episodes=100, calm=PastCount(14, 14.0))
    all_of_them = dataclasses.replace(hundred, calm=hundred.whole)
    assert room._benefit(dataclasses.replace(counted, before=hundred), None) is None
    assert room._benefit(dataclasses.replace(counted, before=all_of_them), None) is not None


def test_whatever_would_not_show_is_said_so() -> None:
    """A record of one quiet hour allows 89 a day, and thirty times as many."""
    hour = PastCount(1, 0.01)
    before = references.Before(1, 0.01, dispersion=8.0, possible_dispersion=50.0, lower=0.0, upper=700.0, calm=hour)
    known = Known(before, 700.0, None, is_trade=False, episodes=0, days=1.0, log_harm=0.0)
    assert answers.patience(known) == (
        "The record before the change is too short to compare with: even 30 times as many evictions would not show "
        "within 28 days"
    )
    whole_day = dataclasses.replace(before, days=1.0)
    assert answers.patience(dataclasses.replace(known, before=whole_day)).startswith("Even 30 times as many as 1 a day")
    with pytest.raises(ValueError, match="must have a reference"):
        answers.patience(dataclasses.replace(known, accepted=None))


@pytest.mark.parametrize(
    ("days", "upper", "words"),
    [
        (46 / 86_400, 10_500.0, "1 in 46s before it, so at most 10,000 a day"),
        (250 / 86_400, 1_930.0, "1 in 4m10s before it, so at most 1,900 a day"),
        (0.3, 12.34, "1 in 7h12m before it, so at most 12 a day"),
        (9.96, 0.0471, "1 in 10 days before it, so at most 0.047 a day"),
        (128.0, 99.6, "1 in 130 days before it, so at most 100 a day"),
    ],
)
def test_lengths_and_rates_are_written_as_people_write_them(days: float, upper: float, words: str) -> None:
    """A first change often comes minutes after its policy: nobody reads `0.00053 days` or `1e+04 a day`."""
    calm = PastCount(1, days)
    before = references.Before(1, days, dispersion=1.0, possible_dispersion=1.0, lower=0.0, upper=upper, calm=calm)
    known = Known(before, upper, None, is_trade=False, episodes=0, days=0.5, log_harm=0.0)
    assert f"; {words}. " in answers.verifying(known).message


def test_the_effect_says_what_one_eviction_stalls_before_and_after() -> None:
    """By the model's word at the write; what nobody knows stays unknown."""
    promise = PromisedRate(2.0, stalled_before=40.0, stalled_after=90.0)
    effect = asked(0.5, 1.4, days=2, promise=promise).effect
    assert effect is not None
    assert effect.before is not None
    assert (effect.before.stalled_each, effect.after.stalled_each) == (40.0, 90.0)
    unknown = asked(0.5, 1.4, days=2).effect
    assert unknown is not None
    assert unknown.before is not None
    assert (unknown.before.stalled_each, unknown.after.stalled_each) == (None, None)
    watched_since = asked(0.5, days=2, before=[], promise=promise).effect
    assert watched_since is not None
    assert watched_since.after.stalled_each == 90.0
