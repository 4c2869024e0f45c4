"""The operator's own configuration: one YAML file.

Addresses stand here and nowhere else: a policy names a Kafka cluster, never its address. `load` turns a file into
`Settings`, or into an error that names field, value and rule.
"""

import re
import ssl
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Self
from urllib.parse import urlsplit

import pydantic
import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import InvalidSettingsError

SERVICE_ACCOUNT_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""Where a pod finds the namespace it runs in."""

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


def _readable(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror}); mount the file there, or correct the path"
        ) from None
    return path


MountedFile = Annotated[Path, AfterValidator(_readable)]
"""A file that has to be there at the start, of a Secret most often."""


class BasicAuthSettings(_Section):
    """User and password."""

    username: Annotated[str, Field(min_length=1)]
    password_file: MountedFile

    @field_validator("username")
    @classmethod
    def _without_a_colon(cls, username: str) -> str:
        if ":" in username or not username.isprintable():
            raise ValueError("must not hold a colon, which ends it in HTTP, nor control characters; name another user")
        return username


class TlsSettings(_Section):
    """What is trusted, and what proves the operator."""

    ca_file: MountedFile | None = None
    cert_file: MountedFile | None = None
    key_file: MountedFile | None = None
    server_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?$")] | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.ca_file is not None:
            try:
                ssl.create_default_context(cafile=self.ca_file)
            except ssl.SSLError:
                raise ValueError(f"caFile {self.ca_file} holds no certificate in PEM; give the authority's") from None
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("certFile and keyFile belong together; give both or none")
        if self.cert_file is not None:
            try:
                # A password, so that an encrypted key is an error and no question on a terminal.
                ssl.create_default_context().load_cert_chain(self.cert_file, self.key_file, password="")
            except (ssl.SSLError, ValueError):
                raise ValueError(
                    f"certFile {self.cert_file} and keyFile {self.key_file} are not a certificate and its key in PEM, "
                    f"the key without a password; give such a pair"
                ) from None
        return self


_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

_OWN_HEADERS: Final = frozenset(
    {"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "host"}
    | {"expect", "keep-alive", "trailer", "transfer-encoding", "upgrade"}
)

_SECRET_HEADERS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})


class PrometheusSettings(_Section):
    """Where metrics are read, and who reads them. Secrets stand in files, never here."""

    url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")]
    timeout: Timeout = timedelta(seconds=10)  # below a pod's usual grace period: a query may hold up the end
    headers: dict[str, str] = {}
    bearer_token_file: MountedFile | None = None
    basic_auth: BasicAuthSettings | None = None
    tls: TlsSettings | None = None
    # Reading takes ten times as much memory, and the pod has 512 MiB.
    max_answer_bytes: Annotated[int, Field(ge=2**16, le=2**30)] = 2**24

    @field_validator("url")
    @classmethod
    def _is_a_base_address(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host:
            raise ValueError(f"{url!r} has no host and port; write one like http://prometheus:9090")
        # Not shown: what it says there may be a password.
        if parts.username is not None or parts.password is not None:
            raise ValueError("holds a user or a password; use basicAuth, whose password is in a file")
        if parts.query or parts.fragment:
            raise ValueError("ends in ?... or #...; give only the part before, to which /api/v1/query is appended")
        return url

    @field_validator("headers")
    @classmethod
    def _are_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not _HEADER_NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no name of a header; use letters, digits and hyphens")
            if name.lower() in _SECRET_HEADERS:
                raise ValueError(f"{name} is a secret, and belongs in a file: use bearerTokenFile or basicAuth")
            if name.lower() in _OWN_HEADERS:
                raise ValueError(f"{name} is set by the operator itself; leave it out")
            if not (value.isascii() and value.isprintable() and value == value.strip()):
                raise ValueError(
                    f"{name}: {value!r} has a line break, an outer space or a character that is not in ASCII; "
                    f"leave those out"
                )
        if len({name.lower() for name in headers}) < len(headers):
            raise ValueError("one header is given twice, in different case; leave one out")
        return headers

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.bearer_token_file is not None and self.basic_auth is not None:
            raise ValueError("bearerTokenFile and basicAuth are both set, and a request holds one; leave one out")
        if self.tls is not None and not self.url.startswith("https:"):
            raise ValueError(f"tls is set, but url {self.url} is not https; change the url, or leave tls out")
        return self


class KafkaClusterSettings(_Section):
    """One Kafka cluster that policies may name."""

    bootstrap_servers: Annotated[str, Field(min_length=1)]


class KafkaSettings(_Section):
    """The Kafka clusters."""

    clusters: dict[str, KafkaClusterSettings]
    timeout: Timeout = timedelta(seconds=10)


class HttpSettings(_Section):
    """Where probes and the operator's own metrics answer."""

    address: str = "0.0.0.0"  # noqa: S104 - the kubelet and Prometheus come from outside the pod
    port: Annotated[int, Field(ge=1, le=65_535)] = 8080


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
