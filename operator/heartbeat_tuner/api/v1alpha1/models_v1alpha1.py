"""`ConsumerGroupModel` v1alpha1: what a fit says of one group, as pydantic models; `tail_v1alpha1` has its tails.

The periodic fit writes these, the operator reads them, people look at them. All numbers are plain, times are in seconds
unless a name says otherwise. What no fit can say (a shape without a mean, a share above 1, a law that is no law) is
refused by the schema and its rules as far as they can tell, and by `model_documents` in any case: numbers of a model
become settings of other people's programs.
"""

import itertools
from typing import Annotated, Final, Self

from pydantic import ConfigDict, Field, model_validator

from heartbeat_tuner.api.names import PerhapsClusterName, Word
from heartbeat_tuner.api.v1alpha1.fields import GroupId, Model, PrinterColumn, earlier_name, group_id_rules, rules
from heartbeat_tuner.api.v1alpha1.tail_v1alpha1 import (
    Count,
    Day,
    EarlierTailSpec,
    Moment,
    RejectedSpec,
    Tail,
    Time,
    fit_time,
)
from heartbeat_tuner.metrics.measured import DOWNTIMES, MOST_DOWNTIMES_PER_DAY
from heartbeat_tuner.tails.hidden_ends import MOST_SPREAD
from heartbeat_tuner.tails.rates import MOST_CLUMP

KIND: Final = "ConsumerGroupModel"
PLURAL: Final = "consumergroupmodels"

_DAYS: Final = 100_000.0

# What a fit can say of how often and how long; what lies beyond is a mistake, or made up.
_DAY_OF_SECONDS: Final = 86_400.0
_LEAST_A_DAY: Final = 1e-9
_DURATIONS: Final = (-8.0, 15.0)  # logarithms of seconds: a third of a millisecond to a month
_SPREAD: Final = 8.0

PerDay = Annotated[float, Field(allow_inf_nan=False, ge=_LEAST_A_DAY, le=_DAY_OF_SECONDS)]
Days = Annotated[float, Field(allow_inf_nan=False, ge=0, le=_DAYS)]
Spread = Annotated[float, Field(allow_inf_nan=False, ge=1e-3, le=MOST_SPREAD)]
Clump = Annotated[float, Field(allow_inf_nan=False, ge=1.0, le=MOST_CLUMP)]

_OF_A_RATE: Final = (
    "double(self.upper) >= double(self.mean)",
    "upper must not be below mean: it is the most that there may be",
)


class RateSpec(Model):
    """Events a day for each member, or for the group if they concern the whole group."""

    model_config = ConfigDict(json_schema_extra=rules(_OF_A_RATE))

    mean: Annotated[PerDay, Field(description="Expected rate, from events of the group and of the fleet.")]
    upper: Annotated[PerDay, Field(description="Upper bound, at 95 %.")]

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.upper < self.mean:
            raise ValueError(_OF_A_RATE[1])
        return self


_OF_A_DURATION: Final = ("double(self.worth) > 0.0", "worth must be above 0: it rests on something")


class DurationSpec(Model):
    """Length of events (lognormal)."""

    model_config = ConfigDict(json_schema_extra=rules(_OF_A_DURATION))

    mean_log: Annotated[
        float,
        Field(
            allow_inf_nan=False, ge=_DURATIONS[0], le=_DURATIONS[1], description="Mean of the logarithm of the seconds."
        ),
    ]
    sd_log: Annotated[
        float, Field(allow_inf_nan=False, ge=1e-6, le=_SPREAD, description="Standard deviation of the logarithm.")
    ]
    worth: Annotated[Count, Field(description="Weighted number of events; older ones have less weight.")]

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if not self.worth > 0:
            raise ValueError(_OF_A_DURATION[1])
        return self


_OF_A_POOL: Final = (
    "size(self.timesSeconds) == size(self.perDay) && size(self.timesSeconds) == size(self.spreads)",
    "timesSeconds, perDay and spreads must be of one length: each time has its rate, and how much groups differ in it",
)
_OF_CLUMPS: Final = (
    "!has(self.clumps) || size(self.timesSeconds) == size(self.clumps)",
    "timesSeconds and clumps must be of one length: each time has how many absences come at once",
)
_RISING: Final = "timesSeconds must rise from above 0"
_FALLING: Final = "perDay must fall, and stay above 0: what is longer is rarer, and nothing never happens"


class PoolSpec(Model):
    """Data of all groups of this client library and cluster with similar absences."""

    model_config = ConfigDict(json_schema_extra=rules(_OF_A_POOL, _OF_CLUMPS))

    days: Annotated[Count, Field(description="Member-days of observation; for outages, days of groups.")]
    groups: Annotated[int, Field(ge=1, le=10**9, description="Number of groups.")]
    times_seconds: Annotated[list[Time], Field(min_length=1, max_length=16, description="Times in seconds, ascending.")]
    per_day: Annotated[
        list[Count],
        Field(min_length=1, max_length=16, description="How often a day each of these times is exceeded, descending."),
    ]
    spreads: Annotated[
        list[Spread],
        Field(
            min_length=1,
            max_length=16,
            description="Differences between groups: squared coefficient of variation of their rates.",
        ),
    ]
    hides_from_seconds: Annotated[
        Time | None,
        Field(
            description="From when on absences of this group do not show, for they end in evictions; none if all show."
        ),
    ] = None
    clumps: Annotated[
        list[Clump] | None,
        Field(
            min_length=1,
            max_length=16,
            description="How many absences as long come at once, as when a node stops; left out: one by one.",
        ),
    ] = None

    @model_validator(mode="after")
    def _is_a_curve(self) -> Self:
        if not len(self.times_seconds) == len(self.per_day) == len(self.spreads):
            raise ValueError(_OF_A_POOL[1])
        if self.clumps is not None and len(self.clumps) != len(self.times_seconds):
            raise ValueError(_OF_CLUMPS[1])
        if any(later <= sooner for sooner, later in itertools.pairwise([0.0, *self.times_seconds])):
            raise ValueError(_RISING)
        if any(later > sooner for sooner, later in itertools.pairwise(self.per_day)) or not self.per_day[-1] > 0:
            raise ValueError(_FALLING)
        return self


