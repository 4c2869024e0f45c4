"""Which descriptions ask for another one soon, and what these two together call a consumer that was made again."""

import dataclasses
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.kafka_groups import Member
from heartbeat_tuner.metrics.group_events import gone_members, member_changes
from heartbeat_tuner.metrics.group_events.group_event import Certainty, GroupView, Rejoin, Timeouts
from heartbeat_tuner.metrics.group_events.member_changes import WatchedGroup
from tests.support import worlds
from tests.support.worlds import NOW

PODS = worlds.pods(3)
FIRST, SECOND, THIRD = (worlds.member(pod) for pod in PODS)
BACK = worlds.member(PODS[0], 1)
FOLLOWED_AFTER_S = 0.5
MOST_FOLLOWED = 2


@pytest.mark.parametrize(
    ("before", "now", "is_gone"),
    [
        ([FIRST, SECOND], [FIRST, SECOND], False),
        ([FIRST, SECOND], [SECOND], True),
        ([FIRST, SECOND], [BACK, SECOND], False),
        ([FIRST, SECOND], [SECOND, THIRD], True),
        ([FIRST, SECOND], [], True),
        ([FIRST, SECOND], None, True),
        ([FIRST], [FIRST, SECOND], False),
        ([], [FIRST], False),
        ([], None, False),
        ([FIRST, BACK], [worlds.member(PODS[0], 2)], True),
        ([FIRST, BACK], [worlds.member(PODS[0], number) for number in (2, 3)], False),
    ],
)
def test_who_is_gone_and_not_replaced(before: Sequence[Member], now: Sequence[Member] | None, *, is_gone: bool) -> None:
    """By a new id at the same address; a group without members may not be there at all."""
    group = None if now is None else worlds.group(now)
    assert gone_members.is_anybody_gone(worlds.group(before), group) is is_gone


@pytest.mark.parametrize("kind", ["consumer", "share", "streams"])
def test_members_that_keep_their_ids_are_not_asked_for_again(kind: str) -> None:
    """A consumer that is made again has another id there, and counts as another one."""
    both, fewer = (
        dataclasses.replace(worlds.group(members), consumer_protocol=True, kind=kind)
        for members in ([FIRST, SECOND], [SECOND])
    )
    assert not gone_members.is_anybody_gone(both, fewer)
    assert not gone_members.is_anybody_gone(both, None)
    assert not gone_members.is_anybody_gone(worlds.group([FIRST, SECOND]), fewer)  # it changes to the other protocol


class Reopening:
    """Two consumers that are closed and made again at some moments, or are evicted: each is away for so long."""

    def __init__(self, absences: Sequence[tuple[int, float, float]]) -> None:
        self._absences = absences

    def members_at(self, at_s: float) -> Iterator[Member]:
        """Yield who is in the group."""
        for number, pod in enumerate(PODS[:2]):
            mine = [(since_s, away_s) for which, since_s, away_s in self._absences if which == number]
            if not any(since_s <= at_s < since_s + away_s for since_s, away_s in mine):
                yield worlds.member(pod, sum(since_s <= at_s for since_s, _ in mine))

    def described(self, every_s: float, until_s: float, *, most_followed: int) -> list[Rejoin]:
        """Return what descriptions show, with follow-ups."""
        watched, rejoins, group = WatchedGroup(), [], worlds.group()
        regular = [(number * every_s, 0) for number in range(int(until_s / every_s))]
        times = sorted(regular)
        while times:
            at_s, in_a_row = times.pop(0)
            before, group = group, worlds.group(list(self.members_at(at_s)))
            view = GroupView(NOW + timedelta(seconds=at_s), group, tuple(PODS))
            watched, events = member_changes.observe(watched, view, timeouts=Timeouts())
            rejoins += [event for event in events if isinstance(event, Rejoin)]
            if in_a_row < most_followed and gone_members.is_anybody_gone(before, group):
                times = sorted([*times, (at_s + FOLLOWED_AFTER_S, in_a_row + 1)])
        return rejoins


@given(st.lists(st.tuples(st.integers(0, 1), st.floats(3, 20), st.floats(0.05, 0.49)), max_size=20), st.floats(3, 60))
def test_a_consumer_that_is_closed_and_made_again_is_never_called_evicted(
    steps: Sequence[tuple[int, float, float]], every_s: float
) -> None:
    """Whenever it is, if it is back before the follow-up; not even if the other is closed just then."""
    at_s, absences = [0.0, 1.0], []
    for which, pause_s, away_s in steps:
        at_s[which] += pause_s
        absences.append((which, at_s[which], away_s))
    rejoins = Reopening(absences).described(every_s, max(at_s) + 2 * every_s, most_followed=MOST_FOLLOWED)
    assert not [rejoin for rejoin in rejoins if rejoin.certainty is Certainty.CERTAIN]


@pytest.mark.parametrize(("most_followed", "certain"), [(0, 2), (1, 1), (2, 0)])
def test_consumers_that_are_made_again_just_after_each_other(most_followed: int, certain: int) -> None:
    """A follow-up meets the second one, so it has a follow-up of its own."""
    absences = Reopening([(0, 9.95, 0.1), (1, 10.45 if most_followed else 9.95, 0.1)])
    rejoins = absences.described(5.0, 30.0, most_followed=most_followed)
    assert [rejoin.certainty for rejoin in rejoins].count(Certainty.CERTAIN) == certain


@given(st.floats(2.0, 60.0), st.floats(5.0, 60.0), st.floats(0.0, 1.0))
def test_whom_a_description_shows_out_of_its_group_for_longer_was_evicted(
    away_s: float, every_s: float, phase: float
) -> None:
    """As without a follow-up, however far apart descriptions are: a storm is not hidden."""
    absences = Reopening([(0, 100.0 + phase * every_s, away_s)])
    shown, alone = (absences.described(every_s, 400.0, most_followed=count) for count in (MOST_FOLLOWED, 0))
    next_s = every_s * -(-(100.0 + phase * every_s) // every_s)
    if next_s + 2 * FOLLOWED_AFTER_S < 100.0 + phase * every_s + away_s:
        assert [rejoin.certainty for rejoin in shown] == [rejoin.certainty for rejoin in alone] == [Certainty.CERTAIN]
