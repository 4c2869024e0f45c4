"""Which values does a record choose, where no cost is computed?

Without tails the rule of design section 7.5 applies: W := min(W, H) where the beat waits for the fetch, and S :=
max(library default, 3 P, broker minimum, P + 1.5 x largest absence seen), within `allowed_values`. A member that was
evicted under a cadence that held was absent for at least S - P: one censored exceedance. Where handlers outlast the
poll limit, M := max(library default, 1.3 x longest poll gap seen), within `allowed_values` (7.4). Nothing but W is ever
lowered here: a record alone is no ground for tightening.

What a fitted model asks for beyond that (`expected_evictions`) is a wish: it may raise S and M as far as nothing
forbids it, and never makes an answer impossible.
"""

import dataclasses
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.decision.evictions import assessment, expected_evictions
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.kafka_groups import Cluster
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Policy, Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, join, say
from heartbeat_tuner.limits import allowed_values
from heartbeat_tuner.limits.allowed_values import Infeasible, Limit, Rules
from heartbeat_tuner.models.group_model import Fitted, Unfitted

ABSENCE_MARGIN: Final = 1.5

_BEAT_IS_SOUND: Final = frozenset({Reason.DANGER, Reason.POLL_GAP_EXCEEDS_LIMIT})
"""Causes that say nothing against H and W."""


@dataclasses.dataclass(frozen=True, slots=True)
class Chosen:
    """Values with the sentence that says where they come from."""

    settings: LivenessSettings
    message: str


def choose(
    client: Client,
    policy: Policy,
    cluster: Cluster,
    model: Fitted | Unfitted,
    record: Record,
    current: LivenessSettings,
    *,
    cause: Reason,
) -> Chosen | Infeasible:
    """Return the values that the rule gives for `cause`, or the two numbers that collide.

    Args:
        client: the group's library.
        policy: of the group.
        cluster: what its brokers allow.
        model: what it may ask for beyond the rule.
        record: that shows the cause.
        current: what is set.
        cause: what is to be cured.
    """
    per_month = policy.objective.max_false_evictions_per_month
    rules = _rules(client, policy, cluster, record, current)
    poll = _poll(model, record, rules, per_month)
    if isinstance(poll, Infeasible):
        return poll
    # With the new M, for some libraries want it to cover S.
    rules = dataclasses.replace(rules, current=poll.settings)
    session = _session(model, record, rules, per_month, cause=cause)
    if isinstance(session, Infeasible):
        return session
    broken = client.violations(session.settings)
    if broken:
        return Infeasible(f"No values fit within the policy's bounds: {broken[0]}")
    changes = ", ".join(
        f"{setting} {durations.show(current[setting])} → {durations.show(session.settings[setting])}"
        for setting in liveness.changed(current, session.settings)
    )
    why = join("; ", (session.message, poll.message))
    return Chosen(session.settings, say("Set {moves}: {why}", moves=changes, why=why))


def settled(rules: Rules, largest_absence_s: float) -> LivenessSettings | Infeasible:
    """Return values for a group that is outside the formulas and evicts, or the two numbers that collide.

    Args:
        rules: its values must keep these.
        largest_absence_s: that was seen.
    """
    # Who was evicted was away for at least S - P, however little of that shows.
    chosen = _lasting(rules, _cured(rules), max(largest_absence_s, _outlasted(rules).total_seconds()), wish=None)
    return chosen.settings if isinstance(chosen, Chosen) else chosen


def _rules(client: Client, policy: Policy, cluster: Cluster, record: Record, current: LivenessSettings) -> Rules:
    # Who left under the limit of now took longer than that.
    outlasted = client.poll_limit_factor * (current.max_poll_interval or timedelta(0))
    gap = max(record.longest_poll_gap or timedelta(0), outlasted)
    return Rules(
        client=client,
        current=current,
        bounds=policy.bounds,
        broker_session=Range(cluster.min_session_timeout, cluster.max_session_timeout),
        broker_interval=Range(),
        max_detection_time=policy.objective.max_detection_time,
        largest_poll_gap_s=gap.total_seconds(),
        bounds_assumed=cluster.bounds_assumed,
        brokers=cluster.brokers,
        consumer_protocol=cluster.consumer_protocol,
    )


