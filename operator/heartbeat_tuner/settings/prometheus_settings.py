"""The section `prometheus`: where metrics are read, and who reads them."""

import re
import ssl
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from heartbeat_tuner.settings.sections import MountedFile, Section, Timeout


class BasicAuthSettings(Section):
    """User and password."""

    username: Annotated[str, Field(min_length=1)]
    password_file: MountedFile

    @field_validator("username")
    @classmethod
    def _without_a_colon(cls, username: str) -> str:
        if ":" in username or not username.isprintable():
            raise ValueError("must not hold a colon, which ends it in HTTP, nor control characters; name another user")
        return username


class PrometheusTlsSettings(Section):
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

_LIKE_A_SECRET: Final = re.compile(r"key|token|secret|passw|auth|cred|session|signature", re.IGNORECASE)
"""In the name of a header: its value is most likely one."""

OWN_TOKENS: Final = tuple(Path(f"{run}/secrets/kubernetes.io/serviceaccount/token") for run in ("/var/run", "/run"))
"""What opens the API server to the operator, with its rights to write."""

_SECRET_HEADERS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})


class PrometheusSettings(Section):
    """Where metrics are read, and who reads them. Secrets stand in files, never here."""

    url: str
    timeout: Timeout = timedelta(seconds=10)  # below a pod's usual grace period: a query may hold up the end
    headers: dict[str, str] = Field(default_factory=dict)
    bearer_token_file: MountedFile | None = None
    basic_auth: BasicAuthSettings | None = None
    allow_credentials_over_http: Annotated[bool, Field(strict=True)] = False
    tls: PrometheusTlsSettings | None = None
    # Reading takes ten times as much memory, and the pod has 512 MiB.
    max_answer_bytes: Annotated[int, Field(ge=2**16, le=2**30)] = 2**24

    @field_validator("url")
    @classmethod
    def _is_a_base_address(cls, url: str) -> str:
        # Not shown where there is an @: what stands before it may be a password.
        shown, bare = ("the address", "…") if "@" in url else (repr(url), url.rpartition("://")[2])
        if re.match(r"https?://", url) is None:
            raise ValueError(f"write http://{bare or 'prometheus:9090'} or https://…: {shown} has no such scheme")
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or re.search(r"\s", url):
            raise ValueError(f"write host and port, like http://prometheus:9090: {shown} is no such address")
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
                # Not shown: it may be a key, and the message goes to logs and to an Event.
                raise ValueError(
                    f"the value of {name} has a line break, an outer space or a character that is not in ASCII; "
                    f"leave those out"
                )
        if len({name.lower() for name in headers}) < len(headers):
            raise ValueError("one header is given twice, in different case; leave one out")
        return headers

    @field_validator("bearer_token_file", mode="before")
    @classmethod
    def _is_for_prometheus(cls, file: object) -> object:
        if isinstance(file, str | Path) and Path(file).resolve() in {own_token.resolve() for own_token in OWN_TOKENS}:
            raise ValueError(
                f"{file} is the pod's own token for the API server, and who runs Prometheus could use its rights; "
                f"project a token with an audience of its own, or mount one of an account without rights"
            )
        return file

    @model_validator(mode="after")
    def _credentials_are_encrypted(self) -> Self:
        secrets = [
            *(["bearerTokenFile"] if self.bearer_token_file is not None else []),
            *(["basicAuth"] if self.basic_auth is not None else []),
            *(f"the header {name}" for name in self.headers if _LIKE_A_SECRET.search(name)),
        ]
        if secrets and not self.url.startswith("https:") and not self.allow_credentials_over_http:
            raise ValueError(
                f"url {self.url} is not https, and everybody on the way could read what {secrets[0]} sends; give an "
                f"https address, or say allowCredentialsOverHttp: true"
            )
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.bearer_token_file is not None and self.basic_auth is not None:
            raise ValueError("bearerTokenFile and basicAuth are both set, and a request holds one; leave one out")
        if self.tls is not None and not self.url.startswith("https:"):
            raise ValueError(f"tls is set, but url {self.url} is not https; change the url, or leave tls out")
        return self
