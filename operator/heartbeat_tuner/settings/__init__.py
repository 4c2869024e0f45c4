"""The operator's own configuration: one YAML file, a module per section that is more than a few fields.

Addresses stand here and nowhere else: a policy names a Kafka cluster, never its address. Secrets do not stand here: the
files that hold them are named. `load` turns a file into `Settings`, or into an error that names field, value and rule.
"""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Self

import pydantic
import yaml
from pydantic import Field, model_validator

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import InvalidSettingsError
from heartbeat_tuner.settings.kafka import KafkaSettings
from heartbeat_tuner.settings.prometheus import PrometheusSettings
from heartbeat_tuner.settings.sections import Duration, Section, Timeout, between

SERVICE_ACCOUNT_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""Where a pod finds the namespace it runs in."""

_NAME: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"

# Members are seen only when a cycle looks; the record that is judged covers an hour.
Interval = Annotated[timedelta, between(timedelta(milliseconds=100), timedelta(minutes=10))]


class HttpSettings(Section):
    """Where probes and the operator's own metrics answer."""

    address: str = "0.0.0.0"  # noqa: S104 - the kubelet and Prometheus come from outside the pod
    port: Annotated[int, Field(ge=1, le=65_535)] = 8080


class KubernetesSettings(Section):
    """How the API server is talked to; where it is comes from the service account or the kubeconfig."""

    timeout: Timeout = timedelta(seconds=30)


class LeaderElectionSettings(Section):
    """The lease that the replicas compete for, and its times, as client-go names them."""

    namespace: Annotated[str, Field(pattern=_NAME, max_length=63)] | None = None
    lease_name: Annotated[str, Field(pattern=_NAME, max_length=63)] = "heartbeat-tuner"
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

    def where(self, service_account: Path = SERVICE_ACCOUNT_NAMESPACE) -> str:
        """Return the lease's namespace: the one that is set, else the pod's own.

        Args:
            service_account: the file in which a pod finds its namespace.

        Raises:
            InvalidSettingsError: there is neither.
        """
        if self.namespace is not None:
            return self.namespace
        try:
            return service_account.read_text().strip()
        except OSError as error:
            raise InvalidSettingsError(
                f"leaderElection.namespace is not set, and {service_account} cannot be read ({error.strerror}): the "
                f"lease must have a namespace; outside a pod set leaderElection.namespace"
            ) from error


class Settings(Section):
    """Everything the operator is told."""

    prometheus: PrometheusSettings
    kafka: KafkaSettings
    kubernetes: KubernetesSettings = KubernetesSettings()
    leader_election: LeaderElectionSettings = LeaderElectionSettings()
    http: HttpSettings = HttpSettings()
    interval: Interval = timedelta(seconds=60)


def load(path: Path) -> Settings:
    """Return the settings in `path`.

    Raises:
        InvalidSettingsError: the file cannot be read, or a field does not fit.
    """
    try:
        document = yaml.safe_load(path.read_text())
    except UnicodeDecodeError as error:
        raise InvalidSettingsError(f"{path} is no text in UTF-8") from error
    except OSError as error:
        raise InvalidSettingsError(f"{path} cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise InvalidSettingsError(f"{path} is no YAML: {error}") from error
    except RecursionError:
        raise InvalidSettingsError(f"{path} is nested too deep; five levels are enough") from None
    except (ValueError, ArithmeticError, LookupError, AttributeError) as error:  # as PyYAML lets them through
        raise InvalidSettingsError(
            f"{path} is no YAML: it holds a number or a date that is none; put it in quotes"
        ) from error
    try:
        return Settings.model_validate(document)
    except pydantic.ValidationError as error:
        lines = [f"  {'.'.join(map(str, one['loc'])) or '(whole file)'}: {one['msg']}" for one in error.errors()]
        raise InvalidSettingsError(f"{path} does not fit:\n" + "\n".join(lines)) from error
