"""Which values would cure what the record shows?

Without tails the rule of design section 7.5 applies: W := min(W, H) where the beat waits for the fetch, and S :=
max(library default, 3 P, broker minimum, P + 1.5 x largest absence seen), within bounds. A member that was evicted
under a cadence that held was absent for at least S - P: one censored exceedance. Where handlers outlast the poll limit,
M := max(library default, 1.3 x longest poll gap seen), within bounds (7.4). Nothing but W is ever lowered here: a
record alone is no ground for tightening.

What a fitted model asks for beyond that (`foresight`) is a wish: it may raise S and M as far as nothing forbids it, and
never makes an answer impossible.
"""

import dataclasses
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients.client import Circumstances, Client
from heartbeat_tuner.decision import assessment, foresight, limits
from heartbeat_tuner.decision.limits import Infeasible, Limit
from heartbeat_tuner.decision.situation import Situation
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.evidence import Cluster, Record
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.reasons import Reason

ABSENCE_MARGIN: Final = 1.5
BAND: Final = timedelta(seconds=1)
BAND_SHARE: Final = 0.05


_BEAT_IS_SOUND: Final = frozenset({Reason.DANGER, Reason.POLL_GAP_EXCEEDS_LIMIT})
"""Causes that say nothing against H and W."""


@dataclasses.dataclass(frozen=True, slots=True)
class Chosen:
    """Values with the sentence that says where they come from."""

    settings: LivenessSettings
    message: str


def choose(
    situation: Situation, record: Record, current: LivenessSettings, client: Client, *, cause: Reason
) -> Chosen | Infeasible:
    """Return the values that the rule gives for `cause`, or the two numbers that collide."""
    beat = current if cause in _BEAT_IS_SOUND else _cadence_cured(situation, current, client)
    session = _session(situation, record, current, client, cause=cause, beat=_bounded(situation, beat))
    if isinstance(session, Infeasible):
        return session
    poll = _poll(situation, record, session.settings, client)
    if isinstance(poll, Infeasible):
        return poll
    broken = client.violations(poll.settings)
    if broken:
        return Infeasible(f"No values fit within the policy's bounds: {broken[0]}")
    moves = ", ".join(
        f"{setting} {durations.show(current[setting])} → {durations.show(poll.settings[setting])}"
        for setting in liveness.changed(current, poll.settings)
    )
    return Chosen(poll.settings, f"Set {moves}: {'; '.join(one for one in (session.message, poll.message) if one)}")


def _session(
    situation: Situation,
    record: Record,
    current: LivenessSettings,
    client: Client,
    *,
    cause: Reason,
    beat: LivenessSettings,
) -> Chosen | Infeasible:
    """Return `beat` with the session timeout that its cadence and the absences seen need."""
    if cause is Reason.POLL_GAP_EXCEEDS_LIMIT and not assessment.silences_are_dangerous(situation, record):
        return Chosen(current, "")
    period = client.period(beat, Circumstances(brokers=situation.cluster.brokers)).longest
    floor = max(_floors(situation, record, current, client, cause=cause, period=period), key=lambda limit: limit.value)
    ceiling = min(_ceilings(situation), key=lambda limit: limit.value)
    fitted = limits.session_between(floor, ceiling, client)
    if isinstance(fitted, Infeasible):
        return fitted
    if current.session_timeout > ceiling.value:
        return Infeasible(
            f"No session timeout fits: {durations.show(current.session_timeout)} is set, which a record alone does not "
            f"lower, but {ceiling.name} allows at most {durations.show(ceiling.value)}"
        )
    wish = foresight.session_wish(situation, period)
    room = min([ceiling, *_covers(beat, client)], key=lambda limit: limit.value)
    session = max(fitted, current.session_timeout, timedelta(0) if wish is None else limits.granted(wish, room))
    return Chosen(
        dataclasses.replace(beat, session_timeout=session),
        f"a beat then arrives every {durations.show(period)} and the session lasts {durations.show(session)} (at least "
        f"{durations.show(floor.value)} is needed: {floor.name}{limits.asked(wish, room)})",
    )


