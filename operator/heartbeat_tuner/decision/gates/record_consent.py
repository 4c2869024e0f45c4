"""Does the group's own record allow what a model asks for: a shorter session, or a shorter poll limit?

A model is an object that somebody wrote. It may ask for more time by itself; for less, the record of the last hour has
to agree. It must be there, of now, show beats, and show nothing that the new values would have cut off. What was not
measured agrees to nothing.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.clients.client import Client, Period
from heartbeat_tuner.decision.optimize import guard
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.limits import allowed_values

FRESH: Final = timedelta(minutes=5)
"""An older record says nothing of now."""

LEAST_RECORD: Final = timedelta(minutes=30)
"""With a shorter record a shorter session, or poll limit, is recommended and not written."""


def refusal(
    record: Record,
    change: tuple[LivenessSettings, LivenessSettings],
    client: Client,
    period: Callable[[LivenessSettings], Period],
    *,
    now: datetime,
) -> str:
    """Return why a record does not agree to shorter limits, as a sentence; empty if it does, or if none gets shorter.

    Args:
        record: the group's own.
        change: what is set, and what a model asks for.
        client: the group's library.
        period: between two heartbeats, by the settings.
        now: the time.
    """
    before, after = change
    if not guard.tightens(before, after):
        return ""
    if now - record.until > FRESH:
        return say(
            "the record ends at {until:%Y-%m-%dT%H:%M:%SZ}, more than {limit} ago",
            until=Reading(record.until),
            limit=FRESH,
        )
    refused = ""
    if after.session_timeout < before.session_timeout:
        refused = _session_refused(record, after, period(before), period(after))
    if not refused and guard.lowers_poll_limit(before, after):
        refused = _limit_refused(record, after, client)
    return refused


def hold(record: Record | Unknown, before: LivenessSettings, after: LivenessSettings) -> Finding | None:
    """Hold a tightening back while the record is minutes long, or shows that live members are evicted now and then.

    It is recommended all the same: one eviction in an hour is none in the next, and advice must not follow it.
    """
    if isinstance(record, Unknown) or not guard.tightens(before, after):
        return None
    evicted = record.evictions + record.poll_gap_evictions
    if evicted:
        return Finding(
            Reason.TOO_LITTLE_DATA,
            say(
                "live members were removed in the last hour ({evictions}), with the longer session or poll limit that "
                "is set: shorter ones wait until an hour shows none",
                evictions=Reading(evicted),
            ),
        )
    if record.span >= LEAST_RECORD:
        return None
    return Finding(
        Reason.TOO_LITTLE_DATA,
        say(
            "the group's own record is {watched:about} long; a shorter session or poll limit is written from {least} "
            "on: until then it is recommended",
            watched=Reading(record.span),
            least=LEAST_RECORD,
        ),
    )


def _session_refused(record: Record, after: LivenessSettings, beats: Period, beats_after: Period) -> str:
    if record.beat_period is None or record.longest_silence is None:
        return "no time between two heartbeats was measured, and a shorter session rests on them"
    absence = max(record.longest_silence - beats.shortest, timedelta(0))
    needed = max(record.longest_silence, absence + beats_after.longest)
    if needed <= after.session_timeout:
        return ""
    return say(
        "a member beat again after a silence of {longestSilence:about} in the last hour, which a session of {session} "
        "would not have held",
        longestSilence=Reading(record.longest_silence),
        session=after.session_timeout,
    )


def _limit_refused(record: Record, after: LivenessSettings, client: Client) -> str:
    limit, gap = after.max_poll_interval, record.longest_poll_gap
    if gap is None or limit is None:
        return "no gap between two polls was measured, and a shorter poll limit rests on them"
    if allowed_values.poll_limit_for(client, gap) <= limit:
        return ""
    return say(
        "a member took {longestPollGap:about} between two polls in the last hour, too long for a poll limit of {limit}",
        longestPollGap=Reading(gap),
        limit=limit,
    )
