"""The member ids of one living process, from one description to the next: which are missing, and which are back."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.kafka_groups import Member
from heartbeat_tuner.metrics.group_events.group_event import Doubt, Timeouts

LONGEST_AWAY: Final = timedelta(minutes=10)
"""A member that is out of its group for longer was rather closed than evicted."""

ROUND_TRIP: Final = timedelta(seconds=1)
"""A description is as old as its way here: by so much a member may have been in its group for longer than it shows."""

BRIEF: Final = timedelta(seconds=1)
"""A new id that shows so soon after a description without the member may be a consumer that was closed and made again:
the description came just then. Descriptions are that close where one follows another for this very question."""

MOST_AWAY: Final = 100
"""Ids of one process that are remembered after they are gone: a client can make as many as it likes."""

_NO_DOUBT: Final[frozenset[Doubt]] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class MissingMember:
    """That a member is missing.

    Attributes:
        first: since when it may have been in its group.
        missing: the first description without it.
        doubts: what was known then that may explain it.
    """

    first: datetime
    missing: datetime
    doubts: frozenset[Doubt] = _NO_DOUBT


@dataclasses.dataclass(frozen=True, slots=True)
class ProcessIds:
    """The member ids of one life of a pod's process.

    Attributes:
        shown: those in the last description, with since when each may be there: the last description without it, or
            the start of the process.
        away: those that are gone and not replaced; where a client keeps its id, until it is back.
    """

    shown: Mapping[str, datetime] = dataclasses.field(default_factory=dict)
    away: Mapping[str, MissingMember] = dataclasses.field(default_factory=dict)

    def with_doubt(self, doubt: Doubt) -> "ProcessIds":
        """Return the same with one more doubt of each that is gone."""
        away = {
            name: dataclasses.replace(absence, doubts=absence.doubts | {doubt}) for name, absence in self.away.items()
        }
        return ProcessIds(self.shown, away)


def compared(
    known: ProcessIds,
    shown: Mapping[str, Member],
    since: Mapping[str, datetime],
    at: datetime,
    timeouts: Timeouts,
    *,
    missing_doubts: frozenset[Doubt],
    keeps_ids: bool,
) -> tuple[ProcessIds, list[frozenset[Doubt]]]:
    """Return the ids of a process after a description, and the doubts of each member that came back.

    Args:
        known: the ids before.
        shown: the members in the description.
        since: since when each may have been there, where it was not before.
        at: when it was described.
        timeouts: of the members.
        missing_doubts: what may explain that a member is missing now.
        keeps_ids: whether a client that comes back has its own id again; then a new one is another consumer.
    """
    away = {name: absence for name, absence in known.away.items() if name not in shown}
    away |= {name: MissingMember(first, at, missing_doubts) for name, first in known.shown.items() if name not in shown}
    away = dict(list(away.items())[-MOST_AWAY:])
    if keeps_ids:
        back = [known.away[name] for name in shown if name in known.away]
        doubts = [absence.doubts | frozenset(_doubts(absence, at, timeouts)) for absence in back]
    else:
        new = [member for name, member in shown.items() if name not in known.shown and name not in known.away]
        doubts = list(_replaced(new, away, at, timeouts))
    return ProcessIds({name: known.shown.get(name, since[name]) for name in shown}, away), doubts


def _replaced(
    new: Sequence[Member], away: dict[str, MissingMember], at: datetime, timeouts: Timeouts
) -> Iterator[frozenset[Doubt]]:
    """Take an id that is gone out of `away` for each new one, and yield the doubts of that."""
    for member in new[: len(away)]:
        gone = min(away, key=lambda name: away[name].missing)  # who is missing for longest is back first
        absence = away.pop(gone)
        doubts = absence.doubts | frozenset(_doubts(absence, at, timeouts))
        if member.instance_id is not None:
            doubts |= {Doubt.STATIC}
        if at - absence.missing <= BRIEF:
            doubts |= {Doubt.REOPENED}
        yield doubts


def _doubts(absence: MissingMember, at: datetime, timeouts: Timeouts) -> Iterator[Doubt]:
    """Yield why a member that came back may not have been evicted for its silence.

    A member polls before it joins. So one that was in its group for less than the poll limit when it was missing
    cannot have gone without a poll for so long. Nor can one have been silent for a session that was in its group for
    less: it left by itself.

    Args:
        absence: of the member.
        at: when it is seen back.
        timeouts: of the members.
    """
    longest = absence.missing - absence.first + ROUND_TRIP
    if at - absence.missing > LONGEST_AWAY:
        yield Doubt.LONG_AWAY
    if timeouts.poll_limit is not None and longest >= timeouts.poll_limit:
        yield Doubt.POLL_LIMIT
    if timeouts.session is not None and longest < timeouts.session:
        yield Doubt.YOUNG