def _poll(situation: Situation, record: Record, settings: LivenessSettings, client: Client) -> Chosen | Infeasible:
    """Return `settings` with the poll limit that the handlers seen need."""
    now, default = settings.max_poll_interval, client.defaults.max_poll_interval
    if now is None or default is None or not assessment.poll_gaps_are_dangerous(situation, record):
        return Chosen(settings, "")
    bounds = situation.policy.range_of(Setting.MAX_POLL_INTERVAL)
    gap = max(record.longest_poll_gap or now, now)  # who left under the limit of now took longer than that
    needed = max(durations.ceil_to_second(limits.POLL_GAP_MARGIN * gap), bounds.min or timedelta(0))
    ceiling = timedelta.max if bounds.max is None else bounds.max
    if needed > ceiling:
        return Infeasible(
            f"No poll interval fits: handlers need at least {durations.show(needed)} ({limits.POLL_GAP_MARGIN:g} times "
            f"the longest poll gap, {durations.about(gap)}), but bounds.maxPollInterval.max allows at most "
            f"{durations.show(ceiling)}"
        )
    wish, room = foresight.poll_wish(situation), Limit(ceiling, "bounds.maxPollInterval.max")
    granted = timedelta(0) if wish is None else limits.granted(wish, room)
    limit = max(limits.step(max(needed, default), ceiling), granted)
    return Chosen(
        dataclasses.replace(settings, max_poll_interval=limit),
        f"a handler may then take {durations.show(limit)} (at least {durations.show(needed)} is needed: "
        f"{limits.POLL_GAP_MARGIN:g} times the longest poll gap, {durations.about(gap)}{limits.asked(wish, room)}); so "
        f"late a handler that hangs is noticed, and so long may a rebalance wait for it",
    )


def within_band(current: LivenessSettings, target: LivenessSettings) -> bool:
    """Whether `target` is too close to `current` to be worth a change."""
    if liveness.changed(current, target) not in ((), (Setting.SESSION_TIMEOUT,)):
        return False
    difference = abs(target.session_timeout - current.session_timeout)
    return difference < max(BAND, BAND_SHARE * current.session_timeout)


def _cadence_cured(situation: Situation, current: LivenessSettings, client: Client) -> LivenessSettings:
    """Return H of at least the floor, as far as the policy's bounds let it rise, and W of at most H where it counts."""
    interval = _clamp(situation, Setting.HEARTBEAT_INTERVAL, max(current.heartbeat_interval, limits.HEARTBEAT_FLOOR))
    return limits.with_interval(current, client, interval)


def _bounded(situation: Situation, beat: LivenessSettings) -> LivenessSettings:
    """Return H and W within the policy's bounds, which hold for what is set already too."""
    return dataclasses.replace(
        beat,
        heartbeat_interval=_clamp(situation, Setting.HEARTBEAT_INTERVAL, beat.heartbeat_interval),
        fetch_wait=_clamp(situation, Setting.FETCH_WAIT, beat.fetch_wait),
    )


def _clamp(situation: Situation, setting: Setting, value: timedelta) -> timedelta:
    bounds = situation.policy.range_of(setting)
    return min(max(value, bounds.min or value), bounds.max or max(value, bounds.min or value))


def _floors(
    situation: Situation,
    record: Record,
    current: LivenessSettings,
    client: Client,
    *,
    cause: Reason,
    period: timedelta,
) -> list[Limit]:
    """Return what S must not be below."""
    set_period = client.period(current, Circumstances(brokers=situation.cluster.brokers))
    floors = [
        Limit(limits.BEATS_PER_SESSION * period, f"{limits.BEATS_PER_SESSION} heartbeats of {durations.show(period)}"),
        Limit(situation.cluster.min_session_timeout, _broker_limit(situation.cluster, "min")),
    ]
    lower = situation.policy.range_of(Setting.SESSION_TIMEOUT).min
    if lower is not None:
        floors.append(Limit(lower, "bounds.sessionTimeout.min"))
    absences = []
    if record.longest_silence is not None:
        absences.append(record.longest_silence - set_period.shortest)
    if cause is not Reason.CADENCE_EXCEEDS_SESSION and record.evictions:
        absences.append(current.session_timeout - set_period.longest)
    largest = max(absences, default=timedelta(0))
    if largest > timedelta(0):
        survived = durations.ceil_to_second(period + ABSENCE_MARGIN * largest)
        floors.append(Limit(survived, f"{ABSENCE_MARGIN:g} times the largest absence seen, {durations.about(largest)}"))
    return floors


def _ceilings(situation: Situation) -> list[Limit]:
    """Return what S must not be above."""
    policy, cluster = situation.policy, situation.cluster
    ceilings = [
        Limit(policy.objective.max_detection_time, "objective.maxDetectionTime"),
        Limit(cluster.max_session_timeout, _broker_limit(cluster, "max")),
    ]
    upper = policy.range_of(Setting.SESSION_TIMEOUT).max
    if upper is not None:
        ceilings.append(Limit(upper, "bounds.sessionTimeout.max"))
    return ceilings


def _covers(values: LivenessSettings, client: Client) -> list[Limit]:
    """Return what S must not be above in this library, by the settings that have to cover it."""
    return [Limit(client.poll_limit_factor * values[setting], str(setting)) for setting in client.must_cover_session]


def _broker_limit(cluster: Cluster, side: str) -> str:
    """Name the broker's bound; one that could not be read is Kafka's default, and says so."""
    return f"the broker's group.{side}.session.timeout.ms{' (assumed)' if cluster.bounds_assumed else ''}"
