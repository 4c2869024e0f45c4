"""M of a group whose S and H are set at the broker. Pure.

How long a handler may take stays the client's own setting there (`max.poll.interval.ms`): it is written into the
workload, with a rollout, as any value of a classic group is. Design note 0031 says why it is a question of its own.
"""

import dataclasses
from collections.abc import Callable

from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.decision import cures
from heartbeat_tuner.decision.at_broker import group_bounds
from heartbeat_tuner.decision.optimize import remedy
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.kafka_groups import Cluster, Group
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import join, say
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.models.group_model import Fitted, Unfitted


def decided(
    group: Group,
    policy: Policy,
    client: Client,
    cluster: Cluster,
    model: Fitted | Unfitted,
    record: Record,
    current: LivenessSettings,
    shown: Finding,
) -> Decision | None:
    """Return the M that handlers need by a group's record; None where that shows none that outlast it.

    Args:
        group: as the coordinator describes it.
        policy: of the group.
        client: the card of its library.
        cluster: what its brokers accept.
        model: what it may ask for beyond the rule.
        record: what was seen of it.
        current: what is in force: session and heartbeat are the group's.
        shown: what the record shows.
    """
    if not group_bounds.poll_limit_is_clients(group) or shown.reason is not Reason.POLL_GAP_EXCEEDS_LIMIT:
        return None
    of_polls = dataclasses.replace(record, evictions=0)  # for its silences a group is cured at the broker
    brokers = cluster.for_groups(group.kind)
    chosen = remedy.choose(client, policy, brokers, model, of_polls, current, cause=shown.reason)
    against = cures.checked_against(cluster.brokers, policy.objective)
    return in_pods(group, cures.cured(chosen, current, shown, client, against))


def chosen(group: Group, cluster: Cluster, at_broker: Decision, of_client: Callable[[], Decision]) -> Decision:
    """Return what a model says of a calm group: of S and H at the broker first, since that takes no rollout, or of M.

    Where the operator may not write at the broker, M does not wait for what is only recommended there.

    Args:
        group: as the coordinator describes it.
        cluster: whether the operator may write there.
        at_broker: what is said of S and H.
        of_client: asked for what is said of M.
    """
    is_best = at_broker.target is None
    if not group_bounds.poll_limit_is_clients(group) or (cluster.alters_groups and not is_best):
        return at_broker
    decision = of_client()
    is_stuck = is_best and decision.verdict is Verdict.INFEASIBLE
    return in_pods(group, decision) if is_stuck or decision.target is not None else at_broker


def in_pods(group: Group, decision: Decision) -> Decision:
    """Return a decision about M, with where it is set; nothing of it is beyond the policy's bounds.

    Args:
        group: as it is described.
        decision: as on a group whose values are all the clients'.
    """
    forecast = decision.forecast
    if forecast is not None:
        decision = dataclasses.replace(decision, forecast=dataclasses.replace(forecast, uncapped=None))
    if decision.target is None:
        return decision
    where = say(
        "maxPollInterval is the clients' own, in the pods; session and heartbeat of group {group} stay as they are at "
        "the broker",
        group=group.group_id,
    )
    return dataclasses.replace(decision, advice=join(". ", (decision.advice, where)))
