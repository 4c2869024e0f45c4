"""What `recommend`, `explain` and `simulate` take: which group, what is set, and who knows what happens to it."""

import dataclasses
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from heartbeat_tuner.cli.checking import completion
from heartbeat_tuner.cli.doctor import FORMATS
from heartbeat_tuner.cli.group import inferred_client, prometheus_options, sample_group
from heartbeat_tuner.cli.group.group_names import group_names
from heartbeat_tuner.cli.group.inferred_client import ClientChoice
from heartbeat_tuner.cli.group.option_values import bounds_of, option
from heartbeat_tuner.cli.group.prometheus_options import PrometheusTarget
from heartbeat_tuner.cli.options import FiniteNumber, NeededText, client_of, duration
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.wording import listed
from heartbeat_tuner.clients.client import Client, Protocol
from heartbeat_tuner.clients.java import JAVA_KIP848
from heartbeat_tuner.clients.java_groups import STREAMS_KIP1071
from heartbeat_tuner.decision.from_metrics import StatedFacts
from heartbeat_tuner.domain.liveness import TUNED, CurrentSettings, LivenessSettings, Setting, ValueSource
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.limits import detection_time
from heartbeat_tuner.lint.checked_settings import NAMES
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.models.failure_profile import Rebalancing

_Command = TypeVar("_Command", bound=Callable[..., Any])

MOST_MEMBERS: Final = 10_000
MOST_PARTITIONS: Final = 1_000_000

_FOLDER: Final = click.Path(exists=True, file_okay=False, readable=True, path_type=Path)
_FLAGS: Final = {
    "session_timeout": Setting.SESSION_TIMEOUT,
    "heartbeat_interval": Setting.HEARTBEAT_INTERVAL,
    "fetch_wait": Setting.FETCH_WAIT,
    "max_poll_interval": Setting.MAX_POLL_INTERVAL,
}

_BROKERS: Final = {
    Setting.SESSION_TIMEOUT: "session.timeout.ms",
    Setting.HEARTBEAT_INTERVAL: "heartbeat.interval.ms",
}
"""What the broker says in a group of the consumer protocol, whatever the library, and the end of its key there."""

