"""How commands ask a Prometheus: the options that say where it is and who we are, and what it cannot answer.

The rules are those of the operator's settings, so that what works here works there.
"""

import asyncio
import contextlib
import dataclasses
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import pydantic

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.prometheus.prometheus_failures import SettingsWords
from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.api.v1alpha1 import validation_words
from heartbeat_tuner.cli.options import NeededText, duration
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.wording import shown
from heartbeat_tuner.connections import prometheus_source
from heartbeat_tuner.doctor import discovery
from heartbeat_tuner.doctor.inventory import Inventory
from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.settings.prometheus_settings import PrometheusSettings

_T = TypeVar("_T")
_Command = TypeVar("_Command", bound=Callable[..., Any])

TENANT_HEADER: Final = "X-Scope-OrgID"

LARGEST_ANSWER: Final = 2**26
"""Bytes: a thousand groups of ten members."""

SHOWN_QUERY: Final = 120
"""Characters of a query that a message repeats: these are made of hundreds of names."""

_FILE: Final = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
_HEADER: Final = re.compile(r"(?P<name>[^:\s]+):\s*(?P<value>.*)", re.DOTALL)

_ADDRESS_HELP: Final = "Base URL of Prometheus, like http://prometheus:9090."
_NEEDED: Final = NeededText("Write --prometheus http://HOST:9090, with the option before the address.")


def _as_text(text: str) -> str:
    """Return the text of a duration as it was written; which are allowed is for the settings to say."""
    duration(text)
    return text


_ACCESS: Final = (
    click.option("--bearer-token-file", type=_FILE, help="File with the bearer token to send."),
    click.option("--username", help="User name for basic authentication, with --password-file."),
    click.option(
        "--password-file", type=_FILE, help="File with the password for basic authentication, with --username."
    ),
    click.option(
        "--allow-credentials-over-http",
        is_flag=True,
        help="Send credentials unencrypted. Anybody on the network path can read them.",
    ),
    click.option("--ca-file", type=_FILE, help="CA certificate to trust, in PEM."),
    click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="HTTP header to send. Repeatable."),
    click.option("--tenant", help=f"Tenant, sent as {TENANT_HEADER} (Mimir)."),
    click.option(
        "--timeout",
        type=_as_text,
        metavar="DURATION",
        default="10s",
        show_default=True,
        help="Timeout for each query.",
    ),
    click.option(
        "--namespace", "namespaces", multiple=True, help="Kubernetes namespace to look in. Repeatable. Default: all."
    ),
)

_OPTIONS: Final = (
    click.option("--prometheus", "url", required=True, type=_NEEDED, metavar="URL", help=_ADDRESS_HELP),
    *_ACCESS,
    click.option(
        "--lookback", type=duration, default="1h", show_default=True, help="How far to look back, from 1m to 24h."
    ),
)

_OF_FIELD: Final = {
    "url": "--prometheus",
    "headers": "--header or --tenant",
    "bearerTokenFile": "--bearer-token-file",
    "basicAuth": "--username",
    "tls": "--ca-file",
    "timeout": "--timeout",
}

WORDS: Final = SettingsWords(settings="that you gave", url="--prometheus", longest_answer="", clock="this machine's")
"""The words of the command line for what else the operator's settings say."""

_NO_QUERY: Final = frozenset({MetricsCause.UNREACHABLE, MetricsCause.TIMEOUT})
"""Causes that are the same for every query."""

_LOOKBACKS: Final = (timedelta(minutes=1), timedelta(days=1))


@dataclasses.dataclass(frozen=True, slots=True)
class PrometheusTarget:
    """Which Prometheus, and what of it.

    Attributes:
        settings: where it is, and who we are.
        namespaces: where to look; everywhere if empty.
        lookback: how far.
    """

    settings: PrometheusSettings
    namespaces: tuple[str, ...]
    lookback: timedelta


