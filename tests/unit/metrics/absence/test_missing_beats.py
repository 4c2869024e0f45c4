"""Missing heartbeats: bounds that hold for whatever absence there really was, and silence about what is no absence."""

import bisect
import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.evidence import AbsenceSignal, Unknown
from heartbeat_tuner.metrics.absence import missing_beats
from heartbeat_tuner.metrics.absence.late_answers import LateAnswer
from heartbeat_tuner.metrics.absence.missing_beats import Deficits
from heartbeat_tuner.metrics.raw import counter_steps
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters

HOUR_S = 3_600.0


@dataclasses.dataclass(frozen=True)
class Stop:
    """A process stands still; it is scraped meanwhile only if it is its connection that is cut."""

    at_s: float
    lasts_s: float
    scraped: bool = False

    @property
    def until_s(self) -> float:
        """Its end."""
        return self.at_s + self.lasts_s


def beating(period_s: float, scrape_s: float, *stops: Stop, jitter_s: float = 0.05, seed: int = 1) -> Series:
    """Return the scrapes of a member's counter over an hour: a beat every period, and one at once after each stop."""
    chance = random.Random(seed)  # noqa: S311 - a jitter, no secret
    beats: list[float] = []
    due_s = chance.uniform(0, period_s)
    while due_s < HOUR_S:
        stop = next((stop for stop in stops if stop.at_s <= due_s < stop.until_s), None)
        beats.append(due_s if stop is None else stop.until_s)
        due_s = beats[-1] + period_s + chance.uniform(0, jitter_s)
    at_s = chance.uniform(0, scrape_s)
    scrapes = []
    while at_s < HOUR_S:
        if not any(stop.at_s <= at_s < stop.until_s and not stop.scraped for stop in stops):
            scrapes.append(at_s)
        at_s += scrape_s
    return counters.series((at_s, float(bisect.bisect_right(beats, at_s))) for at_s in scrapes)


def deficits(beats: Series, **mine: Series) -> Deficits:
    """Return what is missing, of what must be regular."""
    found = missing_beats.of_member("orders-0", beats, {Quantity[name.upper()]: [item] for name, item in mine.items()})
    assert isinstance(found, Deficits), found
    return found


PERIODS = st.floats(min_value=1.0, max_value=8.0)
SCRAPES = st.sampled_from([2.0, 5.0, 15.0, 30.0])


@pytest.mark.no_cover
@given(PERIODS, SCRAPES, st.floats(900, 2_700), st.floats(0.5, 60), st.booleans(), st.integers(0, 1_000))
def test_an_absence_lies_within_its_bounds(
    period_s: float,
    scrape_s: float,
    at_s: float,
    lasts_s: float,
    cut: bool,  # noqa: FBT001 - drawn
    seed: int,
) -> None:
    """Whether the process stood still, unseen by scrapes, or only its connection did."""
    stop = Stop(at_s, lasts_s, scraped=cut)
    found = deficits(beating(period_s, scrape_s, stop, seed=seed)).absences()
    assert len(found) <= 1
    for item in found:
        assert item.at_least_s <= lasts_s <= item.at_most_s
        assert item.signal is AbsenceSignal.MISSING_BEATS
        assert abs(item.seen_s - stop.until_s) <= 90.0 + period_s + scrape_s


@pytest.mark.no_cover
@given(PERIODS, SCRAPES, st.integers(0, 1_000))
def test_a_member_that_was_never_away_lacks_no_beat(period_s: float, scrape_s: float, seed: int) -> None:
    """Whatever the phases of beats, scrapes and blocks."""
    found = deficits(beating(period_s, scrape_s, seed=seed))
    assert found.absences() == []
    assert found.period_s == pytest.approx(period_s, rel=0.06)
    assert all(abs(block.missing) < 2 for block in found.blocks)


@pytest.mark.parametrize("missing", [4, 8, 12])
def test_missing_beats_are_an_absence_between_so_many_periods_and_one_more(missing: int) -> None:
    """Scraped twice a second, n missing beats leave n P to (n+1) P, and a quarter and the scrape on both sides."""
    stop = Stop(1_800.0, (missing + 0.5) * 3.0, scraped=True)
    (absence,) = deficits(beating(3.0, 0.5, stop, jitter_s=0.0)).absences()
    assert absence.at_least_s == pytest.approx(missing * 3.0, abs=3.0 * (1 + missing_beats.JITTER) + 0.5)
    assert absence.at_most_s - absence.at_least_s == pytest.approx(3.0 * (1 + 2 * missing_beats.JITTER) + 1.0, abs=0.6)


def test_a_frozen_process_shows_though_nobody_scraped_it() -> None:
    """Its counter never stood still in any scrape: only the count tells."""
    (absence,) = deficits(beating(3.0, 5.0, Stop(1_800.0, 25.0))).absences()
    assert absence.at_least_s > 15.0