_OPTIONS: Final = (
    click.option(
        "--lookback", type=duration, default="1h", show_default=True, help="How far to look back, from 1m to 24h."
    ),
    click.option("--models", type=_FOLDER, metavar="FOLDER", help="Folder of models that `heartbeat-tuner fit` wrote."),
    click.option("--cluster", metavar="NAME", help="Kafka cluster, if the folder has models of several."),
    click.option(
        "--group",
        required=True,
        type=NeededText("Write --group NAME (`heartbeat-tuner doctor` lists the groups), or --sample to try it."),
        shell_complete=group_names,
        help="Consumer group.",
    ),
    click.option(
        "--client",
        "name",
        shell_complete=completion.library_names,
        help=f"Client library: {', '.join(known_conventions.LIBRARIES)}. Default: as metrics or model show.",
    ),
    click.option("--session-timeout", type=duration, help="Current session timeout. Default: the library's."),
    click.option("--heartbeat-interval", type=duration, help="Current heartbeat interval. Default: the library's."),
    click.option("--fetch-wait", type=duration, help="Current fetch wait (maxWaitTimeInMs, fetch.max.wait.ms)."),
    click.option("--max-poll-interval", type=duration, help="Current max poll interval, if the client has one."),
    click.option("--members", type=click.IntRange(1, MOST_MEMBERS), help="Number of members. Default: as measured."),
    click.option(
        "--partitions", type=click.IntRange(1, MOST_PARTITIONS), help="Number of partitions. Default: as measured."
    ),
    click.option(
        "--protocol",
        type=click.Choice([*(rebalancing.value for rebalancing in Rebalancing), Protocol.STREAMS.value]),
        help="Rebalance protocol.  [default: eager, which costs most]",
    ),
    click.option(
        "--membership",
        type=click.Choice(("dynamic", "static")),
        help="Whether members have a group.instance.id.  [default: dynamic]",
    ),
    click.option("--brokers", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Number of brokers."),
    click.option(
        "--max-detection-time",
        type=duration,
        help="Longest time to notice a crashed member.  [default: 60s; KafkaJS: 5m]",
    ),
    click.option(
        "--max-false-evictions-per-month",
        type=FiniteNumber(0, 1e6, min_open=True),
        default=1.0,
        show_default=True,
        help="Limit for removals of live members, in the whole group.",
    ),
    click.option(
        "--bound",
        "bounds",
        multiple=True,
        metavar="SETTING=MIN..MAX",
        help="Bounds for a value, like session-timeout=10s..30s. Repeatable.",
    ),
    click.option(
        "--horizon",
        type=duration,
        default="336h",
        show_default=True,
        help="Time in which a change must pay for its restarts.",
    ),
    click.option("--output", "-o", type=click.Choice(FORMATS), default="text", show_default=True),
)


@dataclasses.dataclass(frozen=True, slots=True)
class GroupRequest:
    """What the command line asks for.

    Attributes:
        stated: what it says of the group; its namespace may be empty and its model none, until they are looked up.
        asked: which Prometheus; None if none is asked.
        models: the folder of models, if there is one.
        cluster: whose models; None where nobody says.
        namespaces: where to look; everywhere if empty.
        assumed: what stands for what was not said, as sentences.
        library: of the client.
    """

    stated: StatedFacts
    asked: PrometheusTarget | None
    models: Path | None
    cluster: str | None
    namespaces: tuple[str, ...]
    assumed: tuple[str, ...]
    library: ClientChoice


def options(command: _Command) -> _Command:
    """Give a command the options that `wanted` reads, and `--output`."""
    for decorate in reversed(_OPTIONS):
        command = decorate(command)
    return sample_group.option(prometheus_options.optional(command))


def wanted(  # noqa: PLR0913 - one parameter for each option
    *,
    url: str | None,
    models: Path | None,
    cluster: str | None,
    group: str,
    name: str | None,
    members: int | None,
    partitions: int | None,
    protocol: str | None,
    membership: str | None,
    brokers: int,
    max_detection_time: timedelta | None,
    max_false_evictions_per_month: float,
    bounds: tuple[str, ...],
    horizon: timedelta,
    namespaces: tuple[str, ...],
    lookback: timedelta,
    **given: Any,
) -> GroupRequest:
    """Return what the options say.

    Raises:
        UsageProblem: they cannot be used; it names the option, the value, the rule and the fix.
    """
    if url is None and models is None:
        raise UsageProblem(
            "give --prometheus URL, --models FOLDER or both: they say what happens to a group; to try it, give --sample"
        )
    if url is not None and models == sample_group.FOLDER:
        raise UsageProblem("give --sample or --prometheus: the sample is of no group there")
    if url is None and (members is None or partitions is None):
        raise UsageProblem("give --members and --partitions: without --prometheus they are not measured")
    flags = {setting: given.pop(flag) for flag, setting in _FLAGS.items()}
    asked = (
        None if url is None else prometheus_options.asked(url=url, namespaces=namespaces, lookback=lookback, **given)
    )
    choice = ClientChoice(name) if name is not None else _inferred(asked, models, group)
    client, rebalancing = _of_group(_client(choice.name), protocol)
    current = settings_of(
        client, {setting: value for setting, value in flags.items() if value is not None}, rebalancing
    )
    facts = StatedFacts(
        namespace="",
        group=group,
        client=client,
        current=current,
        brokers=brokers,
        objective=Objective(max_detection_time or detection_time.usual(client), max_false_evictions_per_month),
        bounds=bounds_of(client, bounds),
        horizon=horizon,
        rebalancing=rebalancing,
        kind=Protocol.STREAMS if protocol == Protocol.STREAMS else Protocol.CONSUMER,
        static=membership == "static",
        members=members,
        partitions=partitions,
    )
    return GroupRequest(facts, asked, models, cluster, namespaces, _assumed(protocol, membership), choice)


def _inferred(asked: PrometheusTarget | None, models: Path | None, group: str) -> ClientChoice:
    """Return which library the group runs; `wanted` made sure that one of both is there."""
    if asked is not None:
        return inferred_client.of_metrics(asked, group)
    return inferred_client.of_models(models or Path(), group)


def _assumed(protocol: str | None, membership: str | None) -> tuple[str, ...]:
    """Return what stands for what was not said."""
    assumed = []
    if protocol is None:
        assumed.append("that it rebalances eagerly, which costs most (--protocol)")
    if membership is None:
        assumed.append("that its members have no group.instance.id (--membership)")
    return tuple(assumed)


def settings_of(
    client: Client, given: Mapping[Setting, timedelta], rebalancing: Rebalancing = Rebalancing.EAGER
) -> CurrentSettings:
    """Return what is set where this is said.

    Raises:
        UsageProblem: the library has no such setting.
    """
    unknown = next((setting for setting in given if setting not in client.settings), None)
    if unknown is not None:
        raise UsageProblem(f"{option(unknown)}: {client.title} has no {NAMES[unknown]}; take the option out")
    defaults = {
        setting: (JAVA_KIP848 if is_brokers(setting, rebalancing) else client).defaults[setting]
        for setting in client.defaults.by_setting
    }
    settings = LivenessSettings.of({**defaults, **given})
    sources = {setting: ValueSource.POLICY if setting in given else ValueSource.DEFAULT for setting in tuned(settings)}
    return CurrentSettings(settings, sources)


def is_brokers(setting: Setting, rebalancing: Rebalancing) -> bool:
    """Whether the broker says a value, and its default holds where nothing is set."""
    return rebalancing is Rebalancing.CONSUMER and setting in _BROKERS


def default(setting: Setting, rebalancing: Rebalancing) -> str:
    """Return whose default is assumed, as words."""
    return f"the {'broker' if is_brokers(setting, rebalancing) else 'library'}'s default"


def tuned(settings: LivenessSettings) -> dict[Setting, timedelta]:
    """Return the values that may be changed."""
    return {setting: value for setting, value in settings.by_setting.items() if setting in TUNED}


def _client(name: str) -> Client:
    client = client_of(name, None)
    if name not in known_conventions.LIBRARIES:
        raise UsageProblem(
            f"--client {name}: consumers of {client.title} cannot be measured yet, only those of "
            f"{listed(list(known_conventions.LIBRARIES), 'and')}; `check --client {name}` needs no metrics"
        )
    return client


def broker_key(kind: str, setting: Setting) -> str:
    """Return the key of a group's configuration that holds what the broker says, such as consumer.session.timeout.ms.

    Args:
        kind: of the group.
        setting: the session timeout or the heartbeat interval.
    """
    return f"{kind}.{_BROKERS[setting]}"


def _of_group(client: Client, protocol: str | None) -> tuple[Client, Rebalancing]:
    """Return the card of the library in such a group, and how the group rebalances.

    A group of the streams protocol rebalances step by step as one of the consumer protocol.
    """
    if protocol != Protocol.STREAMS:
        return client, _rebalancing(client, protocol)
    if Protocol.STREAMS not in client.protocols:
        raise UsageProblem(f"--protocol streams: {client.title} does not speak Kafka Streams' protocol (KIP-1071)")
    return STREAMS_KIP1071, Rebalancing.CONSUMER


def _rebalancing(client: Client, protocol: str | None) -> Rebalancing:
    rebalancing = Rebalancing.EAGER if protocol is None else Rebalancing(protocol)
    if rebalancing is Rebalancing.CONSUMER and Protocol.CONSUMER not in client.protocols:
        raise UsageProblem(
            f"--protocol consumer: {client.title} does not speak the consumer protocol (KIP-848); choose eager or "
            f"cooperative"
        )
    return rebalancing