_EITHER: Final = ("has(self.tail) != has(self.rejected)", "must have either a tail or the reason why it is rejected")
_DOWNTIMES: Final = (
    (
        f"!has(self.rate) || !(self.name in {sorted(DOWNTIMES)}) || "
        f"double(self.rate.upper) <= {MOST_DOWNTIMES_PER_DAY:.1f}"
    ),
    f"crashes and restarts must be at most {MOST_DOWNTIMES_PER_DAY:g} a member-day: one takes a minute or more",
)
_BESIDE: Final = ("!has(self.kept) || has(self.rejected)", "a tail is kept only where the newest is rejected")


class QuantitySpec(Model):
    """A quantity of the group, such as absences or poll gaps."""

    model_config = ConfigDict(json_schema_extra=rules(_EITHER, _BESIDE, _DOWNTIMES))

    name: Annotated[Word, Field(description="Name of the quantity.")]
    values: Annotated[int, Field(ge=0, le=10**15, description="Number of values.")]
    member_days: Annotated[Days, Field(description="Days of observation, summed over members.")]
    group_days: Annotated[Days, Field(description="Days of observation of the group.")]
    largest_seconds: Annotated[Time | None, Field(description="Largest value, up to the edge of its bucket.")] = None
    median_seconds: Annotated[Time | None, Field(description="Median. Newer values have more weight.")] = None
    regime_since: Annotated[
        Day | None,
        Field(description="Day since which values are longer than before. Earlier days are ignored."),
    ] = None
    rate: RateSpec | None = None
    duration: DurationSpec | None = None
    pool: PoolSpec | None = None
    tail: Tail | None = None
    rejected: RejectedSpec | None = None
    kept: EarlierTailSpec | None = None

    @model_validator(mode="after")
    def _is_either(self) -> Self:
        if (self.tail is None) == (self.rejected is None):
            raise ValueError(_EITHER[1])
        if self.kept is not None and self.rejected is None:
            raise ValueError(_BESIDE[1])
        if self.rate is not None and self.name in DOWNTIMES and self.rate.upper > MOST_DOWNTIMES_PER_DAY:
            raise ValueError(_DOWNTIMES[1])
        return self


_ORDER: Final = ("self.since <= self.until", "since must not be after until")
_WATCHED: Final = (
    "self.quantities.all(one, double(one.groupDays) <= double(self.days) + 1.0)",
    "groupDays must not be more than days: a group is not watched for longer than there are data",
)


class ModelSpec(Model):
    """Model of one group's delays. `heartbeat-tuner fit` writes it."""

    model_config = ConfigDict(json_schema_extra=earlier_name("fittedAt", "fitTime", _ORDER, _WATCHED))

    group_id: Annotated[
        GroupId,
        Field(
            description="Consumer group (group.id). Its pods are in the model's namespace.",
            json_schema_extra=group_id_rules("delete the model and let the fit write it again"),
        ),
    ]
    cluster: Annotated[
        PerhapsClusterName,
        Field(description="Kafka cluster, from `fit --cluster`. Empty: the model holds for every cluster."),
    ] = ""
    client: Annotated[Word, Field(description="Client library whose metrics were measured.")]
    histogram_schema: Annotated[int, Field(ge=1, le=2**31 - 1, description="Version of the histogram buckets.")]
    since: Annotated[Day, Field(description="First day of the data (UTC).")]
    until: Annotated[Day, Field(description="Last day of the data (UTC).")]
    days: Annotated[int, Field(ge=0, le=int(_DAYS), description="Number of days with data.")]
    fitted_at: Annotated[Moment, fit_time("When these numbers were first fitted.")]
    job: Annotated[str, Field(max_length=253, description="Run that fitted them.")]
    fitted: Annotated[int, Field(ge=0, description="Number of quantities with a tail.")]
    rejected: Annotated[int, Field(ge=0, description="Number of quantities without a tail.")]
    quantities: Annotated[list[QuantitySpec], Field(max_length=16, description="What was measured, each once.")]

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        if self.since > self.until:
            raise ValueError(_ORDER[1])
        if any(quantity.group_days > self.days + 1.0 for quantity in self.quantities):
            raise ValueError(_WATCHED[1])
        names = [quantity.name for quantity in self.quantities]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{twice} stands there more than once among the quantities; leave one")
        return self


PRINTER_COLUMNS: Final = (
    PrinterColumn("Group", "string", ".spec.groupId"),
    PrinterColumn("Client", "string", ".spec.client"),
    PrinterColumn("Days", "integer", ".spec.days"),
    PrinterColumn("Until", "string", ".spec.until"),
    PrinterColumn("Fitted", "integer", ".spec.fitted"),
    PrinterColumn("Rejected", "integer", ".spec.rejected"),
    PrinterColumn("Age", "date", ".metadata.creationTimestamp"),
)
"""What `kubectl get` shows."""
