"""Which values does a record choose, where no cost is reckoned?

Without tails the rule of design section 7.5 applies: W := min(W, H) where the beat waits for the fetch, and S :=
max(library default, 3 P, broker minimum, P + 1.5 x largest absence seen), within `rules`. A member that was evicted
under a cadence that held was absent for at least S - P: one censored exceedance. Where handlers outlast the poll limit,
M := max(library default, 1.3 x longest poll gap seen), within `rules` (7.4). Nothing but W is ever lowered here: a
record alone is no ground for tightening.

What a fitted model asks for beyond that (`foresight`) is a wish: it may raise S and M as far as nothing forbids it, and
never makes an answer impossible.
"""

import dataclasses
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.decision import assessment, foresight, rules
from heartbeat_tuner.decision.rules import Infeasible, Limit, Rules
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.evidence import Cluster, Record
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Policy, Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, join, say
from heartbeat_tuner.tails.group_model import Fitted, Unfitted

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
    of = _rules(client, policy, cluster, record, current)
    poll = _poll(model, record, of, per_month)
    if isinstance(poll, Infeasible):
        return poll
    # With the new M, for some libraries want it to cover S.
    of = dataclasses.replace(of, current=poll.settings)
    session = _session(model, record, of, per_month, cause=cause)
    if isinstance(session, Infeasible):
        return session
    broken = client.violations(session.settings)
    if broken:
        return Infeasible(f"No values fit within the policy's bounds: {broken[0]}")
    moves = ", ".join(
        f"{setting} {durations.show(current[setting])} → {durations.show(session.settings[setting])}"
        for setting in liveness.changed(current, session.settings)
    )
    why = join("; ", (session.message, poll.message))
    return Chosen(session.settings, say("Set {moves}: {why}", moves=moves, why=why))


def settled(of: Rules, largest_absence_s: float) -> LivenessSettings | Infeasible:
    """Return values for a group that is outside the formulas and evicts, or the two numbers that collide.

    Args:
        of: its values must keep these.
        largest_absence_s: that was seen.
    """
    # Who was evicted was away for at least S - P, however little of that shows.
    found = _lasting(of, _cured(of), max(largest_absence_s, _outlasted(of).total_seconds()), wish=None)
    return found.settings if isinstance(found, Chosen) else found


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
    )


def _poll(model: Fitted | Unfitted, record: Record, of: Rules, per_month: float) -> Chosen | Infeasible:
    """Return what is set with the poll limit that the handlers seen need."""
    default = of.client.defaults.max_poll_interval
    if of.current.max_poll_interval is None or default is None:
        return Chosen(of.current, "")
    if not assessment.poll_gaps_are_dangerous(record, per_month):
        return Chosen(of.current, "")
    floor, ceiling = of.poll()
    if floor.value > ceiling.value:
        return rules.collide("No poll interval fits: handlers need", floor, ceiling)
    wish = foresight.poll_wish(model, of.client)
    limit = max(rules.step(max(floor.value, default), ceiling.value), _granted(wish, ceiling))
    return Chosen(
        dataclasses.replace(of.current, max_poll_interval=limit),
        say(
            "a handler may then take {longest} (at least {least} is needed: {because}{wish}); so late a handler that "
            "hangs is noticed, and so long may a rebalance wait for it",
            longest=of.client.poll_limit_factor * limit,
            least=Reading(floor.value),
            because=floor.name,
            wish=_asked(wish, ceiling),
        ),
    )


def _session(
    model: Fitted | Unfitted, record: Record, of: Rules, per_month: float, *, cause: Reason
) -> Chosen | Infeasible:
    """Return what is set with the beat and the session that cure a cause."""
    if cause is Reason.POLL_GAP_EXCEEDS_LIMIT and not assessment.silences_are_dangerous(record, per_month):
        return Chosen(of.current, "")
    beat = of.bounded(of.current) if cause in _BEAT_IS_SOUND else _cured(of)
    wish = foresight.session_wish(model, per_month, of.period(beat).longest)
    absences = [timedelta(0)]
    if record.longest_silence is not None:
        absences.append(record.longest_silence - of.period(of.current).shortest)
    if cause is not Reason.CADENCE_EXCEEDS_SESSION and record.evictions:
        absences.append(_outlasted(of))
    return _lasting(of, beat, max(absences).total_seconds(), wish=wish)


def _cured(of: Rules) -> LivenessSettings:
    """Return H of at least the floor, as far as the policy's bounds let it rise, and W of at most H where it counts."""
    interval = max(of.current.heartbeat_interval, rules.HEARTBEAT_FLOOR)
    allowed = of.bounded(dataclasses.replace(of.current, heartbeat_interval=interval)).heartbeat_interval
    return of.bounded(rules.with_interval(of.current, of.client, allowed))


def _outlasted(of: Rules) -> timedelta:
    """Return how long a member that is evicted under a cadence that holds was absent, at least."""
    return of.current.session_timeout - of.period(of.current).longest


def _lasting(of: Rules, beat: LivenessSettings, largest_s: float, *, wish: Limit | None) -> Chosen | Infeasible:
    """Return `beat` with the session that its cadence and the largest absence need; S is never lowered."""
    period = of.period(beat).longest
    # What is set is told apart from what is needed.
    floor, ceiling = dataclasses.replace(of, upwards=False).session(beat)
    needed = [rules.beats_held(period), floor]
    if largest_s > 0:
        largest = timedelta(seconds=min(largest_s, rules.LONGEST.total_seconds()))
        survived = durations.ceil_to_second(period + ABSENCE_MARGIN * largest)
        times = say(
            "{times:g} times the largest absence seen, {largestAbsence:about}",
            times=ABSENCE_MARGIN,
            largestAbsence=Reading(largest),
        )
        needed.append(Limit(survived, times))
    floor, _ = rules.tightest(needed, [ceiling])
    fitted = rules.session_between(floor, ceiling, of.client)
    if isinstance(fitted, Infeasible):
        return fitted
    current = of.current.session_timeout
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
    return timedelta(0) if wish is None else rules.step(min(wish.value, room.value), room.value)


def _asked(wish: Limit | None, room: Limit) -> str:
    """Return the rest of a sentence that says who wished for what, and what did not allow it; empty without a wish."""
    if wish is None:
        return ""
    cut = f", but {room.name} allows {durations.show(room.value)}" if wish.value > room.value else ""
    return f"; {wish.name} asks for {durations.show(wish.value)}{cut}"
