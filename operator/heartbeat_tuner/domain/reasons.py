"""The one enum behind every condition's `reason`, each member with when it is given, and what a user does then.

Reasons are API: people alert on them. A member's value is what Kubernetes shows, its comment says when. The sentence
with the numbers of the day is made where the numbers are.
"""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final


class Reason(enum.StrEnum):
    """Why a condition is what it is."""

    # Ready
    WATCHING = "Watching"  # everything that the policy names exists
    WORKLOAD_NOT_FOUND = "WorkloadNotFound"  # the Deployment does not exist
    WORKLOAD_UNSUPPORTED = "WorkloadUnsupported"  # a Rollout that is not watched, or whose template stands elsewhere
    CONTAINER_NOT_FOUND = "ContainerNotFound"  # the Deployment has no container of that name
    GROUP_NOT_FOUND = "GroupNotFound"  # the Kafka cluster does not know the consumer group
    GROUP_UNREADABLE = "GroupUnreadable"  # Kafka refused to describe the group, or it is not of the policy's library
    GROUP_NOT_OWNED = "GroupNotOwned"  # nothing shows that the workload's pods are members of the consumer group
    CLUSTER_NOT_CONFIGURED = "ClusterNotConfigured"  # clusterRef names no cluster of the operator's configuration
    CLUSTER_UNREACHABLE = "ClusterUnreachable"  # the Kafka cluster did not answer
    CONFLICT = "Conflict"  # an older policy owns the same environment, or policies of one group want different values
    SETTING_UNREADABLE = "SettingUnreadable"  # a value is no whole number of milliseconds that client and broker accept
    INVALID_POLICY = "InvalidPolicy"  # the policy contradicts itself in a way the API server could not see
    INTERNAL_ERROR = "InternalError"  # the operator failed on this policy with an unexpected error; its log has more

    # MetricsAvailable
    METRICS_FRESH = "Fresh"  # the group's metrics exist and are recent
    PROMETHEUS_UNREACHABLE = "PrometheusUnreachable"  # no usable answer from Prometheus
    PARTIAL_DATA = "PartialData"  # Prometheus answered with warnings: part of the data is missing
    TOO_MANY_SERIES = "TooManySeries"  # the namespace has more series than Prometheus or the operator reads at once
    NOT_READ_YET = "NotReadYet"  # the cycle's share of requests was spent; the next begins here
    NO_SERIES = "NoSeries"  # the query found no series
    NOT_A_NUMBER = "NotANumber"  # the query found samples, but no sample is a number
    METRICS_STALE = "Stale"  # the newest raw sample is too old

    # Feasible, Recommended
    CADENCE_EXCEEDS_SESSION = "CadenceExceedsSession"  # the time between heartbeats is longer than the session timeout
    POLL_GAP_EXCEEDS_LIMIT = "PollGapExceedsLimit"  # handlers take longer than max.poll.interval.ms allows
    POLL_GAP_EXCEEDS_LOCK = "PollGapExceedsLock"  # a share group's handlers take longer than its records are locked
    UNSTABLE = "Unstable"  # the group spends more than 5 % of its time in rebalances
    DANGER = "Danger"  # live members are evicted more often than the objective allows
    CONSUMER_PROTOCOL = "ConsumerProtocol"  # the group's session and heartbeat are set at the broker
    FENCINGS_HIDDEN = "FencingsHidden"  # members may be fenced since our write at the broker, and nothing shows it
    CHEAPER = "Cheaper"  # other values are as safe and reduce the time without consumption
    REBALANCED_BY_OTHERS = "RebalancedByOthers"  # members of other workloads make the group rebalance too often
    NO_EFFECT = "NoEffect"  # the values are in the environment, and the application does not use them
    SETTINGS_NOT_IN_FORCE = "SettingsNotInForce"  # the members do not behave as members with these values do
    UNSOUND_SETTINGS = "UnsoundSettings"  # the group is quiet, but `check` reports an error in the values
    HEALTHY = "Healthy"  # no change is needed, and it is shown (95 %) that the objective is met
    OBJECTIVE_TOO_COSTLY = "ObjectiveTooCostly"  # values meet the objective, at more standstill than is paid for it
    INFEASIBLE = "Infeasible"  # no value satisfies the group's needs and the limits of policy or broker together
    FEASIBLE = "Feasible"  # values exist that satisfy everything

    # ObjectiveMet
    WITHIN_OBJECTIVE = "WithinObjective"  # evictions are within the objective, at 95 %, by a model or by the count
    LIKELY_WITHIN = "LikelyWithin"  # the evictions expected are within the objective; at most, they are above it
    TOO_EARLY = "TooEarly"  # no model says how many evictions to expect, and too few days were counted to tell
    ABOVE_OBJECTIVE = "AboveObjective"  # more evictions are expected than it allows, or were counted

    # ConsumerProtocolReady
    PROTOCOL_READY = "ProtocolReady"  # nothing hinders a rolling update to the consumer protocol (KIP-848)
    LIBRARY_LACKS_PROTOCOL = "LibraryLacksProtocol"  # the client library, or its version, has only classic groups
    BROKERS_LACK_PROTOCOL = "BrokersLackProtocol"  # the cluster's feature group.version is 0
    SETTINGS_REFUSED = "SettingsRefused"  # the client would refuse to start with what the pods' environment sets
    ASSIGNOR_LACKS_COUNTERPART = "AssignorLacksCounterpart"  # brokers have no counterpart of the group's assignor
    BROKERS_NOT_READ = "BrokersNotRead"  # no broker said in time which features the cluster has turned on
    CLIENT_VERSION_UNKNOWN = "ClientVersionUnknown"  # nothing else hinders, and the library's version is not known

    # Applied
    APPLIED = "Applied"  # ready pods run with the operator's values, and have been ready for a minute
    ROLLING_OUT = "RollingOut"  # the operator wrote values; not all pods run with them yet, or not for a minute
    ROLLOUT_FAILED = "RolloutFailed"  # the operator wrote values, and pods with them do not become or stay ready
    SCALED_TO_ZERO = "ScaledToZero"  # the operator wrote values, and no pod exists that could run with them
    NOTHING_TO_APPLY = "NothingToApply"  # there is no recommended change
    RECOMMEND_MODE = "RecommendMode"  # the policy asks for recommendations only
    AT_NEXT_RESTART = "AtNextRestart"  # mode Initial: new pods get the values, and no rollout starts
    SUSPENDED = "Suspended"  # the policy is suspended
    TOO_LITTLE_DATA = "TooLittleData"  # the group was not watched for long enough
    ROLLOUT_IN_PROGRESS = "RolloutInProgress"  # another rollout is not finished, or pods differ
    TAKEN_BACK = "TakenBack"  # somebody removed or replaced the operator's values; it does not write them again
    FAILED_BEFORE = "FailedBefore"  # the operator reverted these values before, and there is little new evidence
    ROLLOUT_PAUSED = "RolloutPaused"  # the workload is paused, or the StatefulSet has a partition
    FIELD_OWNED = "FieldOwned"  # another manager owns an environment entry
    SETTING_ASSUMED = "SettingAssumed"  # the current value cannot be read, only assumed
    REBALANCING = "Rebalancing"  # the group is rebalancing, and the change can wait
    NOT_WORTH_RESTART = "NotWorthRestart"  # the change saves less than its rollout costs
    COOLDOWN = "Cooldown"  # the last change is too recent
    OUTSIDE_WINDOW = "OutsideWindow"  # none of the policy's windows is open
    FLEET_BUDGET_SPENT = "FleetBudgetSpent"  # the operator already has as many rollouts in progress as it may have
    CANARY_RUNNING = "CanaryRunning"  # some pods have the new values and are watched; the template gets them later
    CANARY_ENDED = "CanaryEnded"  # a canary ended without a result; its pods go back, and another one begins later
    FLEET_STOPPED = "FleetStopped"  # too many groups were evicted after changes; a person has to resume
    GROUPS_NOT_ALTERED = "GroupsNotAltered"  # the operator may not write to the groups of this cluster
    GROUP_CONFIG_FOREIGN = "GroupConfigForeign"  # somebody else set the group's values at the broker since our write
    GROUP_CONFIG_REFUSED = "GroupConfigRefused"  # Kafka refused the new values of the group; nothing was written
    CHANGED_MEANWHILE = "ChangedMeanwhile"  # an object changed between read and write; the next cycle retries
    API_SERVER_ERROR = "ApiServerError"  # the API server did not answer, or refused the request

    # Verified
    VERIFYING = "Verifying"  # there is no result yet for the last change; savings wait for it
    VERIFIED = "Verified"  # evictions are rarer than before; after a trade, not more than was accepted
    WORSE = "Worse"  # evictions are more frequent than before, or than was accepted
    WORSE_THAN_PROMISED = "WorseThanPromised"  # evictions exceed the forecast, but are not shown to exceed those before
    INCONCLUSIVE = "Inconclusive"  # there is no result, and there will be none
    REVERTED = "Reverted"  # the change did harm or failed, and the operator wrote the earlier values again


