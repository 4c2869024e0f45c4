"""How often live members lost their membership: what counters and member ids show.

KafkaJS' counters show a rejoin that no rebalance asked for, confirmed by refused heartbeats; the Java consumer's show
that it had to ask for a new member id. The broker shows another member id of a living pod, but not whether the member
was removed, or a consumer was closed and made again within its process: it is asked where there are no counters.
Whether a member was removed for silence or left for want of a poll, the time since its last poll tells.
"""

import math
import operator
from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.evidence import MemberChange, Pod
from heartbeat_tuner.metrics.raw import counter_steps, queries, samples
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

POLL_GAP_SHOWN: Final = timedelta(seconds=90)
"""A poll gap shows for so long around the change of the member id that the broker shows: before it as the age of the
last poll, after it as the longest gap of the client's window (59 to 86 s)."""

BY_NOTICES: Final = (Quantity.HEARTBEAT_REQUESTS, Quantity.REBALANCE_NOTICES)
"""With these, an eviction shows as a rejoin that nobody announced."""

BY_LOST_IDS: Final = (Quantity.FAILED_REBALANCES, Quantity.JOIN_ANSWERS)
"""With these, it shows as a member that had to ask for a new id: to ask is a join that fails, and a join that was
answered but not completed was overtaken by another rebalance, and failed for that."""

NEAR_SCRAPES: Final = 2
"""A poll gap shows within so many scrapes of the counter that it moved."""

BY_POLLS: Final = (Quantity.POLL_GAP_MAX, Quantity.POLL_AGE)
"""With these, a member that left for want of a poll can be told from one that was removed for its silence."""

MOST_OF_A_POD: Final = 10_000
"""Evictions of one pod that are counted in a record: almost three a second for an hour. A counter that jumps by
billions must not take the operator's memory."""

NEAR_S: Final = 90.0
"""A refusal may be as old as this and confirm a rejoin though another came between: in a storm one scrape shows both a
rejoin and the refusal before the next. KafkaJS gives members 60 s to rejoin, and a scrape later that shows."""

_REFUSED_BEATS: Final = (
    (Quantity.HEARTBEAT_REQUESTS, 1.0),
    (Quantity.HEARTBEATS, -1.0),
    (Quantity.REBALANCE_NOTICES, -1.0),
)
"""The sum of these counters is what was refused."""


def unannounced(pod: Pod, observed: Observed, *, since_s: float) -> list[MemberChange]:
    """Return a pod's evictions: rejoins that no rebalance asked for, as far as refused heartbeats confirm them.

    Neither is enough alone. One eviction, and one rebalance, refuses a heartbeat for each assigned partition (measured:
    33 for 11 evictions of a member with 3 partitions), and a client that restarted within its process rejoins without
    having been removed.

    So each rejoin needs a refusal of its own, and the one that came before it (`_confirmed`). Were any refusals of the
    time enough, each window of a sliding hour would confirm other rejoins, and one eviction become many in a history.
    """
    joins, notices = (
        of_pod(observed.get(quantity, ()), pod.name) for quantity in (Quantity.REBALANCES, Quantity.REBALANCE_NOTICES)
    )
    shown = (joins, notices)
    if _stand_still([*joins, *notices]):
        if pod.started.timestamp() < since_s:
            return []
        from_s = max(since_s, math.nextafter(pod.started.timestamp(), -math.inf))
        shown = ([_around(join, from_s) for join in joins], [_around(notice, from_s) for notice in notices])
    joined, announced = (_by_time(group, pod) for group in shown)
    balance = {at: joined[at] - announced[at] - len(joins) for at in joined.keys() & announced.keys()}
    rejoins = _rises(balance, pod, since_s)
    if not rejoins:
        return []
    joined_s = {at for join in joins for at in counter_steps.growth_by_time(join, since_s=since_s, born_at_zero=False)}
    return _changes(_confirmed(rejoins, joined_s, _refusals(pod, observed, since_s)), pod)


def lost_ids(pod: Pod, observed: Observed, *, since_s: float) -> list[MemberChange]:
    """Return when a pod's members had lost their ids, once for each lost id.

    Failed attempts to join, less those that another rebalance overtook: 1 for the first join of a member, one more for
    each id it lost (measured: docs/design/0003).
    """
    failures, answers, joins = (
        of_pod(observed.get(quantity, ()), pod.name) for quantity in (*BY_LOST_IDS, Quantity.REBALANCES)
    )
    members = len(failures)
    if _stand_still([*failures, *answers, *joins]):
        if pod.started.timestamp() < since_s:
            return []
        groups = (failures, answers, joins)
        failures, answers, joins = ([_first_after(series, since_s) for series in group] for group in groups)
    failed, answered, joined = (_by_time(group, pod) for group in (failures, answers, joins))
    balance = {
        at: failed[at] - (answered[at] - joined[at]) - members for at in failed.keys() & answered.keys() & joined.keys()
    }
    return _changes(_rises(balance, pod, since_s), pod)


