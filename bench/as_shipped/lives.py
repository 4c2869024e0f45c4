"""What one group lives through from the first day to the last, where that is more than one law for all days."""

import dataclasses
from collections.abc import Sequence

from bench.fleets import Group
from heartbeat_tuner.models.failure_profile import Profile

WEEK_DAYS = 7
SUNDAY = 6


@dataclasses.dataclass(frozen=True)
class Life:
    """One group, day by day. Day 0 is a Monday.

    Attributes:
        group: as it is on its first day, and all others where nothing else is said.
        later: as it is from day `turns_on` on; None: it stays as it is.
        turns_on: the day of that change.
        sunday: as it is on Sundays; None: as on all days.
        day_factors: by how much its rates of pauses and outages are higher on each day; none: on all days alike.
        lost_scrapes: the share of its scrapes that nobody got.
        joins_on: the first day on which there is such a group.
        leaves_on: the first day without the group; None: it stays.
        namespace: of its policy.
        lies: what it exports is made up: its figures are not judged, the others' are.
    """

    group: Group
    later: Group | None = None
    turns_on: int = 0
    sunday: Group | None = None
    day_factors: Sequence[float] = ()
    lost_scrapes: float = 0.0
    joins_on: int = 0
    leaves_on: int | None = None
    namespace: str = "shop"
    lies: bool = False

    @property
    def name(self) -> str:
        """Its `group.id`."""
        return self.group.name

    def on(self, day: int) -> Group:
        """Return what the group is like on a day."""
        if self.sunday is not None and day % WEEK_DAYS == SUNDAY:
            return self.sunday
        return self.later if self.later is not None and day >= self.turns_on else self.group

    def truth(self, day: int) -> Profile:
        """Return what happens to the group from a day on, on average: what its values on that day are judged by."""
        if self.sunday is None:
            return self.on(day).truth
        usual, sunday = self.group.truth, self.sunday.truth
        return together([(WEEK_DAYS - 1, usual), (1, sunday)])

    def is_there(self, day: int) -> bool:
        """Whether there is such a group on a day; who is there on the first one was there before."""
        return self.joins_on <= max(day, 0) and (self.leaves_on is None or day < self.leaves_on)

    def factor(self, day: int) -> float:
        """Return by how much rates of pauses and outages are higher on a day."""
        return self.day_factors[day % len(self.day_factors)] if self.day_factors else 1.0


def together(parts: Sequence[tuple[float, Profile]]) -> Profile:
    """Return what happens to a group that is each of these for its share of the time.

    Args:
        parts: shares, which need not add up to 1, and profiles that differ in pauses and handlers alone.
    """
    every = sum(share for share, _ in parts)
    weighed = [(share / every, profile) for share, profile in parts]
    per_day = sum(share * profile.pauses.per_day for share, profile in weighed)
    turns = sum(share / profile.handlers.mean_s for share, profile in weighed)
    first = parts[0][1]
    pauses = type(first.pauses.law).mixture(
        (share * profile.pauses.per_day / per_day, profile.pauses.law) for share, profile in weighed
    )
    handlers = type(first.handlers).mixture(
        (share / profile.handlers.mean_s / turns, profile.handlers) for share, profile in weighed
    )
    return dataclasses.replace(
        first, pauses=dataclasses.replace(first.pauses, per_day=per_day, law=pauses), handlers=handlers
    )
