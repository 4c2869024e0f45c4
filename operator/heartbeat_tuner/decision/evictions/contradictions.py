"""Does the record contradict the values that are set?

An application may ignore its environment, or keep its settings in a file and declare others. Then one write follows
another, and nothing changes. So before any cure the record is asked for two things that hold for every group whose
values are in force:

- A member is removed for its silence only after a whole session of it. It joins again, and the next session begins. So
  no more evictions are possible than sessions fit between the start of a pod and the end of the record.
- A client beats as its card says: never sooner than the heartbeat interval, and a thread that nothing delays not much
  later either.

Both are necessary, not sufficient: values that pass may still not be in force. Nothing here rests on a few bad moments,
and evictions count only where the clients' own counters show them. Pure.
"""

import dataclasses
from collections import Counter
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Beater, Circumstances, Client
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.evidence import Pod, Record, Workload
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.domain.liveness import CurrentSettings, LivenessSettings, Setting, ValueSource
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, say
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict

REASONS: Final = frozenset({Reason.NO_EFFECT, Reason.SETTINGS_NOT_IN_FORCE, Reason.SETTING_ASSUMED})
"""What a finding of this module may be called."""

EDGE: Final = timedelta(seconds=60)
"""The first scrape of a record may show what happened so long before it."""

COUNTED_TOGETHER: Final = 2
"""Consumers of one process that share a counter, and are not seen to be several."""

CHANCE: Final = 3
"""Evictions that need no silence: members removed by a person, or a coordinator that lost the group."""

ENOUGH_TIMED: Final = timedelta(seconds=60)
"""Beats have to be timed for so long. A scrape may be answered late, 10 s after its time as Prometheus is shipped, and
then counts beats that came later: of a minute that is a sixth. Together with one beat of twelve, by which a count may
be off, it stays below what is allowed for."""

SOONER: Final = 0.75
"""Beats that come after less than this share of what the card says are not of these values."""

LATER: Final = 1.5
"""Beats that come after more than this multiple of the card's longest period are not of these values."""

ROUND_TRIP: Final = timedelta(seconds=1)
"""An answer may take so long, where a client waits for it before it counts the interval again."""

