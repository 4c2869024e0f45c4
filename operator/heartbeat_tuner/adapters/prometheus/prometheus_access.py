"""How a Prometheus is reached: its address, what is trusted, and who we are.

Secrets stand in files, and are read for each request: a projected token changes under its path.
"""

import base64
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from requests.auth import AuthBase

from heartbeat_tuner.adapters.prometheus.prometheus_failures import Failure, SettingsFix
from heartbeat_tuner.domain.errors import MetricsCause


@dataclasses.dataclass(frozen=True, slots=True)
class BasicAuth:
    """A user and the file that holds the password."""

    username: str
    password_file: Path


@dataclasses.dataclass(frozen=True, slots=True)
class ClientCertificate:
    """PEM files of a certificate, with those between it and its authority, and of its key."""

    cert_file: Path
    key_file: Path


@dataclasses.dataclass(frozen=True, slots=True)
class PrometheusAccess:
    """Where Prometheus is, and what it is told.

    Attributes:
        url: base address, to which `/api/v1/query` is appended.
        headers: sent with each request: which tenant, for example; nothing secret.
        bearer_token_file: what to send as a bearer token; not beside `basic_auth`.
        basic_auth: user and password.
        ca_file: PEM file of the authorities to trust; None for those that certifi knows.
        client_certificate: what we prove ourselves by in TLS.
        server_name: the name in Prometheus' certificate; None if it is the address'.
    """

    url: str
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    bearer_token_file: Path | None = None
    basic_auth: BasicAuth | None = None
    ca_file: Path | None = None
    client_certificate: ClientCertificate | None = None
    server_name: str | None = None

    def credentials(self) -> "Credentials":
        """Return what the files of the credentials hold now; look whether those of TLS are there.

        Raises:
            Failure: a file cannot be read, or holds no secret.
        """
        certificate = self.client_certificate
        of_client = () if certificate is None else (certificate.cert_file, certificate.key_file)
        for path in (self.ca_file, *of_client):
            if path is not None:
                _read("TLS", path)
        if self.bearer_token_file is not None:
            token = _secret("bearer token", self.bearer_token_file)
            if not token.isascii():
                raise _unusable("bearer token", self.bearer_token_file, "holds characters that are not ASCII")
            return Credentials(f"Bearer {token}", (token,))
        if self.basic_auth is not None:
            password = _secret("password", self.basic_auth.password_file)
            pair = base64.b64encode(f"{self.basic_auth.username}:{password}".encode()).decode()
            return Credentials(f"Basic {pair}", (pair, password))
        return Credentials(None, ())


class Credentials(AuthBase):
    """What one request proves itself by.

    requests is always given one, with nothing in it if need be: it would look into `~/.netrc` otherwise.

    Attributes:
        secrets: what must not be told on.
    """

    def __init__(self, authorization: str | None, secrets: tuple[str, ...]) -> None:
        self._authorization = authorization
        self.secrets = secrets

    def __call__(self, request: Any) -> Any:
        """Add it to a request."""
        if self._authorization is not None:
            request.headers["Authorization"] = self._authorization
        return request


def _read(what: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unusable(what, path, f"cannot be read ({error.strerror})") from error


def _secret(what: str, path: Path) -> str:
    try:
        text = _read(what, path).decode().strip()
    except UnicodeDecodeError:
        raise _unusable(what, path, "is no text in UTF-8") from None  # the error would hold the bytes
    if not text or not text.isprintable():  # a line break would end the header
        raise _unusable(what, path, "is empty" if not text else "holds more than one line, or control characters")
    return text


def _unusable(what: str, path: Path, why: str) -> Failure:
    """Return that a file is of no use: as good as credentials that Prometheus refuses."""
    sentence = f"Prometheus was not asked: the {what} file {path} {why}"
    return Failure(MetricsCause.REFUSED, sentence, fix=SettingsFix.MOUNT_AGAIN)
