"""What came of a run: counts, what went wrong, and the exit status: values only."""

import dataclasses
import enum
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import date

from heartbeat_tuner.models.group_model import GroupModel
from heartbeat_tuner.ports.stored_models import Written
from heartbeat_tuner.tails.model import Rejected


class ExitStatus(enum.IntEnum):
    """Exit status of a run, for what schedules it."""

    DONE = 0
    IN_PART = 1  # some day or group failed; models are fitted from what is there
    NOTHING = 2  # no model was fitted or written


@dataclasses.dataclass(frozen=True, slots=True)
class DayFailure:
    """A day that could not be read or kept.

    Attributes:
        day: which.
        message: why, as a sentence.
    """

    day: date
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class HistoryReading:
    """What came of the history.

    Attributes:
        window: the first and the last day that the fit rests on, both included.
        kept: how many days were there before.
        read: days that were read in this run and have data.
        empty: days that were read and have none.
        values: how many values the days that were read hold.
        failures: days that could not be read or kept, ascending.
        broken: files of the history that could not be read; those days were asked for again.
    """

    window: tuple[date, date]
    kept: int
    read: tuple[date, ...]
    empty: tuple[date, ...]
    values: int
    failures: tuple[DayFailure, ...]
    broken: tuple[DayFailure, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class FitCounts:
    """What came of the fit.

    Attributes:
        groups: how many have a model.
        tails: fitted tails, by quantity.
        rejected: rejected tails, by quantity and by reason.
    """

    groups: int
    tails: Mapping[str, int]
    rejected: Mapping[str, Mapping[str, int]]


@dataclasses.dataclass(frozen=True, slots=True)
class FitOutcome:
    """What came of a run.

    Attributes:
        job: its name, as the models say it.
        reading: of the history.
        fitted: of the fit.
        stored: of the models; None if none were to be written.
        seconds: how long it took.
    """

    job: str
    reading: HistoryReading
    fitted: FitCounts
    stored: Written | None
    seconds: float

    @property
    def status(self) -> ExitStatus:
        """What the process exits with."""
        stored = self.stored
        wrote_none = stored and (stored.failed or stored.gone) and not stored.written + stored.unchanged
        if not self.fitted.groups or wrote_none:
            return ExitStatus.NOTHING
        lost = {failure.day for failure in self.reading.broken} - set(self.reading.read)
        failed = self.reading.failures or lost or (stored and stored.failed)
        return ExitStatus.IN_PART if failed else ExitStatus.DONE


def counted(models: Sequence[GroupModel]) -> FitCounts:
    """Return what came of a fit."""
    tails: Counter[str] = Counter()
    rejected: dict[str, Counter[str]] = defaultdict(Counter)
    for model in models:
        for name, quantity in model.quantities.items():
            if isinstance(quantity.tail, Rejected):
                rejected[name][quantity.tail.reason.value] += 1
            else:
                tails[name] += 1
    return FitCounts(
        len(models), dict(sorted(tails.items())), {name: dict(rejected[name]) for name in sorted(rejected)}
    )
