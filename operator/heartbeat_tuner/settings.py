"""The operator's own configuration: one YAML file.

Addresses stand here and nowhere else: a policy names a Kafka cluster, never its address. Secrets do not stand here: the
files that hold them are named. `load` turns a file into `Settings`, or into an error that names field, value and rule.
"""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import pydantic
import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import InvalidSettingsError

SERVICE_ACCOUNT_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""Where a pod finds the namespace it runs in."""

_SERVER: Final = re.compile(r"([^\s:/,\[\]@]+|\[[0-9A-Fa-f:.]+\]):[1-9][0-9]{0,4}")
_LAST_PORT: Final = 65_535

_NAME: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"


def _parsed(text: object) -> timedelta:
    if not isinstance(text, str):
        raise ValueError("write a duration as text, like 60s")  # noqa: TRY004 - pydantic reports ValueErrors by field
    return durations.parse(text)


def _duration(text: object) -> timedelta:
    duration = _parsed(text)
    if duration <= timedelta(0):
        raise ValueError("must be greater than zero")
    return duration


def _between(shortest: timedelta, longest: timedelta) -> BeforeValidator:
    def duration(text: object) -> timedelta:
        found = _parsed(text)
        if not shortest <= found <= longest:
            between = f"{durations.show(shortest)} and {durations.show(longest)}"
            raise ValueError(f"{text!r} is not between {between}; choose a time within that")
        return found

    return BeforeValidator(duration)


Duration = Annotated[timedelta, BeforeValidator(_duration)]

# librdkafka takes 5 minutes at most; well before that the operator's own probe would call the cycle stuck.
Timeout = Annotated[timedelta, _between(timedelta(milliseconds=100), timedelta(minutes=1))]

# Members are seen only when a cycle looks; the record that is judged covers an hour.
Interval = Annotated[timedelta, _between(timedelta(milliseconds=100), timedelta(minutes=10))]


class _Section(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid")


class PrometheusSettings(_Section):
    """Where metrics are read."""

    url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")]
    timeout: Timeout = timedelta(seconds=10)  # below a pod's usual grace period: a query may hold up the end


def _servers(text: object) -> str:
    """Return broker addresses without white space."""
    servers = [one.strip() for one in text.split(",")] if isinstance(text, str) else []
    if not servers or not all(_SERVER.fullmatch(one) and int(one.rpartition(":")[2]) <= _LAST_PORT for one in servers):
        raise ValueError(
            f"{text!r} is not a list of brokers; write host:port, with commas between several, like kafka-0.kafka:9092"
        )
    return ",".join(servers)


class SaslSettings(_Section):
    """Who the operator is, and the file with its password."""

    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    username: Annotated[str, Field(min_length=1)] | None = None
    username_file: Path | None = None
    password_file: Path

    @model_validator(mode="before")
    @classmethod
    def _no_password_here(cls, data: Any) -> Any:
        if isinstance(data, dict) and "password" in data:
            raise ValueError(
                "password may not stand in this file, which is no Secret; mount the Secret that holds it, and set "
                "passwordFile to its path"
            )
        return data

    @model_validator(mode="after")
    def _one_user(self) -> Self:
        if (self.username is None) == (self.username_file is None):
            found = "neither is" if self.username is None else "both are"
            raise ValueError(f"one of username and usernameFile must be set, and {found}; set one")
        return self


class TlsSettings(_Section):
    """PEM files: whom to trust, and what to show."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    key_password_file: Path | None = None

    @model_validator(mode="after")
    def _whole_pairs(self) -> Self:
        for name, other, one, needed in (
            ("certFile", "keyFile", self.cert_file, self.key_file),
            ("keyFile", "certFile", self.key_file, self.cert_file),
            ("keyPasswordFile", "keyFile", self.key_password_file, self.key_file),
        ):
            if one is not None and needed is None:
                raise ValueError(f"{name} is {str(one)!r}, and {other} is not set, which belongs to it; set {other}")
        return self


class KafkaClusterSettings(_Section):
    """One Kafka cluster that policies may name."""

    bootstrap_servers: Annotated[str, BeforeValidator(_servers)]
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl: SaslSettings | None = None
    tls: TlsSettings | None = None

    @model_validator(mode="after")
    def _protocol_uses_what_is_set(self) -> Self:
        protocol = self.security_protocol
        uses_sasl, uses_tls = protocol.startswith("SASL_"), protocol.endswith("SSL")
        if uses_sasl and self.sasl is None:
            raise ValueError(f"securityProtocol {protocol} needs sasl, which is not set; add sasl.mechanism and a user")
        if self.sasl is not None and not uses_sasl:
            use = "SASL_SSL" if uses_tls else "SASL_SSL or SASL_PLAINTEXT"
            raise ValueError(f"sasl is set, and securityProtocol {protocol} makes no use of it; set {use}")
        if self.tls is not None and not uses_tls:
            use = "SASL_SSL" if uses_sasl else "SSL or SASL_SSL"
            raise ValueError(f"tls is set, and securityProtocol {protocol} makes no use of it; set {use}")
        return self


class KafkaSettings(_Section):
    """The Kafka clusters."""

    clusters: dict[str, KafkaClusterSettings]
    timeout: Timeout = timedelta(seconds=10)


class HttpSettings(_Section):
    """Where probes and the operator's own metrics answer."""

    address: str = "0.0.0.0"  # noqa: S104 - the kubelet and Prometheus come from outside the pod
    port: Annotated[int, Field(ge=1, le=_LAST_PORT)] = 8080


class KubernetesSettings(_Section):
    """How the API server is talked to; where it is comes from the service account or the kubeconfig."""

    timeout: Timeout = timedelta(seconds=30)


class LeaderElectionSettings(_Section):
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


class Settings(_Section):
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