CALM_SHARE: Final = 0.05
"""A group that rebalances for more of its time beats less often than its settings say."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Contradiction:
    """What the record shows, as a sentence, and the settings of which one at least is another."""

    message: str
    settings: tuple[Setting, ...]


def find_contradiction(
    policy: Policy, workload: Workload, group: Group, brokers: int, record: Record, current: CurrentSettings
) -> Finding | None:
    """Return what the record proves against the values that are set; None if they may be in force."""
    client, settings = catalogue.client(policy.library), current.settings
    shown = _too_many_evictions(workload, group, record, settings, client) or _another_beat(
        workload, group, brokers, record, settings, client
    )
    if shown is None:
        return None
    reason, sentence = _named(policy, current, shown.settings)
    return Finding(reason, say("{shown}{meaning}", shown=shown.message, meaning=sentence))


def noted_finding(policy: Policy, template: str) -> Finding | None:
    """Return what an earlier record proved against these values, while neither policy nor template has changed."""
    seen = policy.contradicted
    if seen is None or (seen.generation, seen.template) != (policy.generation, template):
        return None
    return Finding(seen.reason, seen.message)


def decision(finding: Finding) -> Decision:
    """Return the decision that follows: nothing is derived from values that are not in force, and nothing written."""
    advice = {
        Reason.NO_EFFECT: "Let the application read these variables, or delete the policy. Nothing is written until "
        "the policy or the pods' template changes",
        Reason.SETTINGS_NOT_IN_FORCE: "Find out what the application uses: name the variables that it reads in "
        "spec.client.env, or correct what is declared in spec.client.current. Nothing is written until the policy or "
        "the pods' template changes",
        Reason.SETTING_ASSUMED: "Declare what is set in spec.client.current, or name the right variables in "
        "spec.client.env. Nothing is recommended until then",
    }[finding.reason]
    return Decision(Verdict.UNKNOWN, finding, advice=advice, hold=finding)


def most_evictions(workload: Workload, group: Group, record: Record, limit: timedelta) -> int:
    """Return how many evictions are possible where a member is removed only after so long a silence."""
    consumers = max(record.consumers_per_pod, members_per_pod(workload, group))
    sessions = sum(max(0, (record.until - _silent_since(pod, record, limit)) // limit) for pod in workload.pods)
    return COUNTED_TOGETHER * consumers * sessions + CHANCE


def _silent_since(pod: Pod, record: Record, limit: timedelta) -> datetime:
    """Return when the first silence may have begun that ended in an eviction of the record.

    A pod without a uid was seen in metrics alone, whose first sample is not its start.
    """
    earliest = record.since - EDGE - limit
    return max(pod.started, earliest) if pod.uid else earliest


def members_per_pod(workload: Workload, group: Group) -> int:
    """Return the most members that the broker shows at the address of one pod."""
    hosts = Counter(member.host for member in group.members)
    return max((hosts[pod.ip] for pod in workload.pods if pod.ip), default=0)


def _too_many_evictions(
    workload: Workload, group: Group, record: Record, settings: LivenessSettings, client: Client
) -> _Contradiction | None:
    """Find members that are removed more often than their session can end."""
    limits = {Setting.SESSION_TIMEOUT: settings.session_timeout}
    # Who is late in a rebalance, or does not poll, is removed as well.
    rebalance = settings.rebalance_timeout or client.defaults.rebalance_timeout
    if rebalance is not None:
        limits[Setting.REBALANCE_TIMEOUT] = rebalance
    if settings.max_poll_interval is not None:
        limits[Setting.MAX_POLL_INTERVAL] = settings.max_poll_interval
    limit = min(limits.values())
    possible = most_evictions(workload, group, record, limit)
    if record.counted_evictions <= possible:
        return None
    named = tuple(setting for setting, value in limits.items() if value <= settings.session_timeout)
    return _Contradiction(
        say(
            "{evictions} evictions of live members within {watched:about} are more than the {possible} that are "
            "possible with {values}",
            evictions=Reading(record.counted_evictions),
            watched=Reading(record.span),
            possible=Reading(possible),
            values=" and ".join(f"{setting} {durations.show(limits[setting])}" for setting in named),
        ),
        named,
    )


def _another_beat(
    workload: Workload, group: Group, brokers: int, record: Record, settings: LivenessSettings, client: Client
) -> _Contradiction | None:
    """Find members that beat as the client does not with these settings, in a record that can show it."""
    measured = record.beat_period
    if measured is None or record.unobserved_pods or workload.rolling_out:
        return None
    if record.beats_timed_for < ENOUGH_TIMED:
        return None
    if members_per_pod(workload, group) <= record.consumers_per_pod:
        sooner = _sooner(measured, settings, client, brokers)
        if sooner is not None:
            return sooner
    calm = record.rebalancing_share is not None and record.rebalancing_share <= CALM_SHARE
    later = _later(measured, settings, client, brokers) if calm and client.beater is Beater.THREAD else None
    return later or _outlived(record, measured, settings)


def _sooner(measured: timedelta, settings: LivenessSettings, client: Client, brokers: int) -> _Contradiction | None:
    """Find beats that come before the interval is over."""
    idle = client.period(settings, Circumstances(brokers))
    # A fetch that is answered at once lets a beat come as soon as the interval is over.
    shortest = settings.heartbeat_interval if client.beater is Beater.FETCH_LOOP else idle.shortest
    if measured >= SOONER * shortest:
        return None
    return _Contradiction(
        say(
            "there is a heartbeat every {beatPeriod:about}, but {client} never beats sooner than after {least} with "
            "{values}",
            beatPeriod=Reading(measured),
            client=client.title,
            least=shortest,
            values=_shown(settings, _of_beat(client)),
        ),
        _of_beat(client),
    )


def _later(measured: timedelta, settings: LivenessSettings, client: Client, brokers: int) -> _Contradiction | None:
    """Find beats of a thread that come long after the interval is over."""
    slowest = client.period(settings, Circumstances(brokers, ROUND_TRIP)).longest
    if measured <= LATER * slowest:
        return None
    return _Contradiction(
        say(
            "there is a heartbeat only every {beatPeriod:about}, but {client} beats at least every {most} with "
            "{values}, whatever handlers do",
            beatPeriod=Reading(measured),
            client=client.title,
            most=client.period(settings, Circumstances(brokers)).longest,
            values=_shown(settings, _of_beat(client)),
        ),
        _of_beat(client),
    )


def _outlived(record: Record, measured: timedelta, settings: LivenessSettings) -> _Contradiction | None:
    """Find members that live on between two beats though their session is over."""
    if measured <= settings.session_timeout or record.evictions:
        return None
    return _Contradiction(
        say(
            "there is a heartbeat only every {beatPeriod:about} and no member was removed, but a session of {session} "
            "would have ended",
            beatPeriod=Reading(measured),
            session=settings.session_timeout,
        ),
        (Setting.SESSION_TIMEOUT,),
    )


def _of_beat(client: Client) -> tuple[Setting, ...]:
    """Return the settings that say how often a client beats."""
    return (Setting.HEARTBEAT_INTERVAL, *((Setting.FETCH_WAIT,) if client.beat_waits_for_fetch else ()))


def _shown(settings: LivenessSettings, which: tuple[Setting, ...]) -> str:
    return " and ".join(f"{setting} {durations.show(settings[setting])}" for setting in which)


def _named(policy: Policy, current: CurrentSettings, settings: tuple[Setting, ...]) -> tuple[Reason, str]:
    """Return what it means that one of these settings is another, and the rest of the sentence that says so."""
    written, workload = policy.application, policy.workload
    if written is not None and current.settings == written.values:
        ours = [setting for setting in liveness.changed(written.previous, written.values) if setting in settings]
        if ours:
            names = ", ".join(policy.env_names[our] for our in ours)
            sentence = (
                f": the application in {workload}, container {workload.container}, does not use what was written at "
                f"{written.at:%Y-%m-%dT%H:%M:%SZ} to {names}"
            )
            return Reason.NO_EFFECT, sentence
    assumed = [setting for setting in settings if setting in current.assumed]
    if assumed:
        values = ", ".join(f"{setting} ({durations.show(current.settings[setting])})" for setting in assumed)
        return Reason.SETTING_ASSUMED, f": nothing shows {values}, and the library's default is not what is set"
    declared = [setting for setting in settings if current.sources.get(setting) is ValueSource.POLICY]
    whose = "what is declared is not" if declared else "what the pods' environment says is not"
    return Reason.SETTINGS_NOT_IN_FORCE, f": {whose} what the application uses"
