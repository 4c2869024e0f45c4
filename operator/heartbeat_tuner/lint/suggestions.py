"""Which values would hold, where `linting` found errors or warnings?

The operator's own rule (`allowed_values`), without a record: H of at least 1 s, W of at most H where the beat waits for
the fetch, S of at least the library's default, three beats and the broker's minimum, M and R of 1.3 times the longest
handler, and of at least S where the library wants that.
What nothing was found against is kept. Only a session above what is allowed is lowered: somebody asked for it; and H,
to the library's default, where no session would be long enough otherwise.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.kafka_groups import DEFAULT_MAX_SESSION, DEFAULT_MIN_SESSION
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.limits import allowed_values
from heartbeat_tuner.limits.allowed_values import LONGEST, Infeasible, Limit
from heartbeat_tuner.lint import checked_settings, linting, rule_catalogue
from heartbeat_tuner.lint.checked_settings import Expectations, Inspected, LintFinding, Origin

_HANDLER_LIMITS: Final = {
    rule_catalogue.HANDLER_OUTLASTS_POLL: Setting.MAX_POLL_INTERVAL,
    rule_catalogue.HANDLER_OUTLASTS_REBALANCE: Setting.REBALANCE_TIMEOUT,
}
"""The setting that a handler must not outlast, by the rule that says so."""

_SESSION_RULES: Final = rule_catalogue.BEAT_RULES | {
    rule_catalogue.HANDLER_OUTLASTS_SESSION,
    rule_catalogue.OUTSIDE_BROKER_BOUNDS,
    rule_catalogue.SLOW_DETECTION,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Remedy:
    """What to change.

    Attributes:
        changes: new values, in the API's order.
        removals: settings to take out of the client's configuration.
    """

    changes: Mapping[Setting, timedelta]
    removals: tuple[Setting, ...]


def suggest(
    inspected: Inspected, expectations: Expectations, findings: Sequence[LintFinding]
) -> Remedy | Infeasible | None:
    """Return what would hold: it has neither errors nor warnings of its own; None if nothing has to change.

    Nor is anything derived from a value that was read in another unit.
    """
    broken = {finding.rule for finding in findings}
    if rule_catalogue.IMPLAUSIBLE in broken:
        return None
    values = inspected.values
    if broken & _SESSION_RULES and inspected.knows(*inspected.beat_settings):
        held = _session_held(inspected, expectations, beat_is_sound=not broken & rule_catalogue.BEAT_RULES)
        if isinstance(held, Infeasible):
            return held
        values = held
    for rule, setting in _HANDLER_LIMITS.items():
        if rule in broken and expectations.handler_time is not None:
            limited = _limit_held(inspected, expectations.handler_time, setting, values)
            if isinstance(limited, Infeasible):
                return limited
            values = limited
    if inspected.knows(Setting.SESSION_TIMEOUT, *inspected.client.must_cover_session):
        values = _session_covered(values, inspected.client)
    changes = _changes(inspected, values)
    removals = inspected.misplaced
    return Remedy(changes, removals) if changes or removals else None


def _changes(inspected: Inspected, values: LivenessSettings) -> dict[Setting, timedelta]:
    """Return what has to be set so that `values` hold: also an H that would grow with S where it is not set.

    An R that follows S may do so.
    """
    changed = set(liveness.changed(inspected.values, values))
    given = {
        setting: value for setting, value in values.by_setting.items() if inspected.origins.get(setting) is Origin.GIVEN
    }
    follows = inspected.client.filled(given | {setting: values[setting] for setting in changed})
    return {
        setting: values[setting]
        for setting in inspected.client.settings
        if setting in changed or (setting is not Setting.REBALANCE_TIMEOUT and follows[setting] != values[setting])
    }


def _session_held(
    inspected: Inspected, expectations: Expectations, *, beat_is_sound: bool
) -> LivenessSettings | Infeasible:
    """Return values whose session holds, with the beat that is nearest to what is set."""
    values, client = inspected.values, inspected.client
    interval = max(values.heartbeat_interval, allowed_values.HEARTBEAT_FLOOR)
    # The least change first.
    beats = [values] if beat_is_sound else []
    beats.append(allowed_values.with_interval(values, client, interval))
    beats.append(allowed_values.with_interval(values, client, min(interval, client.defaults.heartbeat_interval)))
    tried = [_with_session(dataclasses.replace(inspected, values=beat), expectations) for beat in beats]
    return next(
        (liveness_settings for liveness_settings in tried if isinstance(liveness_settings, LivenessSettings)), tried[-1]
    )


def _with_session(inspected: Inspected, expectations: Expectations) -> LivenessSettings | Infeasible:
    """Return the values with a session that holds for their beat."""
    floor, ceiling = allowed_values.tightest(_floors(inspected, expectations), _ceilings(expectations))
    session = allowed_values.session_between(floor, ceiling, inspected.client)
    if isinstance(session, Infeasible):
        return session
    capped = min(inspected.values.session_timeout, ceiling.value)
    return dataclasses.replace(inspected.values, session_timeout=max(session, capped))


def _floors(inspected: Inspected, expectations: Expectations) -> list[Limit]:
    """Return what S must not be below."""
    period = inspected.client.period(inspected.values, expectations.at_rest).longest
    floors = [allowed_values.beats_held(period), allowed_values.broker_limit(DEFAULT_MIN_SESSION, "min", assumed=True)]
    silence = linting.silence(inspected, expectations)
    if silence is not None:
        longer = durations.ceil_to_second(silence + timedelta(milliseconds=1))
        name = say("longer than a member is silent while a handler runs, {silence}", silence=silence)
        floors.append(Limit(longer, name))
    return floors


def _ceilings(expectations: Expectations) -> list[Limit]:
    """Return what S must not be above."""
    return [
        Limit(expectations.max_detection_time, "--max-detection-time"),
        allowed_values.broker_limit(DEFAULT_MAX_SESSION, "max", assumed=True),
    ]


def _limit_held(
    inspected: Inspected, handler: timedelta, setting: Setting, values: LivenessSettings
) -> LivenessSettings | Infeasible:
    """Return `values` with a limit that the handler keeps."""
    default = inspected.client.defaults[setting]
    needed = durations.ceil_to_second(allowed_values.POLL_GAP_MARGIN * handler)
    if needed > LONGEST:
        return Infeasible(
            say(
                "No {setting} fits: the handler needs at least {needed} ({times:g} times {handler}), but Kafka's "
                "longest is {longest}",
                setting=checked_settings.NAMES[setting],
                needed=needed,
                times=allowed_values.POLL_GAP_MARGIN,
                handler=handler,
                longest=LONGEST,
            )
        )
    return LivenessSettings.of({**values.by_setting, setting: allowed_values.step(max(needed, default), LONGEST)})


def _session_covered(values: LivenessSettings, client: Client) -> LivenessSettings:
    """Return `values` with what must not be shorter than the session raised to it, where the library wants that."""
    raised = {
        setting: values.session_timeout
        for setting in client.must_cover_session
        if client.poll_limit_factor * values[setting] < values.session_timeout
    }
    return LivenessSettings.of({**values.by_setting, **raised})