def options(command: _Command) -> _Command:
    """Give a command the options that `asked` reads."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def optional(command: _Command) -> _Command:
    """Give a command the options that `access` reads, for one that may do without a Prometheus."""
    for option in reversed((click.option("--prometheus", "url", metavar="URL", help=_ADDRESS_HELP), *_ACCESS)):
        command = option(command)
    return command


def asked(*, namespaces: tuple[str, ...], lookback: timedelta, **given: Any) -> PrometheusTarget:
    """Return what the options say.

    Args:
        namespaces: as given.
        lookback: as given.
        given: what `access` takes.

    Raises:
        UsageProblem: they cannot be used; it names the option, the value and the rule.
    """
    shortest, longest = _LOOKBACKS
    if not shortest <= lookback <= longest:
        raise UsageProblem("--lookback: choose a time between 1m and 24h")
    return PrometheusTarget(access(**given), namespaces, lookback)


def access(  # noqa: PLR0913 - one for each option
    *,
    url: str,
    bearer_token_file: Path | None,
    username: str | None,
    password_file: Path | None,
    allow_credentials_over_http: bool,
    ca_file: Path | None,
    headers: tuple[str, ...],
    tenant: str | None,
    timeout: str,
) -> PrometheusSettings:
    """Return which Prometheus the options mean, and who we are there.

    Raises:
        UsageProblem: they cannot be used; it names the option, the value and the rule.
    """
    if (username is None) != (password_file is None):
        raise UsageProblem("give both --username and --password-file, or none: they belong together")
    given = dict(_header(header) for header in headers)
    if tenant is not None:
        given[TENANT_HEADER] = tenant
    document: dict[str, Any] = {
        "url": url,
        "timeout": timeout,
        "headers": given,
        "maxAnswerBytes": LARGEST_ANSWER,
        "bearerTokenFile": bearer_token_file,
        "allowCredentialsOverHttp": allow_credentials_over_http,
        "basicAuth": None if username is None else {"username": username, "passwordFile": password_file},
        "tls": None if ca_file is None else {"caFile": ca_file},
    }
    try:
        return PrometheusSettings.model_validate(document)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        field = next((str(part) for part in first["loc"]), "")
        rule = validation_words.sentence(first, PrometheusSettings)
        rule = rule.replace("say allowCredentialsOverHttp: true", "add --allow-credentials-over-http")
        rule = rule.replace("use basicAuth, whose password is in a file", "give --username and --password-file")
        raise UsageProblem(f"{_OF_FIELD.get(field, 'the options')}: {shown(rule, 300)}") from None


def run(what: PrometheusTarget, question: Callable[[PrometheusSource], Awaitable[_T]]) -> _T:
    """Ask, and return the answer.

    Raises:
        UsageProblem: Prometheus could not be asked, or gave no usable answer.
    """

    async def ask() -> _T:
        with contextlib.closing(prometheus_source(what.settings, SystemClock(), WORDS)) as source:
            return await question(source)

    try:
        return asyncio.run(ask())
    except MetricsUnavailableError as error:
        less = "; ask for less: --namespace, or a shorter --lookback" if error.cause is MetricsCause.TOO_MUCH else ""
        query = "" if error.cause in _NO_QUERY else f". The query was {shown(error.tried, SHOWN_QUERY)}"
        raise UsageProblem(f"{what.settings.url}: {error.problem}{less}{query}") from None


async def inventory(source: PrometheusSource, what: PrometheusTarget, *, around: bool = False) -> Inventory:
    """Return what there is of consumers.

    Args:
        source: whom to ask.
        what: for what.
        around: whether to ask for what is exported around their pods, too.

    Raises:
        MetricsUnavailableError: Prometheus gave no usable answer.
    """
    now = SystemClock().now()
    asked_around = discovery.around(known_conventions.OF_GROUPS, what.namespaces)
    kinds, members, strangers, near = await asyncio.gather(
        source.vector(discovery.kinds(known_conventions.OF_GROUPS, what.namespaces, lookback=what.lookback), at=now),
        source.instant(discovery.members(known_conventions.OF_GROUPS, what.namespaces), at=now),
        source.vector(discovery.strangers(known_conventions.OF_GROUPS, what.namespaces), at=now),
        source.vector(asked_around, at=now) if around else _nothing(),
    )
    return Inventory(kinds, members, strangers, near, now)


async def _nothing() -> None:
    """Ask nothing."""


def _header(text: str) -> tuple[str, str]:
    match = _HEADER.fullmatch(text)
    if match is None:
        raise UsageProblem("--header: write NAME:VALUE, like X-Scope-OrgID:shop")  # the value may be secret
    return match["name"], match["value"]
