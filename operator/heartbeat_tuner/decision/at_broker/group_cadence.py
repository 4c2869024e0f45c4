"""Do the members of a group of the consumer protocol beat as the broker prescribes? Pure.

What a broker describes need not be in force: since Kafka 4.3 one that started again with narrower bounds clamps a
stored value and goes on describing it. So the measured cadence is compared with what is prescribed, as
`decision.evictions.contradictions` does with what pods are told.
"""

from datetime import timedelta

from heartbeat_tuner.clients.client import Circumstances, Client
from heartbeat_tuner.decision.evictions.contradictions import CALM_SHARE, ENOUGH_TIMED, LATER, ROUND_TRIP, SOONER
from heartbeat_tuner.domain.evidence import Record, Workload
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, say
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict


def contradicted(
    policy: Policy, workload: Workload, group: Group, brokers: int, record: Record, client: Client
) -> Decision | None:
    """Return that what the broker describes is not in force; None where the record does not show that.

    Args:
        policy: with our last write.
        workload: whose pods are the group's members.
        group: as it is described.
        brokers: how many there are.
        record: since the last change: a member hears of a new interval with the beat that was due.
        client: the card of the library.
    """
    measured, config = record.beat_period, group.config
    if measured is None or config is None or workload.current is None or not _is_telling(workload, record):
        return None
    usual = client.period(workload.current.settings, Circumstances(brokers))
    latest = client.period(workload.current.settings, Circumstances(brokers, ROUND_TRIP)).longest
    if SOONER * usual.shortest <= measured <= LATER * latest:
        return None
    write = policy.group_write
    is_ours = write is not None and write.answered and write.values == config.overrides
    finding = Finding(
        Reason.NO_EFFECT if is_ours else Reason.SETTINGS_NOT_IN_FORCE,
        say(
            "members of group {group} beat every {beatPeriod:about}, and the broker describes an interval of "
            "{interval}{written}: what it describes is not in force",
            group=group.group_id,
            beatPeriod=Reading(measured),
            interval=config.heartbeat_interval,
            written=say(", written at {at:%Y-%m-%dT%H:%M:%SZ}", at=write.at) if write is not None and is_ours else "",
        ),
    )
    advice = (
        "A broker that started with narrower bounds clamps a stored value, says so in its log alone, and goes on "
        "describing it: set values within the bounds of every broker and controller"
    )
    return Decision(Verdict.UNKNOWN, finding, advice=advice)


def _is_telling(workload: Workload, record: Record) -> bool:
    """Whether the beats of a record are those of calm members that were timed for long enough."""
    share = record.rebalancing_share
    if record.unobserved_pods or workload.rolling_out or record.beats_timed_for < ENOUGH_TIMED:
        return False
    return share is not None and share <= CALM_SHARE and record.span > timedelta(0)
