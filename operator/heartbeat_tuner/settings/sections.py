"""What every section of the configuration shares: how fields are named, durations, and files that must be there."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from heartbeat_tuner.domain import durations


def _parsed(text: object) -> timedelta:
    if not isinstance(text, str):
        raise ValueError(f"{text!r} has no unit; write a duration as text, such as 60s")  # noqa: TRY004 - pydantic reports ValueErrors by field
    return durations.parse_days(text)


def _duration(text: object) -> timedelta:
    duration = _parsed(text)
    if duration <= timedelta(0):
        raise ValueError(f"{text!r} is not greater than zero; write a longer time, such as 10s")
    return duration


def between(shortest: timedelta, longest: timedelta) -> BeforeValidator:
    """Return what takes a duration within these bounds, and refuses any other with both of them."""

    def duration(text: object) -> timedelta:
        parsed = _parsed(text)
        if not shortest <= parsed <= longest:
            between = f"{durations.show(shortest)} and {durations.show(longest)}"
            raise ValueError(f"{text!r} is not between {between}; choose a time within that")
        return parsed

    return BeforeValidator(duration)


Duration = Annotated[timedelta, BeforeValidator(_duration)]

# librdkafka takes 5 minutes at most; well before that the operator's own probe would call the cycle stuck.
Timeout = Annotated[timedelta, between(timedelta(milliseconds=100), timedelta(minutes=1))]


class Section(BaseModel):
    """A section: camelCase in the file, and nothing in it that is not known."""

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

NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
"""Of an object in Kubernetes."""


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{twice[0]} is named twice; name it once")
    return names


Port = Annotated[int, Field(ge=1, le=65_535)]


class HttpSettings(Section):
    """Where own metrics and, at a port of their own, probes answer."""

    address: str = ""  # all of them: the kubelet and Prometheus come from outside the pod
    port: Port = 8080
    probe_port: Port = 8081

    @model_validator(mode="after")
    def _two_ports(self) -> Self:
        if self.port == self.probe_port:
            raise ValueError(
                f"port and probePort are both {self.port}, and each needs a port of its own, so that who reads metrics "
                f"cannot make a probe fail; change one"
            )
        return self


class KubernetesSettings(Section):
    """How the API server is talked to; where it is comes from the service account or the kubeconfig."""

    timeout: Timeout = timedelta(seconds=30)
    namespaces: Annotated[tuple[Name, ...], AfterValidator(_each_once)] = ()
    """Where policies and workloads are looked after; everywhere if empty."""


class WatchedKubernetesSettings(KubernetesSettings):
    """How the operator talks to the API server, and which kinds it looks at there beyond those of Kubernetes itself."""

    argo_rollouts: bool = False
    """Whether policies may name Rollouts of Argo Rollouts: needs rights on them."""
