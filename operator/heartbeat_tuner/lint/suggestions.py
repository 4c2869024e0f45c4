"""Which values would hold, where `linting` found errors or warnings?

The operator's own rule (`allowed_values`), without a record: H of at least 1 s, W of at most H where the beat waits for
the fetch, S of at least the library's default, three beats and the broker's minimum, M and R of 1.3 times the longest
handler, and of at least S where the library wants that.
What nothing was found against is kept. Only a session above what is allowed is lowered: somebody asked for it; and H,
to the library's default, where no session would be long enough otherwise.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.limits import allowed_values
from heartbeat_tuner.limits.allowed_values import LONGEST, Infeasible, Limit
from heartbeat_tuner.lint import checked_settings
from heartbeat_tuner.lint.checked_settings import Expectations, Inspected, LintFinding, Origin
from heartbeat_tuner.lint.rule import Rule
from heartbeat_tuner.lint.rules import beat_rules, poll_rules, rebalance_rules, session_rules, value_rules

_HANDLER_LIMITS: Final = {
    poll_rules.HANDLER_OUTLASTS_POLL: Setting.MAX_POLL_INTERVAL,
    rebalance_rules.HANDLER_OUTLASTS_REBALANCE: Setting.REBALANCE_TIMEOUT,
}
"""The setting that a handler must not outlast, by the rule that says so."""

_BEAT_RULES: Final = beat_rules.BEAT_RULES | {beat_rules.FEW_AT_WORST}

_SESSION_RULES: Final = _BEAT_RULES | {
    session_rules.HANDLER_OUTLASTS_SESSION,
    session_rules.OUTSIDE_BROKER_BOUNDS,
    session_rules.NEAR_BROKER_FLOOR,
    session_rules.SLOW_DETECTION,
    session_rules.PAUSE_OUTLASTS_SESSION,
    value_rules.OUT_OF_RANGE,
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
    if value_rules.IMPLAUSIBLE in broken:
        return None
    values = inspected.values
    if broken & _SESSION_RULES and inspected.knows(*inspected.beat_settings):
        held = _session_held(inspected, expectations, beat_is_sound=not broken & _BEAT_RULES)
        if isinstance(held, Infeasible):
            return held
        values = held
    for rule, setting in _HANDLER_LIMITS.items():
        if rule in broken and expectations.handler_time is not None:
            limited = _limit_held(inspected, expectations.handler_time, setting, values)
            if isinstance(limited, Infeasible):
                return limited
            values = limited
    values = _within_reach(inspected, expectations, broken, values)
    if inspected.knows(Setting.SESSION_TIMEOUT, *inspected.client.must_cover_session):
        values = _session_covered(values, inspected.client)
    changes = _changes(inspected, values)
    removals = inspected.misplaced
    return Remedy(changes, removals) if changes or removals else None


def _within_reach(
    inspected: Inspected, expectations: Expectations, broken: AbstractSet[Rule], values: LivenessSettings
) -> LivenessSettings:
    """Return `values` with limits that are far out brought to the library's default, or to what the beat needs."""
    client, held = inspected.client, dict(values.by_setting)
    far_out = {poll_rules.HUGE_POLL, poll_rules.TINY_POLL, value_rules.OUT_OF_RANGE}
    limit, default = held.get(Setting.MAX_POLL_INTERVAL), client.defaults.max_poll_interval
    if limit is not None and default is not None and inspected.knows(Setting.MAX_POLL_INTERVAL):
        waits = client.poll_limit_factor * limit
        too_long = waits > poll_rules.longest_of_use(expectations)
        if broken & far_out and (too_long or waits < poll_rules.TINY):
            handler = allowed_values.poll_limit_for(client, expectations.handler_time or timedelta(0))
            held[Setting.MAX_POLL_INTERVAL] = allowed_values.step(max(handler, default), LONGEST)
    most = client.longest.get(Setting.FETCH_WAIT)
    if most is not None and held[Setting.FETCH_WAIT] > most:
        held[Setting.FETCH_WAIT] = client.defaults.fetch_wait
    setting = client.rebalance_wait
    follows = setting in client.shares and inspected.origins[setting] is not Origin.GIVEN
    if setting is not Setting.SESSION_TIMEOUT and not follows and inspected.knows(setting, *inspected.beat_settings):
        longest = client.period(LivenessSettings.of(held), expectations.at_rest).longest
        if value_rules.arithmetic(client, setting) * held[setting] <= longest:
            least = durations.ceil_to_second(longest + timedelta(milliseconds=1))
            held[setting] = allowed_values.step(max(least, client.defaults[setting]), LONGEST)
    return LivenessSettings.of(held)


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
    floor, ceiling = allowed_values.tightest(_floors(inspected, expectations), _ceilings(inspected, expectations))
    session = allowed_values.session_between(floor, ceiling, inspected.client)
    if isinstance(session, Infeasible):
        return session
    capped = min(inspected.values.session_timeout, ceiling.value)
    return dataclasses.replace(inspected.values, session_timeout=max(session, capped))