def test_a_member_that_joins_does_not_beat() -> None:
    """Thirty seconds in a join are no absence, though the join is counted only when it is done."""
    stop = Stop(1_800.0, 30.0, scraped=True)
    beats = beating(3.0, 5.0, stop)
    assert deficits(beats).absences() != []
    times = [sample.time_s for sample in beats.samples]
    joins = counters.series((at_s, 1.0 if at_s < stop.until_s else 2.0) for at_s in times)
    assert deficits(beats, rebalances=joins).absences() == []
    assert deficits(beats, failed_rebalances=joins).absences() == []


def test_a_join_in_which_a_scrape_fell_is_no_absence() -> None:
    """Scraped once a minute, the beats that its first half cost are missing in a stretch that counted no join yet."""
    stop = Stop(1_800.0, 50.0, scraped=True)
    beats = beating(3.0, 60.0, stop, seed=3)
    times = [sample.time_s for sample in beats.samples]
    assert any(stop.at_s + 20 < at_s < stop.until_s for at_s in times), "no scrape fell into the join"
    joins = counters.series((at_s, 1.0 if at_s < stop.until_s else 2.0) for at_s in times)
    took = counters.series((at_s, 0.5 if at_s < stop.until_s else 50.5) for at_s in times)
    assert deficits(beats, rebalances=joins).absences() != []
    assert deficits(beats, rebalances=joins, rebalance_time=took).absences() == []


def test_a_restart_lacks_no_beats() -> None:
    """The new process counts from zero, and the time that it was gone is a restart's."""
    beats = beating(3.0, 5.0, Stop(1_800.0, 60.0))
    before = max(sample.value for sample in beats.samples if sample.time_s < 1_800.0)
    anew = counters.series(
        (sample.time_s, sample.value - before if sample.time_s > 1_800.0 else sample.value) for sample in beats.samples
    )
    assert deficits(anew).absences() == []


@pytest.mark.parametrize("hole_s", [300.0, 900.0, 1_700.0])
def test_a_hole_of_scrapes_is_no_absence_of_a_member_that_beats_a_little_slower_in_it(hole_s: float) -> None:
    """A Prometheus that was down tells nothing; a thread that waits in steps of 100 ms beats 1.6 % slower at times."""
    beats, at_s = [], 0.0
    while at_s < HOUR_S:
        beats.append(at_s)
        at_s += 3.0 if at_s < HOUR_S / 2 else 3.05
    begins_s = HOUR_S / 2 + 50
    scrapes = [15.0 * number for number in range(240) if not begins_s < 15.0 * number < begins_s + hole_s]
    holed = counters.series((at_s, float(bisect.bisect_right(beats, at_s))) for at_s in scrapes)
    assert deficits(holed).absences() == []
    silence_s = counter_steps.longest_silence_s(holed, since_s=0.0)
    assert silence_s is not None
    assert silence_s < 3.05


def test_beats_that_come_as_they_like_lack_nothing() -> None:
    """A loop that beats between messages has no period: whoever called one would invent absences."""
    chance = random.Random(3)  # noqa: S311 - likewise
    value, pairs = 0.0, []
    for number in range(240):
        value += chance.choice([0, 1, 1, 2, 7, 11])
        pairs.append((15.0 * number, value))
    found = missing_beats.of_member("orders-0", counters.series(pairs), {})
    assert isinstance(found, Unknown)
    assert "come as its work lets them" in found.message


def test_a_quarter_of_an_hour_is_needed() -> None:
    """Of five minutes no period can be told apart from its absences."""
    beats = beating(3.0, 5.0)
    found = missing_beats.of_member("orders-0", beats.until(300.0), {})
    assert isinstance(found, Unknown)
    assert "fewer than 10 blocks" in found.message
    assert isinstance(missing_beats.of_member("orders-0", beats.until(-1.0), {}), Unknown)


def test_stretches_that_lack_beats_one_after_the_other_are_one_absence() -> None:
    """The edge of a block cuts it in two, with a beat or two between: neither part alone holds all that is missing."""
    parts = (Stop(1_000.0, 20.0, scraped=True), Stop(1_030.0, 40.0))
    found = deficits(beating(2.0, 30.0, *parts, jitter_s=0.0))
    (shown,) = [block for block in found.blocks if block.at_least_s > 0]
    assert shown.at_least_s > 50.0


def test_beats_that_wait_for_a_late_answer_are_no_absence() -> None:
    """No other beat is sent meanwhile; the time before and after it is watched."""
    beats = beating(3.0, 15.0, Stop(1_800.0, 20.0, scraped=True))
    assert max(block.at_least_s for block in deficits(beats).blocks) > 8.0
    found = missing_beats.of_member("orders-0", beats, {}, [LateAnswer(1_790.0, 1_835.0, 20.0)])
    assert isinstance(found, Deficits)
    assert max(block.at_least_s for block in found.blocks) == 0.0
    assert len(found.blocks) >= len(deficits(beats).blocks) - 2


def test_an_answer_that_took_less_than_a_period_holds_no_beat_up() -> None:
    """An absence beside it is an absence."""
    beats = beating(10.0, 15.0, Stop(1_800.0, 35.0))
    found = missing_beats.of_member("orders-0", beats, {}, [LateAnswer(1_790.0, 1_850.0, 1.2)])
    assert found == deficits(beats)
