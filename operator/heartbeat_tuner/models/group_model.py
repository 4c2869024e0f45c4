"""What a fit says of one group: a tail for each quantity, and on what it rests.

Made from stored histograms by the periodic fit, kept as a `ConsumerGroupModel` object, looked up by the operator. All
of it is plain numbers: who reads one needs neither the history nor Spark.

A fit may reject the tail of a quantity that an earlier one could tell. `keeping` carries the earlier tail on, marked
as what it is, so that one bad day does not take away what is known.
"""

import dataclasses
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Final

from heartbeat_tuner.tails.model import Rejected, TailModel
from heartbeat_tuner.tails.pool import Pool
from heartbeat_tuner.tails.rates import Duration, Rate

KEPT_FOR: Final = timedelta(days=28)
"""After so many days, four half-lives of a value's weight, an earlier tail says nothing about today."""


@dataclasses.dataclass(frozen=True, slots=True)
class EarlierTail:
    """The tail of an earlier fit, where the newest one was rejected.

    Attributes:
        tail: the law of the rare values.
        per_day: how many values the group had a day then.
        since: the first day that it rests on.
        until: the last one.
        fitted_at: when it was fitted.
    """

    tail: TailModel
    per_day: float
    since: date
    until: date
    fitted_at: datetime


@dataclasses.dataclass(frozen=True, slots=True)
class QuantityModel:
    """One quantity of a group.

    Attributes:
        values: how many were seen, each counted as one however old.
        member_days: for how long members were watched, all together.
        group_days: for how long the group was watched.
        largest_s: upper edge of the bucket of the largest value, in seconds; None if none was seen.
        tail: the law of its rare values, or why there is none.
        kept: where there is none, the last one that there was, if it is not too old.
        median_s: half of the values are longer, in seconds, newer ones counting more; None without values.
        rate: of events: how often a member-day they come, or a day of the group where they happen to the group as one
            (`metrics.quantities.OF_THE_GROUP`); None where values are no events.
        duration: of what has one: how long it lasts.
        pool: what all groups of its client library and cluster saw together, of what happens to each of them now and
            then; None of other quantities, or where they saw too little.
        regime_since: the day since which values are longer than on all days before, which do not count any more; None
            where no such day was seen.
    """

    values: int
    member_days: float
    group_days: float
    largest_s: float | None
    tail: TailModel | Rejected
    kept: EarlierTail | None = None
    median_s: float | None = None
    rate: Rate | None = None
    duration: Duration | None = None
    pool: Pool | None = None
    regime_since: date | None = None

    @property
    def per_day(self) -> float:
        """How many values the group has a day; 0 if it was not watched."""
        return self.values / self.group_days if self.group_days > 0 else 0.0

    @property
    def law(self) -> tuple[TailModel, float] | None:
        """The tail that holds, the kept one if need be, and how many values the group has a day; None without one."""
        if isinstance(self.tail, TailModel):
            return (self.tail, self.per_day) if self.per_day > 0 else None
        return None if self.kept is None or not self.kept.per_day > 0 else (self.kept.tail, self.kept.per_day)


@dataclasses.dataclass(frozen=True, slots=True)
class GroupModel:
    """The model of one group.

    Attributes:
        namespace: of its pods.
        group: its `group.id`.
        client: the client library that its metrics are of; a model of another one tells nothing.
        cluster: the Kafka cluster, by the name that the fit was given; empty if it was given none.
        schema: of the histograms (`histogram.SCHEMA`): other buckets are other times.
        since: the first day that it rests on.
        until: the last one.
        days: how many days of these have data.
        fitted_at: when it was fitted.
        job: which run fitted it.
        quantities: by the names that the contract stores (`metrics.quantities`).
    """

    namespace: str
    group: str
    client: str
    cluster: str
    schema: int
    since: date
    until: date
    days: int
    fitted_at: datetime
    job: str
    quantities: Mapping[str, QuantityModel]


def keeping(new: GroupModel, old: GroupModel | None) -> GroupModel:
    """Return a new model with the tails that it rejected kept from the one that it replaces.

    A model of another client library, cluster or schema tells nothing, and neither does a tail that is older than
    `KEPT_FOR`.
    """
    if old is None or any(getattr(new, name) != getattr(old, name) for name in ("client", "cluster", "schema")):
        return new
    quantities = {name: _keeping(quantity, name, new, old) for name, quantity in new.quantities.items()}
    return dataclasses.replace(new, quantities=quantities)


def _keeping(quantity: QuantityModel, name: str, new: GroupModel, old: GroupModel) -> QuantityModel:
    before = old.quantities.get(name)
    if isinstance(quantity.tail, TailModel) or before is None:
        return quantity
    last = before.kept
    if isinstance(before.tail, TailModel):
        last = EarlierTail(before.tail, before.per_day, old.since, old.until, old.fitted_at)
    if last is None or new.until - last.until > KEPT_FOR:
        return quantity
    return dataclasses.replace(quantity, kept=last)


@dataclasses.dataclass(frozen=True, slots=True)
class Fitted:
    """A model, and the name of the object that it is kept as."""

    name: str
    model: GroupModel


@dataclasses.dataclass(frozen=True, slots=True)
class Unreadable:
    """An object that says whose model it is, but is none that this version can use.

    Attributes:
        name: of the object.
        namespace: of the object, and of the group's pods.
        group: its `group.id`.
        message: why, as a sentence.
    """

    name: str
    namespace: str
    group: str
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Unfitted:
    """A group without a model that may be used.

    Attributes:
        message: why, as a sentence with its numbers.
        until: the last day of the model that may not be used; None where there is none at all.
    """

    message: str
    until: date | None = None


NO_MODEL: Final = Unfitted("no ConsumerGroupModel names the group")
"""Of a group that nobody has fitted."""
