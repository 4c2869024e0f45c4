"""What can be measured, whatever an exporter calls it.

A `Quantity` has one meaning, one kind and one unit: times are seconds. What kind it is decides what may be done with
it: a windowed maximum is a maximum of its window and nothing else, an age is no gap until it falls, a counter is read
from raw samples, since a process that starts again begins at zero.
"""

import enum


class ValueKind(enum.Enum):
    """What a value is."""

    COUNTER = "grows since the process, or the client object in it, started"
    WINDOWED_MAX = "the largest of the last window, which overlaps the next sample's"
    WINDOWED_MEAN = "the mean of the last window"
    AGE = "time since something happened last; negative if it never did"
    GAUGE = "how much there is now"
    INSTANT = "when something happened, in Unix seconds"


class Scope(enum.Enum):
    """Whose it is."""

    MEMBER = "a consumer"
    PROCESS = "a pod, and everything in it"


def _camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(part.capitalize() for part in rest)


class Quantity(enum.Enum):
    """Something that can be measured, by the name that a policy's `metrics.names` uses."""

    def __init__(self, title: str, kind: ValueKind, scope: Scope) -> None:
        self.title = title
        self.kind = kind
        self.scope = scope
        self.camel = _camel(self.name)

    __hash__ = object.__hash__  # a member is itself and no other; of its name it is ten times slower

    HEARTBEATS = ("heartbeats that were answered", ValueKind.COUNTER, Scope.MEMBER)
    HEARTBEAT_REQUESTS = ("heartbeats that were answered, refused ones too", ValueKind.COUNTER, Scope.MEMBER)
    HEARTBEAT_RESPONSE_TIME_MAX = ("the slowest answer to a heartbeat", ValueKind.WINDOWED_MAX, Scope.MEMBER)
    HEARTBEAT_AGE = ("time since the last heartbeat was sent", ValueKind.AGE, Scope.MEMBER)
    REBALANCES = ("completed joins", ValueKind.COUNTER, Scope.MEMBER)
    REBALANCE_TIME = ("time spent in completed joins", ValueKind.COUNTER, Scope.MEMBER)
    REBALANCE_LATENCY_MAX = ("the longest completed join", ValueKind.WINDOWED_MAX, Scope.MEMBER)
    REBALANCE_AGE = ("time since the last completed join", ValueKind.AGE, Scope.MEMBER)
    REBALANCE_NOTICES = ("requests that were answered with `rebalance in progress`", ValueKind.COUNTER, Scope.MEMBER)
    FAILED_REBALANCES = ("joins that failed; to be given a member id first is one", ValueKind.COUNTER, Scope.MEMBER)
    JOIN_ANSWERS = ("JoinGroup requests that were answered with success", ValueKind.COUNTER, Scope.MEMBER)
    LOST_FOR_SILENCE = ("assignments that were lost for silence", ValueKind.COUNTER, Scope.MEMBER)
    LOST_FOR_POLLS = ("assignments that were lost because no poll came in time", ValueKind.COUNTER, Scope.MEMBER)
    JOIN_TIME_MAX = ("the slowest answer to a JoinGroup request", ValueKind.WINDOWED_MAX, Scope.MEMBER)
    SYNC_TIME_MAX = ("the slowest answer to a SyncGroup request", ValueKind.WINDOWED_MAX, Scope.MEMBER)
    PARTITIONS_LOST_LATENCY_MAX = (
        "the longest callback of a member that was removed",
        ValueKind.WINDOWED_MAX,
        Scope.MEMBER,
    )
    TASKS_ASSIGNED_LATENCY_MAX = (
        "the longest time in which a stream thread took over its tasks",
        ValueKind.WINDOWED_MAX,
        Scope.MEMBER,
    )
    TASKS_LOST_LATENCY_MAX = (
        "the longest time in which a removed stream thread gave up its tasks",
        ValueKind.WINDOWED_MAX,
        Scope.MEMBER,
    )
    PARTITIONS_ASSIGNED_LATENCY_MAX = (
        "the longest callback of a member that was given partitions",
        ValueKind.WINDOWED_MAX,
        Scope.MEMBER,
    )
    ASSIGNMENT_CHANGES = ("assignments and revocations; a rebalance may be two", ValueKind.COUNTER, Scope.MEMBER)
    ASSIGNED_PARTITIONS = ("partitions that a member has", ValueKind.GAUGE, Scope.MEMBER)
    POLL_GAP_MAX = ("the longest time between two polls", ValueKind.WINDOWED_MAX, Scope.MEMBER)
    POLL_GAP_MEAN = ("the mean time between two polls", ValueKind.WINDOWED_MEAN, Scope.MEMBER)
    POLL_AGE = ("time since the last poll", ValueKind.AGE, Scope.MEMBER)
    COMMIT_LATENCY_MAX = ("the slowest answer to an offset commit", ValueKind.WINDOWED_MAX, Scope.MEMBER)
    COORDINATOR_ROUND_TRIP_MAX = (
        "the slowest answer of the coordinator to any request",
        ValueKind.WINDOWED_MAX,
        Scope.MEMBER,
    )

    GC_PAUSE_MAX = ("the longest pause of garbage collection", ValueKind.WINDOWED_MAX, Scope.PROCESS)
    GC_TIME = ("time spent in garbage collection, paused or not", ValueKind.COUNTER, Scope.PROCESS)
    GC_COUNT = ("garbage collections", ValueKind.COUNTER, Scope.PROCESS)
    GC_BUCKETS = ("garbage collections, by the edge of the bucket they fall under", ValueKind.COUNTER, Scope.PROCESS)
    EVENT_LOOP_LAG_MAX = (
        "the longest delay of the event loop since the last scrape",
        ValueKind.WINDOWED_MAX,
        Scope.PROCESS,
    )
    CPU_PERIODS = ("scheduling periods of the CPU quota", ValueKind.COUNTER, Scope.PROCESS)
    CPU_THROTTLED_PERIODS = ("those in which the process was throttled", ValueKind.COUNTER, Scope.PROCESS)
    CPU_THROTTLED_TIME = ("time for which the process was throttled", ValueKind.COUNTER, Scope.PROCESS)
    CPU_STALLED_TIME = ("time for which all of the process waited for a CPU", ValueKind.COUNTER, Scope.PROCESS)
    EVICTIONS_SEEN = ("evictions for silence that the broker's descriptions show", ValueKind.COUNTER, Scope.PROCESS)
    DOUBTFUL_EVICTIONS = (
        "members of living pods that came back, and may not have been evicted",
        ValueKind.COUNTER,
        Scope.PROCESS,
    )
    UNSEEN_REJOINS = (
        "new member ids of living pods between two of the broker's descriptions",
        ValueKind.COUNTER,
        Scope.PROCESS,
    )
    SCRAPED = ("whether a scrape succeeded", ValueKind.GAUGE, Scope.PROCESS)
    SCRAPE_TIME = ("how long a scrape took", ValueKind.GAUGE, Scope.PROCESS)
    POD_STARTED = ("when a pod was started", ValueKind.INSTANT, Scope.PROCESS)
    POD_READY = ("when a pod became ready", ValueKind.INSTANT, Scope.PROCESS)
    POD_DELETED = ("when a pod was deleted", ValueKind.INSTANT, Scope.PROCESS)
    CONTAINER_STARTED = ("when a container was started", ValueKind.INSTANT, Scope.PROCESS)
    CONTAINER_ENDED = ("when a container ended last", ValueKind.INSTANT, Scope.PROCESS)
    CONTAINER_RESTARTS = ("restarts of a container in place", ValueKind.COUNTER, Scope.PROCESS)
