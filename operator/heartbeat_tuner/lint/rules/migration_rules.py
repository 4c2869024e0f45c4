"""May a consumer move to the consumer protocol (KIP-848), and what changes then? Asked with `--target-protocol`."""

from collections.abc import Iterator
from typing import Final

from heartbeat_tuner.clients import consumer_protocol, features
from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.clients.consumer_protocol import ProtocolSupport
from heartbeat_tuner.clients.features import Feature
from heartbeat_tuner.domain.kafka_groups import (
    CONSUMER_INTERVAL_DEFAULT,
    CONSUMER_MAX_SESSION,
    CONSUMER_MIN_SESSION,
    CONSUMER_SESSION_DEFAULT,
)
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.lint.checked_settings import AT_THE_BROKER, NAMES, Expectations, Inspected, LintFinding, Origin
from heartbeat_tuner.lint.rule import LintSeverity, Rule

_EXAMPLE: Final = "heartbeat-tuner check --target-protocol consumer --client"

NO_PROTOCOL: Final = Rule(
    code="HT601",
    id="migration-unsupported",
    severity=LintSeverity.ERROR,
    when="with `--target-protocol consumer`: the library has only classic groups",
    why="The library does not speak the consumer protocol. Brokers still serve classic groups, so the consumer keeps "
    "working. But session and heartbeat stay settings of the client, and each change needs a restart.",
    example=f"{_EXAMPLE} kafkajs",
    fix="Stay, or move to a library that has the protocol.",
    cured_by_values=False,
)
TOO_OLD: Final = Rule(
    code="HT602",
    id="migration-version",
    severity=LintSeverity.ERROR,
    when="with `--target-protocol consumer` and `--client-version` or `--kafka-version`: one is too old for it",
    why="Older brokers do not speak the protocol. Older clients do not know group.protocol, or have a preview of it.",
    example=f"{_EXAMPLE} java --client-version 3.9",
    fix="Update the brokers first, then the library, then the protocol.",
    cured_by_values=False,
)
THROWS: Final = Rule(
    code="HT603",
    id="migration-refuses",
    severity=LintSeverity.ERROR,
    when="with `--target-protocol consumer`: the client then refuses to start with settings that are given",
    why="In a group of the consumer protocol the broker sets session timeout, heartbeat interval and assignor. Java "
    "and librdkafka refuse to start with one of their own, so that the first pod of the rollout crashes.",
    example=f"{_EXAMPLE} java --session-timeout 30s",
    fix="Take them out in the same rollout that sets group.protocol. Session and interval are then the group's, at the "
    "broker (consumer.session.timeout.ms, consumer.heartbeat.interval.ms); the assignor is group.remote.assignor.",
    cured_by_values=False,
)
CUSTOM_ASSIGNOR: Final = Rule(
    code="HT604",
    id="migration-assignor-unknown",
    severity=LintSeverity.ERROR,
    when="with `--target-protocol consumer`: brokers have no counterpart of the assignor",
    why="Brokers assign by `uniform` or `range`, or by a class that is installed there. The client's own class is no "
    "longer used. While classic members with such an assignor run, the group cannot be converted: the first new "
    "member is refused.",
    example="# --target-protocol consumer\npartition.assignment.strategy=com.example.ByTenant",
    fix="Move the classic group to a common assignor first, or install a ConsumerGroupPartitionAssignor at the brokers "
    "(group.consumer.assignors).",
    cured_by_values=False,
)
IGNORES: Final = Rule(
    code="HT605",
    id="migration-ignores",
    severity=LintSeverity.WARNING,
    when="with `--target-protocol consumer`, platformatic: session timeout or heartbeat interval are given, and do "
    "nothing then",
    why="The broker sets both. The library starts, and ignores what it was given.",
    example=f"{_EXAMPLE} platformatic --session-timeout 30s",
    fix="Set them for the group, at the broker.",
    cured_by_values=False,
)
FLAWED: Final = Rule(
    code="HT606",
    id="migration-flawed-version",
    severity=LintSeverity.WARNING,
    when="with `--target-protocol consumer`: the library has known faults of the protocol",
    why="librdkafka before 2.15 has faults in groups of the consumer protocol: fetching that stands still for minutes, "
    "and commits that fail.",
    example=f"{_EXAMPLE} confluent-kafka-python --client-version 2.12",
    fix="Update the library first.",
    cured_by_values=False,
)
SESSION_MOVES: Final = Rule(
    code="HT607",
    id="migration-session-bounds",
    severity=LintSeverity.WARNING,
    when="with `--target-protocol consumer`: by default brokers do not allow a session as short as the detection time "
    "that is asked for, or as long as the one that is set",
    why="By default a broker allows sessions of 45 s to 60 s in these groups. So no shorter detection time can be "
    "reached, and a longer session that covers pauses today is refused.",
    example=f"{_EXAMPLE} java --session-timeout 90s",
    fix="Set group.consumer.min.session.timeout.ms or group.consumer.max.session.timeout.ms of the brokers and the "
    "controllers, which takes a restart of them, before you migrate.",
    cured_by_values=False,
)
STATIC_IDS: Final = Rule(
    code="HT608",
    id="migration-static-id",
    severity=LintSeverity.WARNING,
    when="with `--target-protocol consumer`: members have static ids",
    why="In a classic group the newer of two members with one id takes over. In a group of the consumer protocol the "
    "newer one is refused, fatally, until the session of the older one is over: a container that is killed and "
    "restarted within it does not come back.",
    example="# --target-protocol consumer\ngroup.instance.id=orders-0",
    fix="Let the pod restart with a back-off beyond the session, or take the ids out: rebalances are cheap there.",
    cured_by_values=False,
)
ASSIGNOR: Final = Rule(
    code="HT609",
    id="migration-assignor",
    severity=LintSeverity.INFO,
    when="with `--target-protocol consumer`: which assignor of the brokers replaces the client's",
    why="Brokers have `uniform` (their default) and `range`. Both are sticky, and each rebalance is incremental.",
    example=f"{_EXAMPLE} java",
    fix="Where partitions of several topics have to meet in one member, set group.remote.assignor=range.",
    cured_by_values=False,
)
PATTERNS: Final = Rule(
    code="HT610",
    id="migration-patterns",
    severity=LintSeverity.INFO,
    when="with `--target-protocol consumer`: what becomes of subscriptions by pattern, and of rebalance listeners",
    why="Patterns may be matched by the brokers, in another syntax. Settings do not show how topics are subscribed.",
    example=f"{_EXAMPLE} confluent-kafka-python",
    fix="Look for subscriptions by pattern, and for rebalance callbacks, in the application's code.",
    cured_by_values=False,
)
DETECTION: Final = Rule(
    code="HT611",
    id="migration-detection",
    severity=LintSeverity.INFO,
    when="with `--target-protocol consumer`: how much earlier or later a crash and a hung handler are noticed then",
    why="The group's session replaces the client's, and the broker's heartbeat interval replaces the client's.",
    example=f"{_EXAMPLE} aiokafka",
    fix="Set consumer.session.timeout.ms of the group if the new one does not suit: no restart, no rebalance.",
    cured_by_values=False,
)
PATH: Final = Rule(
    code="HT612",
    id="migration-path",
    severity=LintSeverity.INFO,
    when="with `--target-protocol consumer`: how to migrate, and how to go back",
    why="Classic and new members may be in one group during the rollout. A cluster that was updated from Kafka 3 has "
    "the protocol only once its feature group.version is 1.",
    example=f"{_EXAMPLE} java",
    fix="kafka-features --bootstrap-server … upgrade --feature group.version=1; then a rolling update of the "
    "consumers. Back: a rolling update with group.protocol=classic, and the settings that were taken out.",
    cured_by_values=False,
)


