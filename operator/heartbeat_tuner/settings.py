"""The operator's own configuration: one YAML file.

Addresses stand here and nowhere else: a policy names a Kafka cluster, never its address. `load` turns a file into
`Settings`, or into an error that names field, value and rule.
"""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import pydantic
import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import InvalidSettingsError


def _duration(text: object) -> timedelta:
    if not isinstance(text, str):
        raise ValueError("write a duration as text, like 60s")  # noqa: TRY004 - pydantic reports ValueErrors by field
    duration = durations.parse(text)
    if duration <= timedelta(0):
        raise ValueError("must be greater than zero")
    return duration


Duration = Annotated[timedelta, BeforeValidator(_duration)]


class _Section(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid")


class PrometheusSettings(_Section):
    """Where metrics are read."""

    url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")]
    timeout: Duration = timedelta(seconds=10)  # below a pod's usual grace period: a query may hold up the end


class KafkaClusterSettings(_Section):
    """One Kafka cluster that policies may name."""

    bootstrap_servers: Annotated[str, Field(min_length=1)]


class KafkaSettings(_Section):
    """The Kafka clusters."""

    clusters: dict[str, KafkaClusterSettings]
    timeout: Duration = timedelta(seconds=10)


class HttpSettings(_Section):
    """Where probes and the operator's own metrics answer."""

    address: str = "0.0.0.0"  # noqa: S104 - the kubelet and Prometheus come from outside the pod
    port: Annotated[int, Field(ge=1, le=65_535)] = 8080


class KubernetesSettings(_Section):
    """How the API server is talked to; where it is comes from the service account or the kubeconfig."""

    timeout: Duration = timedelta(seconds=30)


class Settings(_Section):
    """Everything the operator is told."""

    prometheus: PrometheusSettings
    kafka: KafkaSettings
    kubernetes: KubernetesSettings = KubernetesSettings()
    http: HttpSettings = HttpSettings()
    interval: Duration = timedelta(seconds=60)


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
    try:
        return Settings.model_validate(document)
    except pydantic.ValidationError as error:
        lines = [f"  {'.'.join(map(str, one['loc'])) or '(whole file)'}: {one['msg']}" for one in error.errors()]
        raise InvalidSettingsError(f"{path} does not fit:\n" + "\n".join(lines)) from error
