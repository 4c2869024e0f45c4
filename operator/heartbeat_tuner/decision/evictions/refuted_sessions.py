"""Sessions of earlier values that evicted: a law that never learns of evictions must not ask for them again.

Episodes are kept for weeks. A law that cannot see absences which ended in an eviction is the same after these weeks as
before, and would shorten the session again as soon as they are over. So what was counted is noted when other values
are set. The note stands until a fit counts these evictions or the policy asks for something else.
"""

from datetime import UTC, datetime

from heartbeat_tuner.decision.evictions import eviction_evidence
from heartbeat_tuner.decision.evictions.eviction_evidence import EvictionEvidence
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import ASKING_AGAIN, Policy
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Prediction
from heartbeat_tuner.domain.verifications import MOST_EVICTING, EvictingSession, EvictionHistory, FollowedChange
from heartbeat_tuner.metrics.measured import EVICTION
from heartbeat_tuner.models.group_model import GroupModel


def after_other_values(
    history: EvictionHistory,
    policy: Policy,
    followed: FollowedChange | None,
    values: LivenessSettings,
    now: datetime,
) -> tuple[EvictingSession, ...]:
    """Return the sessions that evicted, with the one of the values that were replaced.

    Args:
        history: of the values that were set until now; it begins when they landed.
        policy: with our last change.
        followed: how far that is.
        values: that are set from now on.
        now: the time.
    """
    replaced = _replaced_at(policy, values)
    if replaced is not None and replaced > history.since:
        counted = eviction_evidence.counted(history, history.since, replaced)
    else:
        counted = eviction_evidence.since_the_change(history, policy, followed, history.values, now)
    known = [noted for noted in history.evicting if noted.spec == policy.spec]
    session = history.values.session_timeout
    before = next((noted for noted in known if noted.session == session), None)
    if counted is None or not (counted.episodes or before):
        return tuple(known)
    until = datetime.fromtimestamp(history.episodes_s[-1] // 1.0, UTC) if counted.episodes else None
    if before is not None:
        counted = EvictionEvidence(
            before.episodes + counted.episodes, before.days + counted.days, before.on_days + counted.on_days
        )
        known.remove(before)
        until = until or before.until
    known.append(EvictingSession(session, counted.episodes, counted.days, counted.on_days, until or now, policy.spec))
    return tuple(sorted(known, key=lambda noted: noted.session, reverse=True)[:MOST_EVICTING])


def _replaced_at(policy: Policy, values: LivenessSettings) -> datetime | None:
    """Return when we wrote values that are set now; None where we did not."""
    change, write = policy.application, policy.group_write
    if write is not None and write.values.session_timeout == values.session_timeout:
        return write.at
    return change.at if change is not None and change.values == values else None


def refusal(
    history: EvictionHistory | None,
    policy: Policy,
    model: GroupModel,
    change: tuple[LivenessSettings, LivenessSettings],
    promised: Prediction | None,
) -> str:
    """Return why a session that is no longer than one that evicted is refused, as a sentence; empty if it is not.

    Args:
        history: of the group.
        policy: what is asked for now.
        model: that asks for the change.
        change: what is set, and what it asks for.
        promised: what the model promises of the latter; None where it promises nothing.
    """
    session = change[1].session_timeout
    if session >= change[0].session_timeout:
        return ""
    for noted in () if history is None else history.evicting:
        if noted.spec != policy.spec or session > noted.session:
            continue
        seen = EvictionEvidence(noted.episodes, noted.days, noted.on_days)
        is_promised = promised is None or not seen.refutes(promised.evictions_upper)
        is_expected = promised is not None and promised.evictions_per_month >= seen.lower_per_month
        is_known = is_expected or _has_learnt(model, noted) or not seen.is_dangerous(_per_month(policy))
        if is_promised and is_known:
            continue
        return say(
            "with a session of {session} members were evicted {episodes} times within {watchedDays:.3g} days, before "
            "the last change. None as short is set until {asking} is edited, or a fit that counts these evictions "
            "expects them",
            session=noted.session,
            episodes=noted.episodes,
            watchedDays=noted.days,
            asking=ASKING_AGAIN,
        )
    return ""


def _has_learnt(model: GroupModel, noted: EvictingSession) -> bool:
    """Whether a model rests on days that count these evictions."""
    counted = model.quantities.get(EVICTION)
    return counted is not None and bool(counted.values) and model.since <= noted.until.date() <= model.until


def _per_month(policy: Policy) -> float:
    return policy.objective.max_false_evictions_per_month
