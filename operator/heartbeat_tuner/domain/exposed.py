"""What the operator tells Prometheus of each policy: the families of metrics, and one policy's points of them.

A catalogue without a client library: `reconcile.status.metric_points` says which points a policy has,
`adapters.http.telemetry` exports them, `docs/reference/metrics.md` is made from here. Every family has a policy's
namespace and name as its first labels, and few points per policy, so that series grow with policies, and with the pods
of their workloads up to a bound. What is not known has no point.
"""

import dataclasses
import enum
from typing import Final, NamedTuple

PREFIX: Final = "heartbeat_tuner_policy_"

GROUP_PREFIX: Final = "heartbeat_tuner_group_"
"""Of what the group watcher counts."""


class ValuesLabel(enum.StrEnum):
    """Of which values a point speaks: the label `values`."""

    SET = "set"
    RECOMMENDED = "recommended"


class Bound(enum.StrEnum):
    """How sure a point of a tail is: the label `bound`."""

    LIKELY = "likely"
    UPPER = "upper"


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Family:
    """One metric.

    Attributes:
        name: without the prefix that all share.
        help: what it means, with its unit.
        labels: those beside namespace and policy.
        prefix: what all names of its kind begin with.
        counts: whether it is a counter, whose name ends with `_total`.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    prefix: str = PREFIX
    counts: bool = False

    @property
    def full_name(self) -> str:
        """The name that Prometheus sees."""
        return f"{self.prefix}{self.name}"


class MetricPoint(NamedTuple):
    """One number of one policy.

    Attributes:
        family: of which metric.
        labels: the values of its labels, in their order.
        number: in the unit that the family's name ends with.
    """

    family: Family
    labels: tuple[str, ...]
    number: float


INFO: Final = Family(
    "info",
    "1: what the policy names.",
    ("group", "cluster", "workload_kind", "workload", "container", "client", "mode"),
)
DECISION: Final = Family("decision", "1: the last verdict, and its reason.", ("verdict", "reason"))
CONDITION: Final = Family("condition", "1: each condition of the policy's status.", ("type", "status", "reason"))
BLOCKED: Final = Family(
    "blocked", "1: why recommended values were not written; no series while nothing is.", ("reason",)
)

SESSION_TIMEOUT: Final = Family("session_timeout_seconds", "The session timeout.", ("values",))
HEARTBEAT_INTERVAL: Final = Family("heartbeat_interval_seconds", "The heartbeat interval.", ("values",))
FETCH_WAIT: Final = Family("fetch_wait_seconds", "How long the broker may hold a fetch back.", ("values",))
MAX_POLL_INTERVAL: Final = Family(
    "max_poll_interval_seconds", "The longest time allowed between two polls.", ("values",)
)

EXPECTED_EVICTIONS: Final = Family(
    "expected_evictions_per_day", "Evictions of live members that the fitted model expects of the group.", ("values",)
)
EXPECTED_EVICTIONS_UPPER: Final = Family("expected_evictions_upper_per_day", "The same at most, at 95 %.", ("values",))
ALLOWED_EVICTIONS: Final = Family("allowed_evictions_per_day", "Evictions of live members that the objective allows.")
EXPECTED_STALL: Final = Family(
    "expected_stalled_partition_seconds_per_day",
    "Partitions times seconds in which nobody may consume them, as expected; what no setting changes left out.",
    ("values",),
)
EXPECTED_DETECTION: Final = Family(
    "expected_detection_seconds", "From a crash to the member's removal, on average, as expected.", ("values",)
)

RECORD_END: Final = Family(
    "record_end_timestamp_seconds", "When the time ends that was watched, in seconds since 1970."
)
RECORD_LENGTH: Final = Family(
    "record_seconds", "How long the group was watched since its newest pod started or its values changed."
)
RECORD_EVICTIONS: Final = Family("record_evictions", "Live members evicted in that time, at least.")
RECORD_POLL_GAP_EVICTIONS: Final = Family(
    "record_poll_gap_evictions", "Live members that left in that time since they did not poll, at least."
)
RECORD_REBALANCES: Final = Family(
    "record_rebalances", "Rejoins after the first minute of that time, on average over the members."
)
RECORD_REBALANCING: Final = Family("record_rebalancing_ratio", "Part of that time spent in rebalances, 0 to 1.")
RECORD_BEAT_PERIOD: Final = Family("record_beat_period_seconds", "Median time between a member's accepted heartbeats.")
RECORD_SILENCE: Final = Family(
    "record_longest_silence_seconds", "The longest time without a heartbeat that a member survived, at least."
)
RECORD_POLL_GAP: Final = Family("record_longest_poll_gap_seconds", "The longest time between two polls that was seen.")
UNOBSERVED_PODS: Final = Family("unobserved_pods", "Running pods without a fresh sample.")

MODEL_USED: Final = Family("model_used", "Whether a fitted model was decided with: 1 or 0.")
MODEL_END: Final = Family(
    "model_end_timestamp_seconds",
    "When the last day ends that the group's model rests on, in seconds since 1970, also where it may not be used.",
)
MODEL_FITTED: Final = Family("model_fitted_timestamp_seconds", "When the model was fitted, in seconds since 1970.")
DELAY: Final = Family(
    "delay_seconds",
    "What one of a million values exceeds, by the fitted model: as is likely, and at most, at 95 %.",
    ("quantity", "bound"),
)
DELAY_LARGEST: Final = Family("largest_delay_seconds", "The largest value that the model has seen.", ("quantity",))

APPLIED_AT: Final = Family(
    "last_applied_timestamp_seconds", "When values were written into the workload last, in seconds since 1970."
)
LANDED_AT: Final = Family(
    "last_landed_timestamp_seconds",
    "When all pods had stayed ready with these values, in seconds since 1970; no series while they have not.",
)
REVERTED_AT: Final = Family(
    "last_reverted_timestamp_seconds",
    "When the tuner took its last change back, in seconds since 1970; no series where it did not, or wrote since.",
)

GROUP_MEMBERS: Final = Family(
    "members",
    "Members in the last description of the group, by where they connect from: the workload's pods (inside), an "
    "address that a pod shares with its node (unclear), or elsewhere (outside).",
    ("group", "where"),
    GROUP_PREFIX,
)
GROUP_LOOK: Final = Family(
    "last_look_timestamp_seconds", "When the group was described last, in seconds since 1970.", ("group",), GROUP_PREFIX
)
GROUP_REBALANCES: Final = Family(
    "rebalances_total",
    "Rebalances of the group since this replica leads, at least: those that no description tells apart count as one.",
    ("group",),
    GROUP_PREFIX,
    counts=True,
)
GROUP_REBALANCE_TIME: Final = Family(
    "rebalance_seconds_total",
    "Time that the group spent in them, at least: from the first description that shows one to the last.",
    ("group",),
    GROUP_PREFIX,
    counts=True,
)
GROUP_EVICTIONS: Final = Family(
    "evictions_total",
    "Members of a living pod that left the group and came back since this replica leads: evictions for silence "
    "(certain), absences that something else may explain (doubtful), and new member ids between two descriptions "
    "(unseen).",
    ("group", "pod", "certainty"),
    GROUP_PREFIX,
    counts=True,
)

FAMILIES: Final = (
    INFO,
    DECISION,
    CONDITION,
    BLOCKED,
    SESSION_TIMEOUT,
    HEARTBEAT_INTERVAL,
    FETCH_WAIT,
    MAX_POLL_INTERVAL,
    EXPECTED_EVICTIONS,
    EXPECTED_EVICTIONS_UPPER,
    ALLOWED_EVICTIONS,
    EXPECTED_STALL,
    EXPECTED_DETECTION,
    RECORD_END,
    RECORD_LENGTH,
    RECORD_EVICTIONS,
    RECORD_POLL_GAP_EVICTIONS,
    RECORD_REBALANCES,
    RECORD_REBALANCING,
    RECORD_BEAT_PERIOD,
    RECORD_SILENCE,
    RECORD_POLL_GAP,
    UNOBSERVED_PODS,
    MODEL_USED,
    MODEL_END,
    MODEL_FITTED,
    DELAY,
    DELAY_LARGEST,
    APPLIED_AT,
    LANDED_AT,
    REVERTED_AT,
    GROUP_MEMBERS,
    GROUP_LOOK,
    GROUP_REBALANCES,
    GROUP_REBALANCE_TIME,
    GROUP_EVICTIONS,
)
"""In the order in which they are exposed."""
