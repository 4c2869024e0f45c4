"""What a policy's status says: the operator's changes, what became of each, and when members were evicted."""

from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.api import applied
from heartbeat_tuner.cli.reporting.reported_policies import ReportedPolicy
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import TakenBack
from heartbeat_tuner.domain.verifications import CanaryPhase, EpisodeRate, FollowedChange
from heartbeat_tuner.lint.checked_settings import NAMES
from heartbeat_tuner.report.plotted_data import ChangeEntry, MarkEntry, MovedEntry, RateEntry, TimelineEntry
from heartbeat_tuner.report.report_data import ExpectedEntry, ForecastEntry

_LARGEST: Final = 1e300


def changes(view: ReportedPolicy) -> tuple[ChangeEntry, ...]:
    """Return the changes that a status remembers, a canary among them, the newest first."""
    policy = view.policy
    entries = [
        ChangeEntry(
            at_s=failed.at.timestamp(),
            kind="taken back",
            moved=_moved(failed.previous, failed.values),
            outcome=failed.outcome.value,
            message=failed.message,
        )
        for failed in policy.failed
    ]
    application = policy.application
    if application is not None:
        followed = policy.followed if policy.followed is not None and policy.followed.at == application.at else None
        entries.append(
            ChangeEntry(
                at_s=application.at.timestamp(),
                kind="set" if application.reverts is None else "set back",
                moved=_moved(application.previous, application.values),
                outcome="" if followed is None else followed.outcome.value,
                message=_verified(view, followed),
                before=None if followed is None or followed.effect is None else _rate(followed.effect.before),
                after=None if followed is None or followed.effect is None else _rate(followed.effect.after),
            )
        )
    if policy.taken_back is not None:
        taken = policy.taken_back
        by = f" by {taken.by}" if taken.by else ""
        entries.append(ChangeEntry(at_s=taken.seen.timestamp(), kind=f"taken out{by}", moved=_replaced(view, taken)))
    tried = canary_change(view)
    if tried is not None:
        entries.append(tried)
    return tuple(sorted(entries, key=lambda entry: -entry.at_s))


def canary_change(view: ReportedPolicy) -> ChangeEntry | None:
    """Return the canary that has pods now; None where there is none. What failed in one is a change taken back."""
    canary = view.policy.canary
    if canary is None or canary.phase is CanaryPhase.OVER:
        return None
    if canary.landed is None:
        seen = "its pods are not all ready yet"
    else:
        watched = durations.show(timedelta(seconds=round(canary.exposed.total_seconds())))
        hits, others = len(canary.hits_s), len(canary.others_s)
        seen = f"its pods were watched for {watched}; episodes of evictions: {hits} at them, {others} at the others"
    return ChangeEntry(
        at_s=canary.since.timestamp(),
        kind=f"canary in {canary.pods} pod{'' if canary.pods == 1 else 's'}",
        moved=_moved(canary.previous, canary.values),
        outcome=canary.phase.value,
        message=canary.message or seen,
    )


def marks(view: ReportedPolicy) -> tuple[MarkEntry, ...]:
    """Return the same changes as marks of a timeline, the oldest first."""
    return tuple(MarkEntry(at_s=change.at_s, label=_label(change)) for change in reversed(changes(view)))


def timeline(view: ReportedPolicy, now: datetime) -> TimelineEntry | None:
    """Return when members were evicted, as far back as the status remembers; None where it remembers nothing."""
    history = view.policy.history
    if history is None or history.since >= now:
        return None
    since_s, until_s = history.since.timestamp(), now.timestamp()
    return TimelineEntry(
        title="What the policy's status remembers; evictions within 15 minutes are one episode",
        since_s=since_s,
        until_s=until_s,
        evictions_s=tuple(at_s for at_s in history.episodes_s if at_s <= until_s),
        counted="episodes of evictions",
        unknown_s=tuple((begin_s, min(end_s, until_s)) for begin_s, end_s in history.left_out if begin_s < until_s),
        marks=tuple(mark for mark in marks(view) if since_s <= mark.at_s <= until_s),
    )


def forecast(view: ReportedPolicy) -> ForecastEntry | None:
    """Return what the status expects; None where it expects nothing."""
    predicted = view.status.predicted
    if predicted is None:
        return None
    figures = [
        None
        if point is None
        else ExpectedEntry(
            evictions_per_month=min(point.evictions_per_month, _LARGEST),
            evictions_at_most=min(point.evictions_per_month_upper, _LARGEST),
            stalled_per_day=point.stalled_partition_seconds_per_day,
            detection_s=point.detection_seconds,
        )
        for point in (predicted.current, predicted.recommended)
    ]
    now, recommended = figures
    return None if now is None else ForecastEntry(now=now, recommended=recommended, confidence=predicted.confidence)


def _verified(view: ReportedPolicy, followed: FollowedChange | None) -> str:
    """Return what shows the outcome of the last change; a condition has the words while nothing is shown yet."""
    if followed is not None and followed.message:
        return followed.message
    messages = (condition.message for condition in view.status.conditions if condition.type == "Verified")
    return next(messages, "")


def _moved(before: LivenessSettings, after: LivenessSettings) -> tuple[MovedEntry, ...]:
    return tuple(
        MovedEntry(
            name=NAMES[setting],
            before_ms=durations.to_ms(before.by_setting.get(setting, after[setting])),
            after_ms=durations.to_ms(after[setting]),
        )
        for setting in liveness.changed(before, after)
    )


def _replaced(view: ReportedPolicy, taken: TakenBack) -> tuple[MovedEntry, ...]:
    """Return which of our values others replaced: by what is set now, not by what stood before us."""
    current = {} if view.status.current is None else applied.durations_of(view.status.current)
    return tuple(
        MovedEntry(name=NAMES[setting], before_ms=durations.to_ms(ours), after_ms=durations.to_ms(current[setting]))
        for setting, ours in taken.application.values.by_setting.items()
        if setting in current and current[setting] != ours
    )


def _rate(rate: EpisodeRate | None) -> RateEntry | None:
    if rate is None:
        return None
    upper = rate.upper if rate.upper < _LARGEST else None
    return RateEntry(
        episodes=rate.episodes,
        days=rate.days,
        per_day_lower=rate.lower,
        per_day_upper=upper,
        stalled_each=rate.stalled_each,
    )


def _label(change: ChangeEntry) -> str:
    first = next(iter(change.moved), None)
    return change.kind if first is None else f"{change.kind}: {first.name} {_shown(first.before_ms, first.after_ms)}"


def _shown(*values_ms: int) -> str:
    return " → ".join(durations.show(durations.parse(f"{value_ms}ms")) for value_ms in values_ms)
