"""How far apart beats are said to be, and for how long that was watched: never from a few of them."""

from datetime import timedelta

from heartbeat_tuner.domain.evidence import Pod, Record
from heartbeat_tuner.metrics import record as records
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.record import RecordScope
from tests.support import counters, worlds
from tests.support.worlds import NOW

ORDERS = ("shop", "orders")
BEFORE = 598_543_049
"""Beats that a counter has at the first scrape of a pod: nobody saw when they came."""


def measured(*lives: tuple[float, float, float]) -> Record:
    """Measure pods since the newest of them started.

    Args:
        lives: the age in seconds, the seconds between two scrapes and those between two beats of each.
    """
    pods = [worlds.pod(number, started=NOW - timedelta(seconds=life[0])) for number, life in enumerate(lives)]
    found = counters.together(
        *(counters.beating(pod, scraped(pod, *life)) for pod, life in zip(pods, lives, strict=True))
    )
    shown = resolver.by_group(counters.exported(found, counters.KAFKAJS), [counters.KAFKAJS], {ORDERS})
    since = max(pod.started for pod in pods)
    scope = RecordScope(worlds.policy(), pods, None, (), since, NOW)
    record = records.measure(scope, shown[ORDERS][counters.KAFKAJS], counters.KAFKAJS, query=str)
    assert isinstance(record, Record)
    return record


def scraped(pod: Pod, age_s: float, scrape_s: float, beat_s: float) -> list[tuple[float, float]]:
    """Return the scrapes of a pod's beats, one of which comes just after the first scrape."""
    times_s = [(number + 0.5) * scrape_s for number in range(int(age_s / scrape_s + 0.5))]
    beats = [(at_s - times_s[0] - 0.1) // beat_s + 1 for at_s in times_s]
    return [(pod.started.timestamp() + at_s, BEFORE + beat) for at_s, beat in zip(times_s, beats, strict=True)]


def test_three_beats_do_not_tell_how_far_apart_they_are() -> None:
    """A pod is looked at 7 s after its start, with a counter that is not 0: three beats seem to take 2.2 s each."""
    record = measured((7.0, 0.5, 3.0))
    assert record.accepted_beats == BEFORE + 3
    assert (record.beat_period, record.beats_timed_for) == (None, timedelta(0))


def test_a_period_is_known_to_a_tenth_or_not_at_all() -> None:
    """At every age, wherever the first scrape and the last lie between beats."""
    known = [record for age in range(2, 240) if (record := measured((age / 2, 0.5, 3.0))).beat_period is not None]
    assert known[0].accepted_beats - BEFORE == 12
    for record in known:
        assert record.beat_period is not None
        assert abs(record.beat_period.total_seconds() - 3.0) < 0.3


def test_beats_are_timed_for_as_long_as_more_than_half_of_the_members_are() -> None:
    """Some beat so often that a second has enough of them; one that beats rarely was not timed yet, and counts not."""
    often, seldom, rarely = (90.0, 0.5, 1.0), (90.0, 15.0, 1.0), (90.0, 60.0, 1.0)
    assert measured(often, seldom).beats_timed_for == timedelta(seconds=75)
    assert measured(often, seldom, rarely).beats_timed_for == timedelta(seconds=75)
    assert measured(often, seldom, rarely, rarely).beats_timed_for == timedelta(seconds=60)
    assert measured(often, (90.0, 0.5, 20.0)).beats_timed_for == timedelta(seconds=89.5)
    assert measured((90.0, 0.5, 20.0)).beats_timed_for == timedelta(0)
