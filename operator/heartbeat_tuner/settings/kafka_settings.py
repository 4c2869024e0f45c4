"""The section `kafka`: the clusters that policies may name, and how they are reached."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from heartbeat_tuner.api.names import ClusterName
from heartbeat_tuner.api.v1alpha1 import fields
from heartbeat_tuner.domain import grants
from heartbeat_tuner.domain.grants import Grant
from heartbeat_tuner.settings.sections import NAME, Section, Timeout

_SERVER: Final = re.compile(r"([^\s:/,\[\]@]+|\[[0-9A-Fa-f:.]+\]):[1-9][0-9]{0,4}")
_LAST_PORT: Final = 65_535


def _servers(text: object) -> str:
    """Return broker addresses without white space."""
    servers = [server.strip() for server in text.split(",")] if isinstance(text, str) else []
    if not servers or not all(
        _SERVER.fullmatch(server) and int(server.rpartition(":")[2]) <= _LAST_PORT for server in servers
    ):
        raise ValueError(
            f"{text!r} is not a list of brokers; write host:port, with commas between several, like kafka-0.kafka:9092"
        )
    return ",".join(servers)


class SaslSettings(Section):
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
            text = "neither is" if self.username is None else "both are"
            raise ValueError(f"one of username and usernameFile must be set, and {text}; set one")
        return self


class KafkaTlsSettings(Section):
    """PEM files: whom to trust, and what to show."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    key_password_file: Path | None = None

    @model_validator(mode="after")
    def _whole_pairs(self) -> Self:
        for name, other, file, needed in (
            ("certFile", "keyFile", self.cert_file, self.key_file),
            ("keyFile", "certFile", self.key_file, self.cert_file),
            ("keyPasswordFile", "keyFile", self.key_password_file, self.key_file),
        ):
            if file is not None and needed is None:
                raise ValueError(f"{name} is {str(file)!r}, and {other} is not set, which belongs to it; set {other}")
        return self


def _group_pattern(text: str) -> str:
    if not text or grants.EVERY in text[:-1]:
        raise ValueError(
            f"{text!r} is no pattern of groups; write a group's name, or the beginning of names with one * at its end, "
            f"like orders-*"
        )
    return fields.printable(text)


def _namespace(text: str) -> str:
    if text != grants.EVERY and not NAME.fullmatch(text):
        raise ValueError(f"{text!r} is no namespace; write its whole name, or * for every namespace")
    return text


class GrantSettings(Section):
    """Groups that policies of some namespaces may name, whichever members they have."""

    namespaces: Annotated[tuple[Annotated[str, AfterValidator(_namespace)], ...], Field(min_length=1)]
    groups: Annotated[tuple[Annotated[str, AfterValidator(_group_pattern)], ...], Field(min_length=1)]


class KafkaClusterSettings(Section):
    """One Kafka cluster that policies may name.

    `heartbeat_budget` is in requests a second; there is none unless one is set. Without `grants` a policy may name
    only groups of which its workload's pods are members. `alter_groups` lets the operator write into the
    configurations of groups of the consumer protocol at the broker.
    """

    bootstrap_servers: Annotated[str, BeforeValidator(_servers)]
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl: SaslSettings | None = None
    tls: KafkaTlsSettings | None = None
    heartbeat_budget: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    grants: tuple[GrantSettings, ...] = ()
    alter_groups: bool = False

    @property
    def granted(self) -> tuple[Grant, ...]:
        """The grants as the rule of ownership takes them."""
        return tuple(Grant(grant.namespaces, grant.groups) for grant in self.grants)

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


class KafkaSettings(Section):
    """The Kafka clusters."""

    clusters: dict[ClusterName, KafkaClusterSettings]
    timeout: Timeout = timedelta(seconds=10)
