"""What does the record show?

The checks run from the most to the least specific, and the first that holds names the cause: a cadence that cannot
hold its session, handlers that take longer than the poll limit, members of other workloads, a group outside the
formulas, evictions above the objective. None may rest on a single bad moment: an eviction counts from
`ENOUGH_EVICTIONS` on, a share of time from `ENOUGH_REBALANCES` on.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients import features
from heartbeat_tuner.clients.client import Circumstances, Client
from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.decision.evictions import outsiders
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, Sentence, say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.limits import poll_batches
from heartbeat_tuner.metrics.record import SETTLING

ENOUGH_EVICTIONS: Final = 3
"""Fewer evictions than this are no evidence of danger (design, section 7.5)."""

UNSTABLE_SHARE: Final = 0.05
"""A group that rebalances for more of its time than this is outside the cost formulas (deciding, section 2)."""

ENOUGH_REBALANCES: Final = 3
"""One or two rebalances may have been planned; fewer than this per member are no instability."""

MOST_PODS: Final = 5
"""A sentence names so many of the pods that were evicted, and counts the rest."""

_AS_DESCRIBED: Final = "no client metrics; evictions as the broker shows them"

ENOUGH_TIME: Final = timedelta(seconds=60)
"""A shorter record shows neither that a group is healthy nor how often it evicts."""


def assess(inputs: DecisionInput, record: Record, current: LivenessSettings) -> Finding:
    """Return the first finding that the record supports."""
    per_month, workload, period = inputs.per_month, inputs.policy.workload, inputs.period(current).usual
    return (
        _cadence_exceeds_session(inputs, record, current)
        or _poll_gaps_exceed_limit(inputs.client, record, current, per_month)
        or _others_rebalance_it(inputs, record, period)
        or _group_is_unstable(record)
        or evictions_exceed_objective(record, per_month)
        or _rebalances_too_often(record, period)
        or _record_is_too_short(record, workload)
        or _healthy(record)
    )


def _cadence_exceeds_session(inputs: DecisionInput, record: Record, current: LivenessSettings) -> Finding | None:
    """Find heartbeats that come more rarely than the session lasts, confirmed by evictions."""
    beats = inputs.period(current)
    if beats.longest < current.session_timeout or record.evictions < ENOUGH_EVICTIONS:
        return None
    always = beats.shortest >= current.session_timeout
    who = "every member is removed between its own beats" if always else "members whose beat comes late are removed"
    never = " and none was accepted" if record.accepted_beats == 0 else ""
    return Finding(
        Reason.CADENCE_EXCEEDS_SESSION,
        say(
            "{beat}, but the session ends after {session}, so {who} and the group rebalances endlessly: "
            "{evictions}{never}",
            beat=inputs.client.explain_period(current, Circumstances(inputs.cluster.brokers)),
            session=current.session_timeout,
            who=who,
            evictions=_evictions(record),
            never=never,
        ),
    )


def poll_gaps_are_dangerous(record: Record, per_month: float) -> bool:
    """Whether members leave for not polling more often than the objective allows in a month."""
    return _too_often(record, record.poll_gap_evictions, per_month)


def silences_are_dangerous(record: Record, per_month: float) -> bool:
    """Whether members are removed for their silence more often than the objective allows in a month."""
    return _too_often(record, record.evictions, per_month)


def _too_often(record: Record, count: int, per_month: float) -> bool:
    return count >= ENOUGH_EVICTIONS and record.span >= ENOUGH_TIME and record.per_month(count) > per_month


def _poll_gaps_exceed_limit(
    client: Client, record: Record, current: LivenessSettings, per_month: float
) -> Finding | None:
    """Find handlers that take longer than M: their members beat all the while, and leave all the same."""
    if current.max_poll_interval is None or not poll_gaps_are_dangerous(record, per_month):
        return None
    gap = record.longest_poll_gap
    return Finding(
        Reason.POLL_GAP_EXCEEDS_LIMIT,
        say(
            "live members left the group {left} times {within}{pods} because they did not poll for {limit} "
            "(maxPollInterval), though they went on beating{longest}: the handler of one poll takes longer than that, "
            "and no session timeout can help{fewer}",
            left=Reading(record.poll_gap_evictions),
            within=_within(record),
            pods=_pods(record.poll_gap_pods),
            limit=current.max_poll_interval,
            longest="" if gap is None else say("; the longest was {longestPollGap:about}", longestPollGap=Reading(gap)),
            fewer="" if gap is None else _fewer_messages(client, gap, current.max_poll_interval),
        ),
    )


def _fewer_messages(client: Client, gap: timedelta, limit: timedelta) -> str:
    """Return the way out that costs no detection time, as the end of a sentence; empty where the library has none.

    Args:
        client: the library; how many messages its polls hand out is not measured, so its default stands for that.
        gap: the longest that was measured between two polls: handling the messages of one poll.
        limit: M.
    """
    setting = features.poll_records(client)
    fewer = None if setting is None else poll_batches.most_records(int(setting.default), gap, limit)
    if setting is None or fewer is None:
        return ""
    return say(
        "; a longer limit has a hung handler noticed later, fewer messages with each poll do not: {fewer} instead of "
        "{records}, the default of {setting}, would need {takes:about}",
        fewer=Reading(fewer),
        records=setting.default,
        setting=setting.name,
        takes=Reading(poll_batches.handling(fewer, int(setting.default), gap)),
    )


def rebalances_too_often(record: Record, period: timedelta) -> bool:
    """Whether the group rebalances more often than it can without losing much of its time, whatever the cause.

    A rebalance begins when the members hear of it, with a heartbeat each: it takes about a period, however short the
    joins are that members count.

    Args:
        record: of the group.
        period: between two heartbeats.
    """
    counted = max(record.span - SETTLING, timedelta(0))
    return record.rebalances >= ENOUGH_REBALANCES and record.rebalances * period > UNSTABLE_SHARE * counted


def may_be_cured(finding: Finding, record: Record) -> bool:
    """Whether other values can cure what was found; not where the members are not removed and join in short time."""
    if finding.reason is Reason.UNSTABLE:
        return record.evictions >= ENOUGH_EVICTIONS or _spends_its_time(record)
    return finding.reason is not Reason.REBALANCED_BY_OTHERS


def _others_rebalance_it(inputs: DecisionInput, record: Record, period: timedelta) -> Finding | None:
    """Find a group that members of other workloads rebalance: no setting of these pods cures that."""
    if record.evictions + record.poll_gap_evictions >= ENOUGH_EVICTIONS:
        return None
    often = rebalances_too_often(record, period)
    known = (*inputs.workload.pods, *inputs.peers)
    others = inputs.strangers or outsiders.outsiders(inputs.group.members, known)
    if not others or not (often or _spends_its_time(record)):
        return None
    workload = workload_parts.named(inputs.policy)
    return Finding(
        Reason.REBALANCED_BY_OTHERS,
        say(
            "{rebalances}, and only {evictions}: group {group} has members that are not of {workload} ({others}), and "
            "no setting of {workload} changes how often they join and leave",
            rebalances=_rebalanced(record),
            evictions=_evictions(record),
            group=inputs.policy.group_id,
            workload=workload,
            others=outsiders.described(others),
        ),
    )


def _rebalances_too_often(record: Record, period: timedelta) -> Finding | None:
    """Find a group that rebalances all the time, though its members are not removed and count short joins."""
    if not rebalances_too_often(record, period):
        return None
    often = say("{rebalances}, with {evictions}", rebalances=_rebalanced(record), evictions=_evictions(record))
    return Finding(Reason.UNSTABLE, often)


def _rebalanced(record: Record) -> Sentence:
    return say(
        "the members took part in {rebalances:.3g} rebalances each {within}",
        rebalances=Reading(record.rebalances),
        within=_within(record),
    )


def _spends_its_time(record: Record) -> bool:
    share = record.rebalancing_share
    return share is not None and share > UNSTABLE_SHARE and record.rebalances >= ENOUGH_REBALANCES


def _group_is_unstable(record: Record) -> Finding | None:
    """Find a group that spends too much of its time in rebalances."""
    if not _spends_its_time(record):
        return None
    return Finding(
        Reason.UNSTABLE,
        say(
            "the group spent {share:.0%} of its time rebalancing (more than {limit:.0%}), with {evictions}",
            share=Reading(record.rebalancing_share),
            limit=UNSTABLE_SHARE,
            evictions=_evictions(record),
        ),
    )


def evictions_exceed_objective(record: Record, per_month: float) -> Finding | None:
    """Find live members being evicted for silence more often than the objective allows in a month."""
    if not silences_are_dangerous(record, per_month):
        return None
    return Finding(
        Reason.DANGER,
        say(
            "{evictions}, where the objective allows {objective:g} a month",
            evictions=_evictions(record),
            objective=per_month,
        ),
    )


def lacks_beats_alone(record: Record) -> bool:
    """Whether nothing but accepted heartbeats is missing for a record to show whether its group is healthy."""
    return record.accepted_beats == 0 and not record.unobserved_pods and record.span >= ENOUGH_TIME


def _record_is_too_short(record: Record, workload: WorkloadRef) -> Finding | None:
    """Find a record that cannot show that the group is healthy."""
    if record.unobserved_pods:
        return Finding(
            Reason.TOO_LITTLE_DATA,
            say("no fresh metrics of pod {pod}, so nothing is known of it", pod=record.unobserved_pods[0]),
        )
    if record.span < ENOUGH_TIME:
        return Finding(
            Reason.TOO_LITTLE_DATA,
            say("the pods of {workload} run for less than {least} so far", workload=workload, least=ENOUGH_TIME),
        )
    if record.accepted_beats == 0:
        too_little = "{source}no heartbeat is known to be accepted, and too few evictions were seen"
        source = f"{_AS_DESCRIBED}: " if record.as_described else ""
        return Finding(Reason.TOO_LITTLE_DATA, say(too_little, source=source))
    return None


def _healthy(record: Record) -> Finding:
    left, beat = record.poll_gap_evictions, record.beat_period
    return Finding(
        Reason.HEALTHY,
        say(
            "the record asks for no change: {evictions}{left}{beat}",
            evictions="no eviction" if record.evictions == 0 else _evictions(record),
            left=say(", {left} left for not polling", left=Reading(left)) if left else "",
            beat="" if beat is None else say(", a heartbeat every {beatPeriod:about}", beatPeriod=Reading(beat)),
        ),
    )


def _evictions(record: Record) -> Sentence:
    return say(
        "{evictions} {noun} of live members {within}{pods}{source}",
        evictions=Reading(record.evictions),
        noun="eviction" if record.evictions == 1 else "evictions",
        within=_within(record),
        pods=_pods(record.evicted_pods),
        source=f" ({_AS_DESCRIBED})" if record.as_described else "",
    )


def _pods(names: Sequence[str]) -> Sentence | str:
    """Return which pods it happened to: the first few by name, and how many more; nothing where nobody knows."""
    if not names:
        return ""
    more = say(" and {more} more", more=Reading(len(names) - MOST_PODS)) if len(names) > MOST_PODS else ""
    noun = "pod" if len(names) == 1 else "pods"
    return say(" ({noun} {pods}{more})", noun=noun, pods=", ".join(names[:MOST_PODS]), more=more)


def _within(record: Record) -> Sentence:
    return say("within {watched}", watched=Reading(timedelta(seconds=round(record.span.total_seconds()))))
