"""The one enum behind every condition's `reason`, each member with its place in the story.

Reasons are API: people alert on them. A member's value is what Kubernetes shows, its comment says when. The sentence
with the numbers of the day is made where the numbers are.
"""

import enum


class Reason(enum.StrEnum):
    """Why a condition is what it is."""

    # Ready
    WATCHING = "Watching"  # everything the policy names exists
    WORKLOAD_NOT_FOUND = "WorkloadNotFound"  # the Deployment does not exist
    CONTAINER_NOT_FOUND = "ContainerNotFound"  # the Deployment has no container of that name
    GROUP_NOT_FOUND = "GroupNotFound"  # the Kafka cluster does not know the consumer group
    GROUP_UNREADABLE = "GroupUnreadable"  # the Kafka cluster would not describe the consumer group
    GROUP_NOT_OWNED = "GroupNotOwned"  # nothing shows that the workload's pods are members of the consumer group
    CLUSTER_NOT_CONFIGURED = "ClusterNotConfigured"  # clusterRef names no cluster of the operator's configuration
    CLUSTER_UNREACHABLE = "ClusterUnreachable"  # the Kafka cluster did not answer
    CONFLICT = "Conflict"  # an older policy owns the same environment, or policies of one group want different values
    SETTING_UNREADABLE = "SettingUnreadable"  # a value is no whole number of milliseconds that client and broker accept
    INVALID_POLICY = "InvalidPolicy"  # the policy contradicts itself in a way the API server could not see
    INTERNAL_ERROR = "InternalError"  # the operator failed on this policy in a way nobody foresaw; its log says more

    # MetricsAvailable
    METRICS_FRESH = "Fresh"  # the group's metrics are there and recent
    PROMETHEUS_UNREACHABLE = "PrometheusUnreachable"  # no usable answer from Prometheus
    PARTIAL_DATA = "PartialData"  # Prometheus answered with warnings: part of the data is missing
    TOO_MANY_SERIES = "TooManySeries"  # the namespace has more series than Prometheus or the operator reads at once
    NOT_READ_YET = "NotReadYet"  # the cycle's share of requests was spent; the next begins here
    NO_SERIES = "NoSeries"  # the query found no series
    NOT_A_NUMBER = "NotANumber"  # the query found samples, none of which is a number
    METRICS_STALE = "Stale"  # the newest raw sample is too old

    # Feasible, Recommended
    CADENCE_EXCEEDS_SESSION = "CadenceExceedsSession"  # heartbeats come more rarely than the session lasts
    POLL_GAP_EXCEEDS_LIMIT = "PollGapExceedsLimit"  # handlers take longer than max.poll.interval.ms lets them
    UNSTABLE = "Unstable"  # the group spends more than 5 % of its time in rebalances
    DANGER = "Danger"  # live members are evicted more often than the objective allows
    CONSUMER_PROTOCOL = "ConsumerProtocol"  # a KIP-848 group: its session and heartbeat are set at the broker
    CHEAPER = "Cheaper"  # other values are as safe and make the group stand still less
    REBALANCED_BY_OTHERS = "RebalancedByOthers"  # the group rebalances too often, by members of other workloads
    NO_EFFECT = "NoEffect"  # the values were written, and the application does not use them
    SETTINGS_NOT_IN_FORCE = "SettingsNotInForce"  # the members behave as no application with these values does
    UNSOUND_SETTINGS = "UnsoundSettings"  # the record is quiet, but `check` calls the values an error
    HEALTHY = "Healthy"  # nothing in the record asks for a change
    INFEASIBLE = "Infeasible"  # what the group needs and what the policy or the broker allows collide
    FEASIBLE = "Feasible"  # values exist that satisfy everything

    # ObjectiveMet
    WITHIN_OBJECTIVE = "WithinObjective"  # the evictions expected are within the objective, at 95 %
    ABOVE_OBJECTIVE = "AboveObjective"  # they may exceed it, and no change is made that would cost the group more

    # Applied
    APPLIED = "Applied"  # ready pods run with the values the tuner wrote, and have stayed ready for a minute
    ROLLING_OUT = "RollingOut"  # the tuner wrote values; not all pods run with them yet, or not for a minute
    ROLLOUT_FAILED = "RolloutFailed"  # values were written, and pods with them do not become ready, or stay so
    SCALED_TO_ZERO = "ScaledToZero"  # the tuner wrote values, and there is no pod that could run with them
    NOTHING_TO_APPLY = "NothingToApply"  # there is no recommendation
    RECOMMEND_MODE = "RecommendMode"  # the policy asks for recommendations only
    AT_NEXT_RESTART = "AtNextRestart"  # the policy asks for values in each pod that is created, and for no rollout
    SUSPENDED = "Suspended"  # the policy is suspended
    TOO_LITTLE_DATA = "TooLittleData"  # the group was not watched for long enough
    ROLLOUT_IN_PROGRESS = "RolloutInProgress"  # somebody else's rollout is not finished, or pods differ
    TAKEN_BACK = "TakenBack"  # somebody took the tuner's values out, or replaced them; nothing is written again
    FAILED_BEFORE = "FailedBefore"  # the tuner took these values back before, and what is known has hardly changed
    ROLLOUT_PAUSED = "RolloutPaused"  # the Deployment is paused: what is written reaches no pod
    FIELD_OWNED = "FieldOwned"  # another manager owns an environment entry
    SETTING_ASSUMED = "SettingAssumed"  # what is set now cannot be seen, only assumed
    REBALANCING = "Rebalancing"  # partitions are being moved, and the change can wait
    NOT_WORTH_RESTART = "NotWorthRestart"  # the change does not earn back a rollout of its own
    COOLDOWN = "Cooldown"  # the last change is too recent
    OUTSIDE_WINDOW = "OutsideWindow"  # none of the policy's windows is open
    FLEET_BUDGET_SPENT = "FleetBudgetSpent"  # as many rollouts of ours are under way as the operator may have at once
    CANARY_RUNNING = "CanaryRunning"  # some pods have the values first, and are watched; the template has them later
    CANARY_ENDED = "CanaryEnded"  # a canary found nothing out; its pods go back, and another one begins later
    FLEET_STOPPED = "FleetStopped"  # too many groups were evicted after changes; none begins until a person resumes
    GROUPS_NOT_ALTERED = "GroupsNotAltered"  # the operator's configuration lets no group of the cluster be written
    GROUP_CONFIG_FOREIGN = "GroupConfigForeign"  # somebody else set the group's values at the broker since our write
    GROUP_CONFIG_REFUSED = "GroupConfigRefused"  # Kafka did not take the group's new values; nothing was written
    CHANGED_MEANWHILE = "ChangedMeanwhile"  # what was read changed before the write; the next cycle looks again
    API_SERVER_ERROR = "ApiServerError"  # the API server did not answer or refused

    # Verified
    VERIFYING = "Verifying"  # nothing has shown yet whether the last change helped; a saving waits for that
    VERIFIED = "Verified"  # evictions are rarer than before it; after a trade, no more than was accepted
    WORSE = "Worse"  # evictions are more frequent than before it, or than was accepted
    WORSE_THAN_PROMISED = "WorseThanPromised"  # they are more frequent than the model said, not shown worse than before
    INCONCLUSIVE = "Inconclusive"  # nothing has shown, and nothing will
    REVERTED = "Reverted"  # the change did harm or failed, and the values before it were written again
