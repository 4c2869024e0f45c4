"""What is to be read from which Prometheus, and the options of the data source that say the same.

Secrets stand in files, of which the options hold the paths: they are there on the driver and on each executor, and are
read again for each request.
"""

import dataclasses
import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Self

import pydantic

from heartbeat_tuner.api.v1alpha1 import validation_words
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.fitting.prometheus import slices
from heartbeat_tuner.settings.prometheus_settings import PrometheusSettings

CONCURRENT_REQUESTS: Final = 4
"""Prometheus serves 20 queries at once by default, shared with dashboards and rules."""

MOST_CONCURRENT: Final = 64

LARGEST_ANSWER: Final = 2**25
"""Bytes; reading one takes ten times as much memory, in each task."""

TENANT_HEADER: Final = "X-Scope-OrgID"


class SourceError(TunerError):
    """Prometheus cannot be read like this; the message names the option, or the query and its cause."""


@dataclasses.dataclass(frozen=True, slots=True)
class SourceOptions:
    """What is to be read.

    Attributes:
        prometheus: where, and who we are.
        since: the first day, in UTC.
        until: the last day; it has to be over.
        cluster: what the rows call the Kafka cluster.
        namespaces: whose consumers; everybody's if empty.
        max_concurrent_requests: how many at a time, all tasks together.
    """

    prometheus: PrometheusSettings
    since: date
    until: date
    cluster: str = ""
    namespaces: tuple[str, ...] = ()
    max_concurrent_requests: int = CONCURRENT_REQUESTS

    def __post_init__(self) -> None:
        """Look whether it can be read.

        Raises:
            SourceError: not like this.
        """
        if self.since > self.until:
            raise SourceError(f"since {self.since} is after until {self.until}; give the first day, then the last")
        if not 1 <= self.max_concurrent_requests <= MOST_CONCURRENT:
            raise SourceError(
                f"maxConcurrentRequests {self.max_concurrent_requests} is not between 1 and {MOST_CONCURRENT}; "
                f"{CONCURRENT_REQUESTS} leave a Prometheus room for its dashboards and rules"
            )

    def check_over(self, now: datetime) -> None:
        """Look whether the last day is over, and what is read beyond its end: a day that is not would be kept as whole.

        Raises:
            SourceError: not yet.
        """
        over = datetime.combine(self.until + timedelta(days=1), datetime.min.time(), UTC) + slices.AFTER
        if now < over:
            raise SourceError(f"until {self.until} cannot be read whole before {over:%Y-%m-%d %H:%M} UTC; end earlier")

    def options(self) -> dict[str, str]:
        """Return the options of the data source that say this; without the secrets themselves."""
        settings = self.prometheus
        basic, tls = settings.basic_auth, settings.tls
        options = {
            "url": settings.url,
            "timeout": f"{settings.timeout.total_seconds():g}s",
            "maxAnswerBytes": str(settings.max_answer_bytes),
            "headers": json.dumps(settings.headers),
            "bearerTokenFile": settings.bearer_token_file,
            "allowCredentialsOverHttp": "true" if settings.allow_credentials_over_http else None,
            "username": basic and basic.username,
            "passwordFile": basic and basic.password_file,
            "caFile": tls and tls.ca_file,
            "certFile": tls and tls.cert_file,
            "keyFile": tls and tls.key_file,
            "serverName": tls and tls.server_name,
            "since": self.since.isoformat(),
            "until": self.until.isoformat(),
            "cluster": self.cluster,
            "namespaces": ",".join(self.namespaces),
            "maxConcurrentRequests": str(self.max_concurrent_requests),
        }
        return {name: str(value) for name, value in options.items() if value not in {None, ""}}

    @classmethod
    def of_options(cls, options: Mapping[str, str]) -> Self:
        """Return what options say, whatever their case.

        Raises:
            SourceError: they cannot be used; it names the option, the value and the rule.
        """
        given = {name.lower(): value for name, value in options.items()}
        unknown = sorted(given.keys() - {name.lower() for name in OPTIONS})
        if unknown:
            raise SourceError(f"option {unknown[0]} is not known; there are {', '.join(OPTIONS)}")
        missing = [name for name in ("url", "since", "until") if not given.get(name)]
        if missing:
            raise SourceError(f"option {missing[0]} is missing; .option({missing[0]!r}, ...) gives it")
        return cls(
            prometheus=_settings(given),
            since=_day("since", given["since"]),
            until=_day("until", given["until"]),
            cluster=given.get("cluster", ""),
            namespaces=tuple(name.strip() for name in given.get("namespaces", "").split(",") if name.strip()),
            max_concurrent_requests=_whole(given, "maxConcurrentRequests", CONCURRENT_REQUESTS),
        )


OPTIONS: Final = (
    "url",
    "since",
    "until",
    "namespaces",
    "cluster",
    "maxConcurrentRequests",
    "failures",
    "timeout",
    "maxAnswerBytes",
    "headers",
    "tenant",
    "bearerTokenFile",
    "allowCredentialsOverHttp",
    "username",
    "passwordFile",
    "caFile",
    "certFile",
    "keyFile",
    "serverName",
)
"""All that the data source understands."""

_OF_FIELD: Final = {"basicAuth": "username and passwordFile", "tls": "caFile, certFile, keyFile and serverName"}


def _settings(given: Mapping[str, str]) -> PrometheusSettings:
    """Return the settings of the operator that say the same, whose rules hold here, too."""
    headers = _headers(given.get("headers", "{}"))
    if given.get("tenant"):
        headers[TENANT_HEADER] = given["tenant"]
    basic = {"username": given.get("username"), "passwordFile": given.get("passwordfile")}
    if (basic["username"] is None) != (basic["passwordFile"] is None):
        raise SourceError("options username and passwordFile belong together; give both or none")
    names = ("caFile", "certFile", "keyFile", "serverName")
    tls = {name: given[name.lower()] for name in names if name.lower() in given}
    document: dict[str, Any] = {
        "url": given["url"],
        "timeout": given.get("timeout", "30s"),
        "headers": headers,
        "maxAnswerBytes": _whole(given, "maxAnswerBytes", LARGEST_ANSWER),
        "bearerTokenFile": given.get("bearertokenfile"),
        "allowCredentialsOverHttp": given.get("allowcredentialsoverhttp", "").lower() == "true",
        "basicAuth": basic if basic["username"] is not None else None,
        "tls": tls or None,
    }
    try:
        return PrometheusSettings.model_validate(document)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        field = next((str(part) for part in first["loc"]), "")
        rule = validation_words.sentence(first, PrometheusSettings)
        raise SourceError(f"option {_OF_FIELD.get(field, field) or 'url'}: {rule}") from None


def _headers(text: str) -> dict[str, str]:
    try:
        headers = json.loads(text)
    except ValueError:
        headers = None
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        # The text is not shown: it may hold a secret.
        raise SourceError('option headers: write a JSON object of texts, like {"X-Team": "shop"}')
    return headers


def _day(name: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise SourceError(f"option {name}: {text!r} is no day; write one like 2026-03-01") from None


def _whole(given: Mapping[str, str], name: str, usual: int) -> int:
    text = given.get(name.lower(), str(usual))
    try:
        return int(text)
    except ValueError:
        raise SourceError(f"option {name}: {text!r} is no whole number") from None
