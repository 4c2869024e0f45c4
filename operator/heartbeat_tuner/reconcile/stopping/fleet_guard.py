"""Does what is written harm many groups, each too little to be seen alone? Whose changes must stop then? Pure.

`verification.fleet` has the statistics. What it is asked here is so that nobody alone makes the answer: a mean is as
high as its highest part, so a single group could stop the whole fleet, and who runs a pod can forge evictions of
its group. So the evidence has to stand whichever group is left out, and stops the groups of a namespace by what is seen
in that namespace alone. All groups are stopped by what stands whichever namespace is left out, or where a second
namespace is stopped.

Only groups with a week of record are asked. With a shorter record in it, the sum over all groups knows neither the bad
days that they share nor that there are none, and either stops for nothing or sees nothing.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.sentences import Sentence, say
from heartbeat_tuner.ports.fleet_stops import FleetStop, StopNote
from heartbeat_tuner.verification import e_process, fleet
from heartbeat_tuner.verification.scatter import ENOUGH_DAYS
from heartbeat_tuner.verification.verify import EpisodeCount

MOST_LEFT_OUT: Final = 8
"""Groups, or namespaces, without each of which the evidence must stand: those that show most, by either measure."""

_CLOCKS_DIFFER: Final = timedelta(minutes=1)


@dataclasses.dataclass(frozen=True, slots=True)
class ChangedGroup:
    """A group whose values were changed, and have landed.

    Attributes:
        policy: that asked for it.
        group: Kafka cluster and name of the group.
        written: when.
        counted: since.
    """

    policy: ObjectKey
    group: tuple[str, str]
    written: datetime
    counted: EpisodeCount

    @property
    def expected(self) -> float:
        """How many episodes the record before lets expect."""
        return self.counted.before.mean * self.counted.exposed

    @property
    def excess(self) -> float:
        """How many more there were."""
        return self.counted.times_s.size - self.expected


def counted_until(changed: ChangedGroup | None, written: datetime, now: datetime) -> ChangedGroup | None:
    """Return what was counted with the exposure until now, since no episode has come: of the change in force alone.

    Args:
        changed: what was counted until the last look.
        written: when the change in force was.
        now: the time.
    """
    if changed is None or changed.written != written:
        return changed
    until_s = max(changed.counted.until_s, now.timestamp())
    return dataclasses.replace(changed, counted=dataclasses.replace(changed.counted, until_s=until_s))


def next_stop(note: StopNote, changed: Iterable[ChangedGroup], now: datetime) -> FleetStop | None:
    """Return the stop that holds from now on; a stop that stands is only ever made wider.

    Args:
        note: what is noted.
        changed: all groups that are known to have been changed.
        now: the time.
    """
    standing = note.stop
    if standing is not None and not standing.namespaces:
        return standing
    asked = _asked(changed, note.resumed_at, now)
    by_namespace: dict[str, list[ChangedGroup]] = {}
    for group in asked:
        by_namespace.setdefault(group.policy.namespace, []).append(group)
    namespaces = list(by_namespace.values())
    halves = math.log(2.0) if len(namespaces) > 1 else 0.0
    if _is_harmed(namespaces, halves):
        return FleetStop(_sentence(asked), now)
    stopped = frozenset() if standing is None else standing.namespaces
    share = halves + math.log(max(len(namespaces), 1))
    harmed = {
        namespace: groups
        for namespace, groups in by_namespace.items()
        if namespace not in stopped and _is_harmed([[group] for group in groups], share)
    }
    if not harmed:
        return standing
    everywhere = len(stopped) + len(harmed) > 1
    where = frozenset[str]() if everywhere else frozenset(harmed)
    return FleetStop(_sentence(list(chain.from_iterable(harmed.values()))), now, where)


def _asked(changed: Iterable[ChangedGroup], resumed_at: datetime | None, now: datetime) -> list[ChangedGroup]:
    """Return those that were changed in the last day, and not before a person resumed; each group once."""
    if resumed_at is not None and resumed_at > now + _CLOCKS_DIFFER:
        resumed_at = None  # a clock was set back: a moment to come must not silence what is seen until then
    groups: dict[tuple[str, str], ChangedGroup] = {}
    for group in sorted(changed, key=lambda group: (group.written, group.policy)):
        counted = group.counted
        since_s = now.timestamp() - counted.since_s
        is_late = 0.0 < since_s <= fleet.LATELY.total_seconds() and counted.until_s > counted.since_s
        is_long = counted.before.by_day.size >= ENOUGH_DAYS and counted.before.is_known
        if is_late and is_long and (resumed_at is None or group.written > resumed_at):
            groups[group.group] = group
    return list(groups.values())


def _is_harmed(parts: Sequence[Sequence[ChangedGroup]], share: float) -> bool:
    """Whether groups are harmed for all that is seen, whichever of the parts they come in is left out.

    Args:
        parts: groups that somebody may forge together. Of a single part nothing is left.
        share: logarithm of the number of times that this is asked: so much more evidence it takes.
    """
    least = e_process.THRESHOLD + share
    if _evidence(parts) < least:
        return False
    rests = ([part for part in parts if part is not left_out] for left_out in _strongest(parts))
    return all(_evidence(rest) >= least for rest in rests)


def _strongest(parts: Sequence[Sequence[ChangedGroup]]) -> list[Sequence[ChangedGroup]]:
    """Return the parts that show most, by either measure."""
    by_excess = sorted(parts, key=lambda part: math.fsum(group.excess for group in part), reverse=True)
    by_evidence = sorted(parts, key=lambda part: _evidence([part]), reverse=True)
    return by_evidence[:MOST_LEFT_OUT] + by_excess[:MOST_LEFT_OUT]


def _evidence(parts: Sequence[Sequence[ChangedGroup]]) -> float:
    """Return the logarithm of what all groups of these parts show; 0 if there are none."""
    return fleet.log_evidence([group.counted for part in parts for group in part])


def _sentence(groups: Sequence[ChangedGroup]) -> Sentence:
    """Return what is seen; names of groups and namespaces are nobody else's business."""
    return say(
        "{groups} groups whose values were changed in the last day have had {episodes} episodes of evictions since, "
        "where their records before let expect {expected:.3g}",
        groups=len(groups),
        episodes=sum(group.counted.times_s.size for group in groups),
        expected=math.fsum(group.expected for group in groups),
    )
