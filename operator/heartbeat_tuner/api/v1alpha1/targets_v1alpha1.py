"""`spec.objective` and `spec.bounds` of a `ConsumerGroupPolicy` v1alpha1: the targets."""

from typing import Annotated, Final

from pydantic import ConfigDict, Field

from heartbeat_tuner.api.v1alpha1.fields import Duration, Model, PositiveDuration, as_ms, on_durations, rules


class ObjectiveSpec(Model):
    """Targets for the group."""

    max_detection_time: Annotated[
        Duration | None,
        Field(
            description="Longest time from a crash to reassignment, such as 30s; limits the session. 60s; kafkajs: 5m."
        ),
    ] = None
    max_false_evictions_per_month: Annotated[
        float,
        Field(
            ge=0,
            le=100_000,
            description="Limit for evictions of live members in the group in 30 days, such as 2 or '0.5'.",
            json_schema_extra={"x-kubernetes-int-or-string": True, "default": 1},
        ),
    ] = 1.0


class DurationRange(Model):
    """Limits for one setting. A side without a value has no limit."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!has(self.min) || !has(self.max) || "
                + on_durations(f"{as_ms('self.min')} <= {as_ms('self.max')}", "self.min", "self.max"),
                "min must not be greater than max; swap them or leave one out",
            )
        )
    )

    min: Annotated[Duration | None, Field(description="Lowest recommended value, such as 10s.")] = None
    max: Annotated[PositiveDuration | None, Field(description="Highest recommended value, such as 60s.")] = None


_LEAST_BEAT: Final = "self.heartbeatInterval.min"
_MOST_SESSION: Final = "self.sessionTimeout.max"


class Bounds(Model):
    """Limits for recommended values."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                (
                    "!has(self.heartbeatInterval) || !has(self.heartbeatInterval.min) || !has(self.sessionTimeout) || "
                    "!has(self.sessionTimeout.max) || "
                    + on_durations(f"{as_ms(_LEAST_BEAT)} < {as_ms(_MOST_SESSION)}", _LEAST_BEAT, _MOST_SESSION)
                ),
                "heartbeatInterval.min must be below sessionTimeout.max: a session must outlast a heartbeat",
            )
        )
    )

    session_timeout: DurationRange | None = None
    heartbeat_interval: DurationRange | None = None
    fetch_wait: DurationRange | None = None
    max_poll_interval: DurationRange | None = None