def _migration(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find what stands in the way of the consumer protocol, and what changes with it; nothing where it is there."""
    if expectations.target_protocol is not Protocol.CONSUMER or inspected.protocol.is_at_broker:
        return
    client = inspected.client
    support = consumer_protocol.SUPPORT.get(client.name)
    if support is None:
        phrase = "{client} has no consumer protocol, and stays in classic groups: {instead}"
        text = say(phrase, client=client.title, instead=consumer_protocol.INSTEAD[client.name])
        yield LintFinding(NO_PROTOCOL, text)
        return
    yield from _versions(inspected, expectations, support)
    yield from _settings(inspected)
    yield from _assignors(inspected)
    yield from _session(inspected, expectations)
    yield from _code(inspected, support)
    yield from _detection(inspected, support)
    yield LintFinding(PATH, _path(inspected, support))


def _versions(inspected: Inspected, expectations: Expectations, support: ProtocolSupport) -> Iterator[LintFinding]:
    client, version, kafka = inspected.client, expectations.client_version, expectations.kafka_version
    brokers = features.BROKERS_SINCE[Feature.CONSUMER_PROTOCOL]
    if kafka and features.older(kafka, brokers):
        phrase = "brokers speak the consumer protocol since Kafka {since}, and {version} is older: update them first"
        yield LintFinding(TOO_OLD, say(phrase, since=brokers, version=kafka))
    if version and support.since and features.older(version, support.since):
        phrase = "{client} has the consumer protocol since {since}, and {version} is older: update it first"
        yield LintFinding(TOO_OLD, say(phrase, client=client.title, since=support.since, version=version))
    elif support.flaw and not support.fixed_in:
        phrase = "{client} has faults in the protocol, and no version without them is known: {flaw}"
        yield LintFinding(FLAWED, say(phrase, client=client.title, flaw=support.flaw))
    elif support.flaw and version and features.older(version, support.fixed_in):
        phrase = "{client} {version} has faults in the protocol that {fixed} has not: {flaw}"
        fixed, flaw = support.fixed_in, support.flaw
        yield LintFinding(FLAWED, say(phrase, client=client.title, version=version, fixed=fixed, flaw=flaw))


def _settings(inspected: Inspected) -> Iterator[LintFinding]:
    client, others = inspected.client, inspected.others
    given = [NAMES[name] for name in client.settings if name in AT_THE_BROKER and _is_given(inspected, name)]
    if given and client.ignores_broker_settings:
        phrase = "{client} then ignores its {settings}: they belong to the group, at the broker"
        yield LintFinding(IGNORES, say(phrase, client=client.title, settings=" and ".join(given)))
    elif given or others.assignors:
        named = [*given, *(["partition.assignment.strategy"] if others.assignors else [])]
        phrase = "{client} then refuses to start with {settings}: remove that in the same rollout"
        yield LintFinding(THROWS, say(phrase, client=client.title, settings=" and ".join(named)))


def _is_given(inspected: Inspected, setting: Setting) -> bool:
    return inspected.origins[setting] in {Origin.GIVEN, Origin.UNREADABLE, Origin.UNSEEN}


def _assignors(inspected: Inspected) -> Iterator[LintFinding]:
    counterparts = {name: consumer_protocol.counterpart(name) for name in inspected.others.assignors}
    unknown = [name for name, counterpart in counterparts.items() if not counterpart]
    if unknown:
        phrase = "brokers have no counterpart of {assignor}: while members use it, the group cannot be converted"
        yield LintFinding(CUSTOM_ASSIGNOR, say(phrase, assignor=", ".join(unknown)))
        return
    if not counterparts:
        phrase = "the broker assigns partitions: by {assignor}, unless group.remote.assignor says range"
        yield LintFinding(ASSIGNOR, say(phrase, assignor="uniform"))
        return
    pairs = ", ".join(f"{name} → {counterpart}" for name, counterpart in counterparts.items())
    first = next(iter(counterparts.values()))
    phrase = "the broker assigns partitions: {pairs}; {how}"
    how = "uniform is its default" if first == "uniform" else f"set group.remote.assignor={first}"
    yield LintFinding(ASSIGNOR, say(phrase, pairs=pairs, how=how))


def _session(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    session, wanted = inspected.values.session_timeout, expectations.max_detection_time
    if wanted is not None and wanted < CONSUMER_MIN_SESSION:
        phrase = (
            "a crash is to be noticed within {wanted}, and by default brokers allow no session below {least} in such "
            "groups: set group.consumer.min.session.timeout.ms of brokers and controllers first"
        )
        yield LintFinding(SESSION_MOVES, say(phrase, wanted=wanted, least=CONSUMER_MIN_SESSION))
    if inspected.origins[Setting.SESSION_TIMEOUT] is Origin.GIVEN and session > CONSUMER_MAX_SESSION:
        phrase = (
            "the session is {session} now, and by default brokers allow no longer one than {most} in such groups: set "
            "group.consumer.max.session.timeout.ms of brokers and controllers first, if pauses need it"
        )
        yield LintFinding(SESSION_MOVES, say(phrase, session=session, most=CONSUMER_MAX_SESSION))


def _code(inspected: Inspected, support: ProtocolSupport) -> Iterator[LintFinding]:
    if inspected.others.static_id is not None:
        phrase = (
            "a member that is killed and comes back with its static id within {session} is refused, fatally "
            "({error}), where a classic group lets it take over"
        )
        yield LintFinding(STATIC_IDS, say(phrase, session=CONSUMER_SESSION_DEFAULT, error="UNRELEASED_INSTANCE_ID"))
    changes = "; ".join(text for text in (support.patterns, support.listener) if text)
    if changes:
        yield LintFinding(PATTERNS, say("{changes}", changes=changes))


def _detection(inspected: Inspected, support: ProtocolSupport) -> Iterator[LintFinding]:
    if not inspected.knows(Setting.SESSION_TIMEOUT, Setting.HEARTBEAT_INTERVAL):
        return
    now, interval = inspected.values.session_timeout, CONSUMER_INTERVAL_DEFAULT
    phrase = (
        "a crashed member is removed after {then}, and after {now} today; members beat every {interval}, and hear of a "
        "rebalance with their next beat{limit}"
    )
    later = "; a member that does not poll is noticed up to a beat later" if support.later_limit else ""
    text = say(phrase, then=CONSUMER_SESSION_DEFAULT, now=now, interval=interval, limit=later)
    yield LintFinding(DETECTION, text)


def _path(inspected: Inspected, support: ProtocolSupport) -> str:
    return say(
        "first group.version has to be 1 (kafka-features describe: a cluster that came from Kafka 3 has 0); then set "
        "{switch} in a rolling update: the group is converted when the first new member joins "
        "(group.consumer.migration.policy, bidirectional by default), and classic members stay in it with their own "
        "session. Back: a rolling update without it, and with {settings} as they are now; the "
        "group is classic again when the last new member has left",
        switch=support.switch,
        settings=", ".join(inspected.client.names[setting] for setting in sorted(AT_THE_BROKER)),
    )


CHECKS: Final = (_migration,)
