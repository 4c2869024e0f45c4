"""Which session should a group of the consumer protocol have at the broker?

A member of such a group keeps its id when the coordinator fences it. Applications on librdkafka may count that. The
calls of the Java consumer's listener (`metrics.lost_partitions`), and what the broker's descriptions show of any client
and of share groups (`metrics.group_events`), are lower bounds: enough to raise a session that is too short. Only
where the record proves that there was no other fencing (`metrics.fencing_proof`), a session may be called long enough,
or be shortened as a model says (`group_savings`).
"""

import dataclasses
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients.client import Client, Protocol
from heartbeat_tuner.decision.evictions import assessment
from heartbeat_tuner.decision.optimize import remedy
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.kafka_groups import Cluster, Group
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, Sentence, join, say
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.limits import allowed_values
from heartbeat_tuner.models.group_model import Fitted, Unfitted

_KIPS: Final = {"consumer": "KIP-848", "streams": "KIP-1071", "share": "KIP-932"}


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
    """Return what the record of a group of the consumer protocol demands; None where it demands nothing.

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
    per_month = policy.objective.max_false_evictions_per_month
    if group.config is None or not assessment.silences_are_dangerous(record, per_month):
        return None
    if shown.reason is Reason.POLL_GAP_EXCEEDS_LIMIT:  # another cause, which hides this one
        shown = assessment.evictions_exceed_objective(record, per_month) or shown
    if shown.reason not in {Reason.DANGER, Reason.UNSTABLE}:
        return Decision(Verdict.UNKNOWN, shown)
    record = dataclasses.replace(record, poll_gap_evictions=0)
    bounds, session = cluster.for_groups(group.kind), Setting.SESSION_TIMEOUT
    policy = dataclasses.replace(policy, bounds={session: policy.range_of(session)})  # nothing else is to change
    chosen = remedy.choose(client, policy, bounds, model, record, current, cause=Reason.DANGER)
    if isinstance(chosen, allowed_values.Infeasible):
        is_brokers = bounds.max_session_timeout <= policy.objective.max_detection_time
        advice = join(". ", (chosen.message, _properties(group.kind) if is_brokers else ""))
        return Decision(Verdict.INFEASIBLE, Finding(Reason.INFEASIBLE, shown.message), advice=advice)
    target = dataclasses.replace(current, session_timeout=chosen.settings.session_timeout)
    where = say(
        "It is {kind}.session.timeout.ms of group {group} at the broker, in force without a restart",
        kind=group.kind,
        group=group.group_id,
    )
    advice = join(". ", (chosen.message, where))
    return Decision(Verdict.CHANGE, shown, advice=advice, target=target, at_broker=True)


def may_be_calm(group: Group) -> bool:
    """Whether a group's values are the broker's, and known: then its record may prove that nobody was fenced."""
    return group.consumer_protocol and group.config is not None


def unshown(group: Group, client: Client) -> Finding | None:
    """Say that fencings in a group of such a kind are not read for a library; None where they are.

    Args:
        group: as the coordinator describes it.
        client: the card of the library.
    """
    is_of_streams = Protocol.STREAMS in client.protocols
    if group.kind == Protocol.STREAMS and not is_of_streams:
        why = "is read where spec.client.library is streams, and not {library}"
    elif group.kind == Protocol.SHARE and is_of_streams:
        why = "is read where spec.client.library names the library of its consumers, such as java, and not {library}"
    else:
        return None
    phrase = (
        "group {group} speaks the {kind} protocol ({kip}): its values are set at the broker ({kind}.session.timeout.ms "
        "and {kind}.heartbeat.interval.ms of the group) and {prescribed}. What shows fencings in such a group {why}: "
        "they are left alone"
    )
    return Finding(
        Reason.CONSUMER_PROTOCOL,
        say(
            phrase,
            group=group.group_id,
            kind=group.kind,
            kip=_KIPS[group.kind],
            prescribed=_prescribed(group),
            why=say(why, library=client.name),
        ),
    )


def unknown(group: Group, record: Record) -> Finding:
    """Say whose S and H are in a group of the consumer protocol, that its fencings are not known, and what follows."""
    return Finding(Reason.CONSUMER_PROTOCOL, say("{known}: they are left alone", known=known(group, record)))


def known(group: Group, record: Record) -> Sentence:
    """Say whose S and H are in a group of the consumer protocol, and what is known of its fencings."""
    return say(
        "group {group} speaks the {kind} protocol ({kip}): its values are set at the broker "
        "({kind}.session.timeout.ms and {kind}.heartbeat.interval.ms of the group) and {prescribed}. {fencings}",
        group=group.group_id,
        kind=group.kind,
        kip=_KIPS[group.kind],
        prescribed=_prescribed(group),
        fencings=_fencings(record),
    )


def _properties(kind: str) -> Sentence:
    return say(
        "What may be set is said by group.{kind}.{{min,max}}.session.timeout.ms and "
        "group.{kind}.{{min,max}}.heartbeat.interval.ms of the brokers and, with processes of their own, of the "
        "controllers, which a restart changes",
        kind=kind,
    )


def _prescribed(group: Group) -> Sentence | str:
    if group.config is None:
        return "could not be read"
    return say(
        "are a session of {session} and a heartbeat every {interval}",
        session=group.config.session_timeout,
        interval=group.config.heartbeat_interval,
    )


def _fencings(record: Record) -> Sentence:
    if not record.evictions and record.hidden is None:
        watched = timedelta(seconds=round(record.span.total_seconds()))
        return say("No member was fenced within {watched}", watched=Reading(watched))
    if not record.evictions:
        phrase = "Whether members were fenced is not known, since nothing showed any and {why}"
        return say(phrase, why=record.hidden.message if record.hidden is not None else "")
    return say(
        "Members were seen to be fenced {evictions} times, and {enough} within an hour are acted on",
        evictions=Reading(record.evictions),
        enough=assessment.ENOUGH_EVICTIONS,
    )
