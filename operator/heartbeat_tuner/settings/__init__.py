"""The operator's own configuration: one YAML file, a module per section that is more than a few fields.

A new field belongs in the model of its section. Addresses stand here and nowhere else: a policy names a Kafka cluster,
never its address. Secrets do not stand here: the files that hold them are named. `load` turns a file into `Settings`,
or into an error that names field, value and rule.
"""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.shards import MOST_SHARDS
from heartbeat_tuner.settings import files
from heartbeat_tuner.settings.kafka_settings import KafkaSettings
from heartbeat_tuner.settings.prometheus_settings import PrometheusSettings
from heartbeat_tuner.settings.sections import Duration, HttpSettings, Name, Section, WatchedKubernetesSettings, between

# Members are seen only when a cycle looks; the record that is judged covers an hour.
Interval = Annotated[timedelta, between(timedelta(milliseconds=100), timedelta(minutes=10))]


class LeaderElectionSettings(Section):
    """The lease that the replicas compete for, and its times, as client-go names them."""

    namespace: Name | None = None
    lease_name: Name = "heartbeat-tuner"
    lease_duration: Duration = timedelta(seconds=15)
    renew_deadline: Duration = timedelta(seconds=10)
    retry_period: Duration = timedelta(seconds=2)

    @model_validator(mode="after")
    def _each_leaves_room_for_the_next(self) -> Self:
        if self.lease_duration % timedelta(seconds=1):
            raise ValueError(
                f"leaseDuration {durations.show(self.lease_duration)} must be whole seconds, since a Lease "
                f"holds no parts of them; round it"
            )
        if self.lease_duration <= self.renew_deadline:
            raise ValueError(
                f"leaseDuration {durations.show(self.lease_duration)} must be greater than renewDeadline "
                f"{durations.show(self.renew_deadline)}, so that a leader stops before another takes over; raise "
                f"leaseDuration"
            )
        if self.renew_deadline <= self.retry_period:
            raise ValueError(
                f"renewDeadline {durations.show(self.renew_deadline)} must be greater than retryPeriod "
                f"{durations.show(self.retry_period)}, so that a leader renews in time; lower retryPeriod"
            )
        return self

    def where(self, service_account: Path = files.SERVICE_ACCOUNT_NAMESPACE) -> str:
        """Return the lease's namespace: the one that is set, else the pod's own.

        Args:
            service_account: the file in which a pod finds its namespace.

        Raises:
            InvalidSettingsError: there is neither.
        """
        return files.namespace_or_own(self.namespace, "leaderElection.namespace", "the lease", service_account)


class RolloutSettings(Section):
    """How much of the fleet may be disturbed at once."""

    max_concurrent: Annotated[int, Field(strict=True, ge=0, le=10_000)] = 5
    """Workloads that are rolled out by the operator at one moment; 0 lets none begin."""
    canaries: Annotated[bool, Field(strict=True)] = False
    """Whether pods may be evicted for canaries: the operator needs the right, and the webhook has to run."""


class Settings(Section):
    """Everything the operator is told."""

    prometheus: PrometheusSettings
    kafka: KafkaSettings
    kubernetes: WatchedKubernetesSettings = WatchedKubernetesSettings()
    leader_election: LeaderElectionSettings = LeaderElectionSettings()
    rollout: RolloutSettings = RolloutSettings()
    http: HttpSettings = HttpSettings()
    interval: Interval = timedelta(seconds=60)
    shards: Annotated[int, Field(strict=True, ge=1, le=MOST_SHARDS)] = 1
    """Parts into which policies are divided, by namespace; each has a leader of its own."""

    @model_validator(mode="after")
    def _each_shard_may_roll_out(self) -> Self:
        most = self.rollout.max_concurrent
        if 0 < most < self.shards:
            raise ValueError(
                f"rollout.maxConcurrent {most} is less than shards {self.shards}, and so a shard would have no rollout "
                f"at all: each has its part of them; raise rollout.maxConcurrent, or lower shards"
            )
        return self


def load(path: Path) -> Settings:
    """Return the settings in `path`.

    Raises:
        InvalidSettingsError: the file cannot be read, or a field does not fit.
    """
    return files.read(path, Settings)
