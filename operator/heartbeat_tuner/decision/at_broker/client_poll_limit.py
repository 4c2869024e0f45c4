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
from heartbeat_tuner.domain import liveness
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.kafka_groups import Cluster, Group
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Sentence, join, say
from heartbeat_tuner.domain.verdicts import Decision, Finding
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
    of_polls = dataclasses.replace(record, evictions=0)  # `group_values` cures the group of its silences
    brokers = cluster.for_groups(group.kind)
    cure = remedy.choose(client, policy, brokers, model, of_polls, current, cause=shown.reason)
    against = cures.checked_against(cluster.brokers, policy.objective)
    return _in_pods(group, cures.cured(cure, current, shown, client, against))


def first(of_silences: Decision | None, of_polls: Decision | None, *, may_write: bool) -> Decision | None:
    """Return the cure that comes first, which names the other; None without a cure.

    The one at the broker comes first if it may be written.

    Args:
        of_silences: the cure at the broker.
        of_polls: the one in pods.
        may_write: whether the operator may write at the broker; if not, the cure in pods does not wait.
    """
    if of_silences is None or of_polls is None:
        return of_silences or of_polls
    is_cured = of_silences.target is not None and (may_write or of_polls.target is None)
    before, after = (of_silences, of_polls) if is_cured else (of_polls, of_silences)
    return _with_advice(before, say("Besides, {other}", other=after.story.message))


def chosen(
    group: Group,
    current: LivenessSettings,
    of_broker: Callable[[], Decision],
    of_client: Callable[[], Decision],
    of_both: Callable[[], Decision],
    *,
    may_write: bool,
) -> Decision:
    """Return what a model says of a calm group: of S and H first, which take no rollout, or else of M.

    Where the operator may not write at the broker, M does not wait for what is only recommended there: both are
    recommended. Where neither is better by itself, both together may be: then M comes first, and S and H are asked for
    again when it is in force.

    Args:
        group: as the coordinator describes it.
        current: what is set.
        of_broker: asked for what is said of S and H.
        of_client: of M.
        of_both: of all of them together.
        may_write: whether the operator may write at the broker.
    """
    at_broker = of_broker()
    if not group_bounds.poll_limit_is_clients(group) or (at_broker.target is not None and may_write):
        return at_broker
    in_pods = of_client()
    if in_pods.target is not None:
        in_pods = _in_pods(group, in_pods)
        other = say("Besides, at the broker: {of_group}", of_group=at_broker.advice)
        return in_pods if at_broker.target is None else _with_advice(in_pods, other)
    together = of_both() if at_broker.target is None else at_broker
    if together.target is None:
        return together  # with the limits that collide, whichever they are
    if not may_write:
        return at_broker  # half of it may do nothing
    if not is_of_pods(current, together):
        return together
    limit = together.target.max_poll_interval
    advice = say(
        "First maxPollInterval {before} → {after} is set in the pods; session and heartbeat follow at the broker. Of "
        "both together: {together}",
        before=current.max_poll_interval,
        after=limit,
        together=together.advice,
    )
    return dataclasses.replace(together, target=dataclasses.replace(current, max_poll_interval=limit), advice=advice)


def is_of_pods(current: LivenessSettings, decision: Decision) -> bool:
    """Whether a decision on a group of the consumer protocol changes what is its clients'."""
    return decision.target is not None and not set(liveness.changed(current, decision.target)) <= group_bounds.OF_GROUP


def _with_advice(decision: Decision, advice: Sentence) -> Decision:
    return dataclasses.replace(decision, advice=join(". ", (decision.advice, advice)))


def _in_pods(group: Group, decision: Decision) -> Decision:
    """Return a decision about M, with where it is set."""
    if decision.target is None:
        return decision
    where = say(
        "maxPollInterval is a setting of the clients: it is set in the pods, and group {group} keeps its session and "
        "heartbeat at the broker",
        group=group.group_id,
    )
    return _with_advice(decision, where)
