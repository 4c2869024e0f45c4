"""What a fit says of one group: a tail for each quantity, and on what it rests.

Made from stored histograms by the periodic fit, kept as a `ConsumerGroupModel` object, looked up by the operator. All
of it is plain numbers: who reads one needs neither the history nor Spark.
"""

import dataclasses
from collections.abc import Mapping
from datetime import date, datetime
from typing import Final

from heartbeat_tuner.tails.model import Rejected, TailModel


@dataclasses.dataclass(frozen=True, slots=True)
class QuantityModel:
    """One quantity of a group.

    Attributes:
        values: how many were seen, each counted as one however old.
        member_days: for how long members were watched, all together.
        group_days: for how long the group was watched.
        largest_s: upper edge of the bucket of the largest value, in seconds; None if none was seen.
        tail: the law of its rare values, or why there is none.
    """

    values: int
    member_days: float
    group_days: float
    largest_s: float | None
    tail: TailModel | Rejected

    @property
    def per_day(self) -> float:
        """How many values the group has a day; 0 if it was not watched."""
        return self.values / self.group_days if self.group_days > 0 else 0.0


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


@dataclasses.dataclass(frozen=True, slots=True)
class Unfitted:
    """A group without a model that may be used.

    Attributes:
        message: why, as a sentence with its numbers.
    """

    message: str


NO_MODEL: Final = Unfitted("no ConsumerGroupModel names the group")
"""Of a group that nobody has fitted."""