WHAT_TO_DO: Final[Mapping[Reason, str]] = MappingProxyType(
    {
        Reason.WATCHING: "Nothing.",
        Reason.WORKLOAD_NOT_FOUND: "Correct `workloadRef`, or create the Deployment.",
        Reason.WORKLOAD_UNSUPPORTED: "Do what the message says ([Argo Rollouts](../how-to/argo-rollouts.md)).",
        Reason.CONTAINER_NOT_FOUND: "Correct `workloadRef.container`.",
        Reason.GROUP_NOT_FOUND: "Correct `groupId` or `clusterRef`, or start the consumers.",
        Reason.GROUP_UNREADABLE: "Grant the right ([how](../how-to/kafka-security.md)), or correct the library.",
        Reason.GROUP_NOT_OWNED: "Correct `groupId`, or [declare the owner](../how-to/whose-groups.md) of the group.",
        Reason.CLUSTER_NOT_CONFIGURED: "Correct `clusterRef`, or add the cluster to the operator's configuration.",
        Reason.CLUSTER_UNREACHABLE: "Check address, network and credentials; the operator retries in each cycle.",
        Reason.CONFLICT: "Delete one of the policies that the message names, or give all the same values.",
        Reason.SETTING_UNREADABLE: "Correct the variable that the message names.",
        Reason.INVALID_POLICY: "Correct the field that the message names.",
        Reason.INTERNAL_ERROR: "Read the operator's log, and report the error; other policies are not affected.",
        Reason.METRICS_FRESH: "Nothing.",
        Reason.PROMETHEUS_UNREACHABLE: "Check address and credentials of [Prometheus](../how-to/prometheus.md).",
        Reason.PARTIAL_DATA: "Repair the source in the warning; the operator does not decide on partial data.",
        Reason.TOO_MANY_SERIES: "Drop unused labels and metrics of the namespace, or raise the limit in the message.",
        Reason.NOT_READ_YET: "Wait. If it stays, raise `interval`, or add [shards](../explanation/replicas.md).",
        Reason.NO_SERIES: "Check `client.library`, then run [`doctor`](../how-to/doctor.md): it shows what is missing.",
        Reason.NOT_A_NUMBER: "Check the exporter. A new consumer has no number before its first poll.",
        Reason.METRICS_STALE: "Check that Prometheus scrapes the pods; a stopped consumer has no new samples.",
        Reason.CADENCE_EXCEEDS_SESSION: "Set the recommended values, or use mode `Apply`.",
        Reason.POLL_GAP_EXCEEDS_LIMIT: "Set the recommended values, or make handlers faster.",
        Reason.POLL_GAP_EXCEEDS_LOCK: "Take fewer records per poll, or [lock them longer](../how-to/broker-side.md).",
        Reason.UNSTABLE: "Set the recommended values. Look for rollouts, autoscaling and crashes, too.",
        Reason.DANGER: "Set the recommended values, or use mode `Apply`.",
        Reason.CONSUMER_PROTOCOL: "Read the message; [tune at the broker](../how-to/broker-side.md) says more.",
        Reason.FENCINGS_HIDDEN: "Scrape the consumers, and give them a [rebalance listener](../how-to/broker-side.md).",
        Reason.CHEAPER: "Set the recommended values, or use mode `Apply`.",
        Reason.REBALANCED_BY_OTHERS: "Tune the workload whose members the message names.",
        Reason.NO_EFFECT: "Make the application read the variables, or correct `client.env`.",
        Reason.SETTINGS_NOT_IN_FORCE: "Find out which values the application uses, and correct `client.env`.",
        Reason.UNSOUND_SETTINGS: "Set the recommended values; [`check`](../how-to/check.md) explains the error.",
        Reason.HEALTHY: "Nothing.",
        Reason.OBJECTIVE_TOO_COSTLY: "Accept it, or do one of the two things that the message names.",
        Reason.INFEASIBLE: "Change one of the two limits that the message names.",
        Reason.FEASIBLE: "Nothing.",
        Reason.WITHIN_OBJECTIVE: "Nothing.",
        Reason.LIKELY_WITHIN: "Nothing. More days of history make the bound narrower.",
        Reason.TOO_EARLY: "Nothing, or [fit the models](../how-to/fit.md) to weeks of history: that takes a day.",
        Reason.ABOVE_OBJECTIVE: "Accept it, or raise `objective.maxFalseEvictionsPerMonth` or `maxDetectionTime`.",
        Reason.PROTOCOL_READY: "Migrate in a rolling update, if you want to ([how](../how-to/check.md)).",
        Reason.LIBRARY_LACKS_PROTOCOL: "Nothing; or move to the library, or the version, in the message.",
        Reason.BROKERS_LACK_PROTOCOL: "Nothing; or update the brokers, then the feature in the message.",
        Reason.SETTINGS_REFUSED: "Remove the variables in the same rollout ([their writer](../how-to/remove.md)).",
        Reason.ASSIGNOR_LACKS_COUNTERPART: "Move the classic group to range, roundrobin, sticky or cooperative-sticky.",
        Reason.BROKERS_NOT_READ: "Wait; the operator asks again within five minutes.",
        Reason.CLIENT_VERSION_UNKNOWN: "Compare the version that runs with the one in the message.",
        Reason.APPLIED: "Nothing.",
        Reason.ROLLING_OUT: "Wait.",
        Reason.ROLLOUT_FAILED: "Read the pods' logs; the operator [reverts](../how-to/reverted.md) its values.",
        Reason.SCALED_TO_ZERO: "Nothing; the next pods get the values.",
        Reason.NOTHING_TO_APPLY: "Nothing.",
        Reason.RECOMMEND_MODE: "Set `mode: Apply` or `mode: Initial` to have the values written.",
        Reason.AT_NEXT_RESTART: "Nothing. To have the values sooner, restart the workload.",
        Reason.SUSPENDED: "Set `suspend: false` to continue.",
        Reason.TOO_LITTLE_DATA: "Wait until the group was watched for longer.",
        Reason.ROLLOUT_IN_PROGRESS: "Wait, or finish the rollout that the message names.",
        Reason.TAKEN_BACK: "Edit `objective`, `bounds`, `client` or `workloadRef` ([more](../how-to/gitops.md)).",
        Reason.FAILED_BEFORE: "[Read why](../how-to/reverted.md), and how to have the values tried again.",
        Reason.ROLLOUT_PAUSED: "Resume the rollout (`kubectl rollout resume`), or set the partition to 0.",
        Reason.FIELD_OWNED: "Remove the entries in the message from the manifest ([more](../how-to/gitops.md)).",
        Reason.SETTING_ASSUMED: "Give the current value in `client.current`, or the right variable in `client.env`.",
        Reason.REBALANCING: "Wait.",
        Reason.NOT_WORTH_RESTART: "Nothing. Mode `Initial` brings the values without a rollout.",
        Reason.COOLDOWN: "Wait; the message has until when.",
        Reason.OUTSIDE_WINDOW: "Wait for the next window that the message names, or edit `rollout.windows`.",
        Reason.FLEET_BUDGET_SPENT: "Wait, or raise `rollout.maxConcurrent` of the operator.",
        Reason.CANARY_RUNNING: "Wait ([more](../how-to/canary.md)).",
        Reason.CANARY_ENDED: "Wait for the next canary ([why one ends](../how-to/canary.md)).",
        Reason.FLEET_STOPPED: "Follow [the steps after a stop](../how-to/fleet-stop.md), then resume.",
        Reason.GROUPS_NOT_ALTERED: "Set `alterGroups` of the cluster ([how](../how-to/broker-side.md)).",
        Reason.GROUP_CONFIG_FOREIGN: "[Read how](../how-to/broker-side.md) to keep or undo their values.",
        Reason.GROUP_CONFIG_REFUSED: "Correct what the message names: a right, or a bound of brokers and controllers.",
        Reason.CHANGED_MEANWHILE: "Wait for the next cycle.",
        Reason.API_SERVER_ERROR: "Read the message: it has the right that is missing, or the webhook that refused.",
        Reason.VERIFYING: "Wait; the message has until when at most.",
        Reason.VERIFIED: "Nothing.",
        Reason.WORSE: "Nothing: the operator reverts it in mode `Apply` ([more](../how-to/reverted.md)).",
        Reason.WORSE_THAN_PROMISED: "[Fit the models](../how-to/fit.md) to newer history.",
        Reason.INCONCLUSIVE: "Nothing. A group with few evictions shows no difference.",
        Reason.REVERTED: "Read [what to do after a revert](../how-to/reverted.md).",
    }
)
"""What a user does about each, as the reference page of reasons prints it: Markdown, with links from that page."""