def _floors(inspected: Inspected, expectations: Expectations) -> list[Limit]:
    """Return what S must not be below."""
    period = inspected.client.period(inspected.values, expectations.at_rest).longest
    bounds = expectations.broker_session
    floors = [
        allowed_values.beats_held(period),
        allowed_values.broker_limit(bounds.least, "min", assumed=not bounds.is_known("min")),
    ]
    paused = session_rules.paused_silence(inspected, expectations)
    if paused is not None:
        longer = durations.ceil_to_second(paused + timedelta(milliseconds=1))
        floors.append(Limit(longer, say("longer than a member is silent that pauses, {silence}", silence=paused)))
    silence = session_rules.silence(inspected, expectations)
    if silence is not None:
        longer = durations.ceil_to_second(silence + timedelta(milliseconds=1))
        name = say("longer than a member is silent while a handler runs, {silence}", silence=silence)
        floors.append(Limit(longer, name))
    return floors


def _ceilings(inspected: Inspected, expectations: Expectations) -> list[Limit]:
    """Return what S must not be above."""
    client, bounds = inspected.client, expectations.broker_session
    return [
        Limit(expectations.detection_time(client), "--max-detection-time"),
        allowed_values.broker_limit(bounds.most, "max", assumed=not bounds.is_known("max")),
        Limit(client.longest.get(Setting.SESSION_TIMEOUT, LONGEST), f"the longest that {client.title} takes,"),
    ]


def _limit_held(
    inspected: Inspected, handler: timedelta, setting: Setting, values: LivenessSettings
) -> LivenessSettings | Infeasible:
    """Return `values` with a limit that the handler keeps."""
    default = inspected.client.defaults[setting]
    factor = value_rules.arithmetic(inspected.client, setting)  # of a library that doubles what is set
    needed = durations.ceil_to_second(allowed_values.POLL_GAP_MARGIN * handler / factor)
    longest = inspected.client.longest.get(setting, LONGEST) / factor
    if needed > longest:
        return Infeasible(
            say(
                "No {setting} fits: the handler needs at least {needed} ({times:g} times {handler}), but {whose} "
                "longest is {longest}",
                setting=checked_settings.NAMES[setting],
                needed=needed,
                times=allowed_values.POLL_GAP_MARGIN,
                handler=handler,
                whose="Kafka's" if longest == LONGEST else f"{inspected.client.title}'s",
                longest=longest,
            )
        )
    return LivenessSettings.of({**values.by_setting, setting: allowed_values.step(max(needed, default), longest)})


def _session_covered(values: LivenessSettings, client: Client) -> LivenessSettings:
    """Return `values` with what must not be shorter than the session raised to it, where the library wants that."""
    raised = {
        setting: values.session_timeout
        for setting in client.must_cover_session
        if client.poll_limit_factor * values[setting] < values.session_timeout
    }
    return LivenessSettings.of({**values.by_setting, **raised})
