"""Do handlers of a share group outlast the locks of their records? Pure.

A record is locked for the member that was handed it, for `share.record.lock.duration.ms` of the group. What is handled
for longer is delivered to another member, too. Nothing is written for that: how many records a poll takes is the
application's, and a longer lock has what a hanging handler holds wait for longer. Nor does it stand before a danger:
who is fenced loses all of its locks.
"""

import dataclasses
import shlex
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients import features
from heartbeat_tuner.clients.client import Client, Protocol
from heartbeat_tuner.clients.java_groups import RECORD_LOCK
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, Sentence, join, say
from heartbeat_tuner.domain.verdicts import LEAVES_THE_VALUES, Decision, Finding, Verdict
from heartbeat_tuner.limits.allowed_values import LONGEST, POLL_GAP_MARGIN

SHORTEST_LOCK: Final = timedelta(seconds=15)

LONGEST_LOCK: Final = timedelta(seconds=60)
"""`group.share.{min,max}.record.lock.duration.ms` of a broker that nobody configured."""

_LEAVING: Final = frozenset({*LEAVES_THE_VALUES, Verdict.UNKNOWN})
_CALM: Final = frozenset({Reason.CONSUMER_PROTOCOL, Reason.HEALTHY, Reason.LIKELY_WITHIN, Reason.TOO_EARLY})
"""Reasons of groups that are left alone, of which nothing else has to be said first."""


def with_locks(group: Group, record: Record, client: Client, decision: Decision) -> Decision:
    """Return a decision with what is to be said of record locks; as it is where none is known to be outlasted.

    Where other values are demanded, or nothing may be decided, that goes first.

    Args:
        group: as the coordinator describes it.
        record: what was seen of it: where clients show no polls, nothing is known.
        client: the card of its library.
        decision: by everything else that is known.
    """
    seen = _seen(group, record)
    if seen is None or record.longest_poll_gap is None:
        return decision
    cure = _cure(group, client, record.longest_poll_gap)
    if not _asks_for_nothing(decision):
        besides = say("Besides, {seen}", seen=seen)
        return dataclasses.replace(decision, advice=join(". ", (decision.advice, besides, cure)))
    finding = Finding(Reason.POLL_GAP_EXCEEDS_LOCK, join(". ", (seen, decision.finding.message)))
    return dataclasses.replace(decision, finding=finding, advice=join(". ", (cure, decision.advice)))


def longer_lock(gap: timedelta) -> timedelta:
    """Return the lock that covers a gap between two polls with the margin of a poll limit, in whole seconds."""
    return durations.ceil_to_second(POLL_GAP_MARGIN * min(gap, LONGEST))


def _asks_for_nothing(decision: Decision) -> bool:
    """Whether a decision leaves the values, and warns of nothing."""
    return decision.verdict in _LEAVING and decision.finding.reason in _CALM


def _seen(group: Group, record: Record) -> Sentence | None:
    """Say that polls were further apart than records are locked; None where that is not known."""
    gap, config = record.longest_poll_gap, group.config
    if group.kind != Protocol.SHARE or gap is None or config is None or config.record_lock is None:
        return None
    if gap <= config.record_lock:
        return None
    watched = timedelta(seconds=round(record.span.total_seconds()))
    return say(
        "a member of share group {group} took {longestPollGap:about} from one poll to the next within {watched}, but a "
        "record is locked for {recordLock} ({key} of the group) from when a poll hands it out: what is handled for "
        "longer is delivered to another member, too, and again, up to share.delivery.count.limit times",
        group=group.group_id,
        longestPollGap=Reading(gap),
        watched=Reading(watched),
        recordLock=config.record_lock,
        key=RECORD_LOCK,
    )


def _cure(group: Group, client: Client, gap: timedelta) -> Sentence:
    """Say what to do: the application's part first, since brokers bound the other."""
    lock = longer_lock(gap)
    return say(
        "Take fewer records with each poll (max.poll.records{strictly}), or lock them for longer: kafka-configs "
        "--alter --entity-type groups --entity-name {option} --add-config {key}={milliseconds}; {but}brokers accept "
        "{shortest} to {longest} by default (group.share.{{min,max}}.record.lock.duration.ms). If poll() itself waited "
        "so long, there was nothing to handle, and no record was late",
        strictly="" if features.is_librdkafka(client) else " with share.acquire.mode=record_limit",
        option=shlex.quote(group.group_id),
        key=RECORD_LOCK,
        milliseconds=Reading(durations.to_ms(lock)),
        but=Reading("but " if lock > LONGEST_LOCK else ""),
        shortest=SHORTEST_LOCK,
        longest=LONGEST_LOCK,
    )