def counted(quantity: Quantity, pod: Pod, observed: Observed, *, since_s: float) -> list[MemberChange]:
    """Return a pod's evictions where a counter counts nothing else, at most `MOST_OF_A_POD`.

    The operator's group watcher has such a counter, and so have consumers whose library calls back. A counter of a pod
    that began within the time began at zero. That of an older one may have been read too late.
    """
    is_young = pod.started.timestamp() >= since_s
    changes: list[MemberChange] = []
    for series in of_pod(observed.get(quantity, ()), pod.name):
        for at, by in counter_steps.growth_by_time(series, since_s=since_s, born_at_zero=is_young).items():
            changes += _changes([at] * min(round(by), MOST_OF_A_POD - len(changes)), pod)
    return sorted(changes, key=operator.attrgetter("at"))


def split_by_poll_gaps(
    changes: Sequence[MemberChange], observed: Observed, *, limit: timedelta, within: timedelta
) -> tuple[list[MemberChange], list[MemberChange]]:
    """Return which changed member ids mean removal for silence, and which mean a member that did not poll.

    A change that is newer than the pod's newest sample counts as neither yet.

    Args:
        changes: when members lost their ids.
        observed: the series of the running pods.
        limit: max.poll.interval.ms of the members.
        within: how far from a change a gap that explains it may show: the further, the less exact the change's time is.
    """
    silences: list[MemberChange] = []
    polls: list[MemberChange] = []
    for change in changes:
        longest_shown, ages = (of_pod(observed.get(quantity, ()), change.pod) for quantity in BY_POLLS)
        newest_s = samples.newest_s(ages)
        if newest_s is None or newest_s < change.at.timestamp():
            continue
        if max(longest_near_s(change, group, within) for group in (ages, longest_shown)) >= limit.total_seconds():
            polls.append(change)
        else:
            silences.append(change)
    return silences, polls


def longest_poll_gap_s(observed: Observed, *, since_s: float) -> float | None:
    """Return the longest time between two polls of one member since a time, in seconds; None if none was seen."""
    shown = (
        series.samples.between(since_s, math.inf).values
        for quantity in BY_POLLS
        for series in observed.get(quantity, ())
    )
    return max((min(max(values), samples.LONGEST_S) for values in shown if values), default=None)


def longest_near_s(change: MemberChange, group: Sequence[Series], within: timedelta) -> float:
    """Return the greatest value that was new around the time of a change, in seconds; 0 if nothing was.

    What stood there before is an earlier gap, shown still.

    Args:
        change: when a member lost its id.
        group: the series of its pod.
        within: how far from the change counts.
    """
    begins_s, ends_s = ((change.at + sign * within).timestamp() for sign in (-1, 1))
    longest_s = 0.0
    for series in group:
        before = series.samples.between(-math.inf, math.nextafter(begins_s, -math.inf)).values
        near = series.samples.between(math.nextafter(begins_s, -math.inf), ends_s).values
        longest_s = max([longest_s, *(value for value in near if not before or value != before[-1])])
    return longest_s


def of_pod(group: Sequence[Series], name: str) -> list[Series]:
    """Return the series of one pod."""
    return [series for series in group if series.labels.get(queries.POD_LABEL) == name]


def total(group: Sequence[Series], since_s: float, *, born_at_zero: bool = False) -> float:
    """Sum the growth of several counters.

    Only heartbeats, whose series are born with each member id, start from zero: over-counting accepted beats can hide
    an eviction, over-counting anything else could invent one.
    """
    return sum(counter_steps.increase(series, since_s=since_s, born_at_zero=born_at_zero) for series in group)


def _changes(times_s: Sequence[float], pod: Pod) -> list[MemberChange]:
    return [MemberChange(datetime.fromtimestamp(at, UTC), pod.name) for at in times_s]