def _poll(model: Fitted | Unfitted, record: Record, rules: Rules, per_month: float) -> Chosen | Infeasible:
    """Return what is set with the poll limit that the handlers seen need."""
    default = rules.client.defaults.max_poll_interval
    if rules.current.max_poll_interval is None or default is None:
        return Chosen(rules.current, "")
    if not assessment.poll_gaps_are_dangerous(record, per_month):
        return Chosen(rules.current, "")
    floor, ceiling = rules.poll()
    if floor.value > ceiling.value:
        return allowed_values.collide("No poll interval fits: handlers need", floor, ceiling)
    wish = expected_evictions.poll_wish(model, rules.client)
    limit = max(allowed_values.step(max(floor.value, default), ceiling.value), _granted(wish, ceiling))
    return Chosen(
        dataclasses.replace(rules.current, max_poll_interval=limit),
        say(
            "a handler may then take {longest} (at least {least} is needed: {because}{wish}); so late a handler that "
            "hangs is noticed, and so long may a rebalance wait for it",
            longest=rules.client.poll_limit_factor * limit,
            least=Reading(floor.value),
            because=floor.name,
            wish=_asked(wish, ceiling),
        ),
    )


def _session(
    model: Fitted | Unfitted, record: Record, rules: Rules, per_month: float, *, cause: Reason
) -> Chosen | Infeasible:
    """Return what is set with the beat and the session that cure a cause."""
    if cause is Reason.POLL_GAP_EXCEEDS_LIMIT and not assessment.silences_are_dangerous(record, per_month):
        return Chosen(rules.current, "")
    beat = rules.bounded(rules.current) if cause in _BEAT_IS_SOUND else _cured(rules)
    wish = expected_evictions.session_wish(model, per_month, rules.period(beat).longest)
    absences = [timedelta(0)]
    if record.longest_silence is not None:
        absences.append(record.longest_silence - rules.period(rules.current).shortest)
    if cause is not Reason.CADENCE_EXCEEDS_SESSION and record.evictions:
        absences.append(_outlasted(rules))
    return _lasting(rules, beat, max(absences).total_seconds(), wish=wish)


def _cured(rules: Rules) -> LivenessSettings:
    """Return H of at least the floor, as far as the policy's bounds let it rise, and W of at most H where it counts."""
    interval = max(rules.current.heartbeat_interval, allowed_values.HEARTBEAT_FLOOR)
    allowed = rules.bounded(dataclasses.replace(rules.current, heartbeat_interval=interval)).heartbeat_interval
    return rules.bounded(allowed_values.with_interval(rules.current, rules.client, allowed))


def _outlasted(rules: Rules) -> timedelta:
    """Return how long a member that is evicted under a cadence that holds was absent, at least."""
    return rules.current.session_timeout - rules.period(rules.current).longest


def _lasting(rules: Rules, beat: LivenessSettings, largest_s: float, *, wish: Limit | None) -> Chosen | Infeasible:
    """Return `beat` with the session that its cadence and the largest absence need; S is never lowered."""
    period = rules.period(beat).longest
    # What is set is told apart from what is needed.
    floor, ceiling = dataclasses.replace(rules, upwards=False).session(beat)
    needed = [allowed_values.beats_held(period), floor]
    if largest_s > 0:
        largest = timedelta(seconds=min(largest_s, allowed_values.LONGEST.total_seconds()))
        survived = durations.ceil_to_second(period + ABSENCE_MARGIN * largest)
        times = say(
            "{times:g} times the largest absence seen, {largestAbsence:about}",
            times=ABSENCE_MARGIN,
            largestAbsence=Reading(largest),
        )
        needed.append(Limit(survived, times))
    floor, _ = allowed_values.tightest(needed, [ceiling])
    fitted = allowed_values.session_between(floor, ceiling, rules.client)
    if isinstance(fitted, Infeasible):
        return fitted
    current = rules.current.session_timeout
    if current > ceiling.value:
        return Infeasible(
            f"No session timeout fits: {durations.show(current)} is set, which a record alone does not lower, but "
            f"{ceiling.name} allows at most {durations.show(ceiling.value)}"
        )
    session = max(fitted, current, _granted(wish, ceiling))
    return Chosen(
        dataclasses.replace(beat, session_timeout=session),
        say(
            "a beat then arrives every {period} and the session lasts {session} (at least {least} is needed: "
            "{because}{wish})",
            period=period,
            session=session,
            least=Reading(floor.value),
            because=floor.name,
            wish=_asked(wish, ceiling),
        ),
    )


def _granted(wish: Limit | None, room: Limit) -> timedelta:
    """Return as much of a wish as there is room for, in the usual steps."""
    return timedelta(0) if wish is None else allowed_values.step(min(wish.value, room.value), room.value)


def _asked(wish: Limit | None, room: Limit) -> str:
    """Return the rest of a sentence that says who wished for what, and what did not allow it; empty without a wish."""
    if wish is None:
        return ""
    cut = f", but {room.name} allows {durations.show(room.value)}" if wish.value > room.value else ""
    return f"; {wish.name} asks for {durations.show(wish.value)}{cut}"
