"""Which values would hold, where `linting` found errors or warnings?

The operator's own rule (`choice`), without a record: H of at least 1 s, W of at most H where the beat waits for the
fetch, S of at least the library's default, three beats and the broker's minimum, M of 1.3 times the longest handler.
What nothing was found against is kept. Only a session above what is allowed is lowered: somebody asked for it; and H,
to the library's default, where no session would be long enough otherwise.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

from heartbeat_tuner.decision import choice, linting
from heartbeat_tuner.decision.choice import Infeasible, Limit
from heartbeat_tuner.decision.linting import Expectations, Finding, Inspected, Origin
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting

LONGEST: Final = timedelta(milliseconds=2**31 - 1)
"""Kafka's protocol has 32 bits for a time."""

_SESSION_RULES: Final = linting.BEAT_RULES | {
    linting.HANDLER_OUTLASTS_SESSION,
    linting.OUTSIDE_BROKER_BOUNDS,
    linting.SLOW_DETECTION,
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


def suggest(inspected: Inspected, expectations: Expectations, findings: Sequence[Finding]) -> Remedy | Infeasible | None:
    """Return what would hold: it has neither errors nor warnings of its own; None if nothing has to change."""
    rules = {finding.rule for finding in findings}
    values = inspected.values
    if rules & _SESSION_RULES and inspected.knows(*inspected.beat_settings):
        held = _session_held(inspected, expectations, beat_is_sound=not rules & linting.BEAT_RULES)
        if isinstance(held, Infeasible):
            return held
        values = held
    if linting.HANDLER_OUTLASTS_POLL in rules and expectations.handler_time is not None:
        polled = _poll_held(inspected, expectations.handler_time, values)
        if isinstance(polled, Infeasible):
            return polled
        values = polled
    changes = {setting: values[setting] for setting in liveness.changed(inspected.values, values)}
    removals = tuple(
        setting
        for setting in inspected.client.settings
        if linting.CONSUMER_PROTOCOL in rules
        and setting in linting.AT_THE_BROKER
        and inspected.origins[setting] is Origin.GIVEN
    )
    return Remedy(changes, removals) if changes or removals else None


def _session_held(
    inspected: Inspected, expectations: Expectations, *, beat_is_sound: bool
) -> LivenessSettings | Infeasible:
    """Return values whose session holds, with the beat that is nearest to what is set."""
    fitted: timedelta | Infeasible | None = None
    first: Infeasible | None = None
    ceiling = min(_ceilings(expectations), key=lambda limit: limit.value)
    for beat in _beats(inspected, keep=beat_is_sound):
        tried = dataclasses.replace(inspected, values=beat)
        floor = max(_floors(tried, expectations), key=lambda limit: limit.value)
        fitted = choice.session_between(floor, ceiling, inspected.client)
        if not isinstance(fitted, Infeasible):
            kept = min(inspected.values.session_timeout, ceiling.value)
            return dataclasses.replace(beat, session_timeout=max(fitted, kept))
        first = first or fitted
    assert first is not None
    return first


def _beats(inspected: Inspected, *, keep: bool) -> Iterator[LivenessSettings]:
    """Yield H and W to try, the least change first."""
    values, client = inspected.values, inspected.client
    if keep:
        yield values
    interval = max(values.heartbeat_interval, choice.HEARTBEAT_FLOOR)
    yield choice.with_interval(values, client, interval)
    yield choice.with_interval(values, client, min(interval, client.defaults.heartbeat_interval))


def _floors(inspected: Inspected, expectations: Expectations) -> list[Limit]:
    """Return what S must not be below."""
    period = inspected.client.period(inspected.values, expectations.brokers).longest
    beats = choice.BEATS_PER_SESSION
    floors = [
        Limit(beats * period, f"{beats} heartbeats of {durations.show(period)}"),
        Limit(linting.BROKER_MIN_SESSION, "the broker's group.min.session.timeout.ms (assumed)"),
    ]
    if inspected.client.handler_delays_beat and expectations.handler_time is not None:
        silence = linting.longest_silence(inspected, expectations.handler_time)
        floors.append(Limit(silence + timedelta(milliseconds=1), "more than a member is silent while a handler runs"))
    return floors


def _ceilings(expectations: Expectations) -> list[Limit]:
    """Return what S must not be above."""
    return [
        Limit(expectations.max_detection_time, "--max-detection-time"),
        Limit(linting.BROKER_MAX_SESSION, "the broker's group.max.session.timeout.ms (assumed)"),
    ]


def _poll_held(inspected: Inspected, handler: timedelta, values: LivenessSettings) -> LivenessSettings | Infeasible:
    """Return `values` with a poll limit that the handler keeps."""
    default = inspected.client.defaults.max_poll_interval
    needed = durations.ceil_to_second(choice.POLL_GAP_MARGIN * handler)
    if needed > LONGEST:
        return Infeasible(
            f"No max poll interval fits: the handler needs at least {durations.show(needed)} "
            f"({choice.POLL_GAP_MARGIN:g} times {durations.show(handler)}), but Kafka's longest is "
            f"{durations.show(LONGEST)}"
        )
    limit = choice.step(needed if default is None else max(needed, default), LONGEST)
    return dataclasses.replace(values, max_poll_interval=limit)