def _rises(balance: Mapping[float, float], pod: Pod, since_s: float) -> list[float]:
    """Return when a balance of counters rose above all it was before, once for each whole rise, after a time.

    A balance that is 0 after the first join of a process, and one more for each eviction, is lower while an announced
    rejoin is under way: so its highest value counts, not its latest. A window cut through a rejoin would otherwise make
    an eviction of it. There are at most `MOST_OF_A_POD`.
    """
    ordered = sorted(balance.items())
    first = bisect_right(ordered, since_s, key=operator.itemgetter(0))
    before, after = [value for _, value in ordered[:first]], ordered[first:]
    if after and not before and pod.started.timestamp() < since_s:
        before = [after[0][1]]  # scrapes were missing: what happened before the first one is not of this time
    highest = max([0.0, *before])
    rises: list[float] = []
    for at, value in after:
        if value > highest:
            rises += [at] * min(round(value - highest), MOST_OF_A_POD - len(rises))
            highest = value
    return rises


def _by_time(group: Sequence[Series], pod: Pod) -> dict[float, float]:
    """Return the sum of several counters at each scrape since the pod's process started."""
    sums: dict[float, float] = {}
    for series in group:
        shown = dict(series.samples.between(math.nextafter(pod.started.timestamp(), -math.inf), math.inf).pairs())
        sums = {at: sums.get(at, 0.0) + shown.get(at, 0.0) for at in sums.keys() | shown.keys()} if sums else shown
    return sums


def _stand_still(group: Sequence[Series]) -> bool:
    """Whether counters of the same scrapes never moved: most of them, most of the time."""
    return all(series.samples.stands_still and series.samples.is_scraped_with(group[0].samples) for series in group)


def _refusals(pod: Pod, observed: Observed, since_s: float) -> dict[float, float]:
    """Return how many more of a pod's beats were refused at each scrape after a time than at the one before.

    These are the requests that were neither accepted nor answered with a rebalance; fewer than none where a commit was
    answered with one. Counters of a process that started since began at zero, those of accepted beats always do.
    """
    is_young = pod.started.timestamp() >= since_s
    began_s = math.nextafter(pod.started.timestamp(), -math.inf) if is_young else -math.inf
    refused = defaultdict[float, float](float)
    for quantity, sign in _REFUSED_BEATS:
        born_at_zero = is_young or quantity is Quantity.HEARTBEATS
        for series in of_pod(observed.get(quantity, ()), pod.name):
            shown = Series(series.labels, series.samples.between(began_s, math.inf))
            grown = counter_steps.growth_by_time(shown, since_s=since_s, born_at_zero=born_at_zero)
            for at, by in grown.items():
                refused[at] += sign * by
    return refused


def _confirmed(rejoins: Sequence[float], joined_s: set[float], refused: Mapping[float, float]) -> list[float]:
    """Return the rejoins that were preceded by a refusal of their own.

    A beat is refused before its rejoin. What was refused before an earlier rejoin belongs to that, unless it is as near
    as `NEAR_S`. The oldest refusals are used first, so that a window that begins earlier confirms all that a later one
    does.

    Args:
        rejoins: without an announcement: the scrapes that show them, in Unix seconds, once for each.
        joined_s: the scrapes that show any join.
        refused: how many beats more were refused at each scrape.
    """
    wanted = Counter(rejoins)
    waiting = deque[tuple[float, int]]()
    confirmed: list[float] = []
    before_s = -math.inf
    for at in sorted(refused.keys() | joined_s | wanted.keys()):
        more = round(refused.get(at, 0.0))
        if more > 0:
            waiting.append((at, more))
        else:  # some had only been counted a scrape before they were accepted
            _taken(waiting, -more, end=-1)
        if at in joined_s or at in wanted:
            while waiting and waiting[0][0] <= before_s and waiting[0][0] < at - NEAR_S:
                waiting.popleft()
            confirmed += [at] * _taken(waiting, wanted[at], end=0)
            before_s = at
    return confirmed


def _taken(waiting: deque[tuple[float, int]], count: int, *, end: int) -> int:
    """Take so many refusals from the first scrape on (0), or from the last back (-1); return how many there were."""
    left = count
    while left > 0 and waiting:
        at, there = waiting[end]
        if there > left:
            waiting[end] = (at, there - left)
            return count
        del waiting[end]
        left -= there
    return count - left


def _around(series: Series, time_s: float) -> Series:
    """Return what a counter that stands still says about a time: its last sample up to then, and the next."""
    first = bisect_right(series.samples.times_s, time_s)
    return Series(series.labels, series.samples[max(0, first - 1) : first + 1])


def _first_after(series: Series, time_s: float) -> Series:
    """Return all that a counter that stands still has to tell: its first sample after a time."""
    first = bisect_right(series.samples.times_s, time_s)
    return Series(series.labels, series.samples[first : first + 1])
