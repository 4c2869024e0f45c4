"""Do protocol, assignor and version go together?"""

from collections.abc import Iterator
from typing import Final

from heartbeat_tuner.clients import features
from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.clients.features import Feature
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.lint.checked_settings import NAMES, Expectations, Inspected, LintFinding
from heartbeat_tuner.lint.rule import LintSeverity, Rule

CONSUMER_PROTOCOL: Final = Rule(
    code="HT401",
    id="consumer-protocol-refuses",
    severity=LintSeverity.ERROR,
    when="groups of the consumer protocol (`java-kip848`, `group.protocol=consumer`), and share groups: session "
    "timeout or heartbeat interval are given, which are set at the broker: the client refuses to start",
    why="In a group of the consumer protocol (KIP-848) the broker sets both. Java and librdkafka refuse to start with "
    "one of their own.",
    example="group.protocol=consumer\nsession.timeout.ms=45000",
    fix="Take the settings out of the client, and set consumer.session.timeout.ms and consumer.heartbeat.interval.ms "
    "of the group at the broker.",
)
IGNORED: Final = Rule(
    code="HT402",
    id="consumer-protocol-ignores",
    severity=LintSeverity.WARNING,
    when="platformatic in a group of the consumer protocol: session timeout or heartbeat interval are given, and do "
    "nothing",
    why="The broker sets both. The library starts, and ignores its own values.",
    example="# @platformatic/kafka\nKAFKA_GROUP_PROTOCOL=consumer\nKAFKA_SESSION_TIMEOUT_MS=45000",
    fix="Take the settings out of the client, and set them of the group at the broker.",
)
ASSIGNOR_WITH_CONSUMER: Final = Rule(
    code="HT403",
    id="assignor-with-consumer-protocol",
    severity=LintSeverity.ERROR,
    when="partition.assignment.strategy is given in a group of the consumer protocol: the client refuses to start",
    why="The broker assigns partitions there. Java and librdkafka refuse to start with an assignor of their own.",
    example="group.protocol=consumer\npartition.assignment.strategy=cooperative-sticky",
    fix="Take it out. group.remote.assignor says which assignor of the broker is used.",
    cured_by_values=False,
)
REMOTE_ASSIGNOR: Final = Rule(
    code="HT404",
    id="remote-assignor-in-classic",
    severity=LintSeverity.ERROR,
    when="group.remote.assignor is given in a classic group: Java refuses to start",
    why="Only groups of the consumer protocol have assignors at the broker.",
    example="group.remote.assignor=uniform",
    fix="Set group.protocol=consumer, or take it out.",
    cured_by_values=False,
)
ASSIGNORS_MIXED: Final = Rule(
    code="HT405",
    id="assignors-mixed",
    severity=LintSeverity.ERROR,
    when="librdkafka: cooperative-sticky stands beside an eager assignor: the client refuses to start",
    why="Eager and cooperative assignors rebalance in different ways. Java can run both during a migration; librdkafka "
    "cannot.",
    example="# librdkafka\npartition.assignment.strategy=range,cooperative-sticky",
    fix="Name one kind. librdkafka has no rolling migration: stop all members of the group, then start them with the "
    "other.",
    cured_by_values=False,
)
PROTOCOL_UNSUPPORTED: Final = Rule(
    code="HT406",
    id="protocol-unsupported",
    severity=LintSeverity.ERROR,
    when="group.protocol=consumer for a library whose groups are classic ones",
    why="The library does not speak the consumer protocol: it ignores the setting or refuses it.",
    example="# KafkaJS\nKAFKA_GROUP_PROTOCOL=consumer",
    fix="Take it out, or move to a library that has the protocol.",
    cured_by_values=False,
)
VERSION_LACKS: Final = Rule(
    code="HT407",
    id="version-lacks",
    severity=LintSeverity.ERROR,
    when="with `--client-version` or `--kafka-version`: a setting needs a newer library, or newer brokers",
    why="Older libraries ignore a name that they do not know, or refuse it. Brokers before 4.0 do not speak the "
    "consumer protocol, those before 2.3 know no static members.",
    example="heartbeat-tuner check --client java --client-version 3.6 consumer.properties  # group.protocol=consumer",
    fix="Update the library or the brokers, or take the setting out.",
    cured_by_values=False,
)
KAFKA_REFUSES: Final = Rule(
    code="HT408",
    id="kafka-refuses-client",
    severity=LintSeverity.ERROR,
    when="with `--kafka-version` 4.0 or newer: the library uses versions of requests that Kafka 4 no longer has",
    why="Kafka 4.0 removed old versions of its requests (KIP-896). kafka-node cannot consume from it, nor can Java "
    "consumers before 2.1.",
    example="heartbeat-tuner check --client kafka-node --kafka-version 4.0",
    fix="Move to another library, or to a newer version of it, before the brokers are updated.",
    cured_by_values=False,
)

_EAGER: Final = ("range", "roundrobin")

_KINDS: Final = {
    Protocol.CONSUMER: "group of the consumer protocol",
    Protocol.STREAMS: "group of the streams protocol",
    Protocol.SHARE: "share group",
}


def _set_at_the_broker(inspected: Inspected, _: Expectations) -> Iterator[LintFinding]:
    """Find settings that the consumer protocol does not let a client have."""
    misplaced = inspected.misplaced
    if not misplaced:
        return
    named, it = " and ".join(NAMES[setting] for setting in misplaced), "it" if len(misplaced) == 1 else "them"
    cure = (
        f"take {it} out, and set {inspected.protocol}.session.timeout.ms and "
        f"{inspected.protocol}.heartbeat.interval.ms of the group at the broker"
    )
    if inspected.client.ignores_broker_settings:
        rule = IGNORED
        phrase = "the broker sets the {settings}: {client} ignores the values of the client"
    else:
        rule = CONSUMER_PROTOCOL
        phrase = "the {settings} must not be set in the client: {client} refuses to start"
    what = say(phrase, settings=named, client=inspected.client.title)
    yield LintFinding(rule, say("in a {kind} {what}; {cure}", kind=_KINDS[inspected.protocol], what=what, cure=cure))


def _assignors(inspected: Inspected, _: Expectations) -> Iterator[LintFinding]:
    """Find assignors that do not go with the protocol, or with each other."""
    client, others = inspected.client, inspected.others
    consumer = inspected.protocol is Protocol.CONSUMER
    refuses = consumer and not client.ignores_broker_settings
    if refuses and others.assignors:
        phrase = (
            "in a group of the consumer protocol the broker assigns partitions: {client} refuses to start with "
            "partition.assignment.strategy; take it out"
        )
        yield LintFinding(ASSIGNOR_WITH_CONSUMER, say(phrase, client=client.title))
    if others.remote_assignor and not consumer and Protocol.CONSUMER in client.protocols:
        phrase = (
            "group.remote.assignor is for groups of the consumer protocol, and this one is classic: {client} refuses "
            "to start; set group.protocol=consumer, or take it out"
        )
        yield LintFinding(REMOTE_ASSIGNOR, say(phrase, client=client.title))
    cooperative = "cooperative-sticky" in others.assignors
    if (
        not consumer
        and cooperative
        and any(eager in others.assignors for eager in _EAGER)
        and features.is_librdkafka(client)
    ):
        phrase = (
            "{client} refuses to start with cooperative-sticky beside an eager assignor; name one kind, and change it "
            "while no member runs"
        )
        yield LintFinding(ASSIGNORS_MIXED, say(phrase, client=client.title))


def _versions(inspected: Inspected, expectations: Expectations) -> Iterator[LintFinding]:
    """Find what library or brokers are too old for, or too new."""
    client, others = inspected.client, inspected.others
    if others.foreign_protocol:
        phrase = "groups of {client} are classic ones: it has no consumer protocol; take group.protocol out"
        yield LintFinding(PROTOCOL_UNSUPPORTED, say(phrase, client=client.title))
    used = [
        *([Feature.CONSUMER_PROTOCOL] if inspected.protocol is Protocol.CONSUMER else []),
        *([Feature.STATIC_ID] if others.static_id is not None and client.static_membership.holds else []),
        *([Feature.COOPERATIVE] if any("cooperative" in assignor.lower() for assignor in others.assignors) else []),
    ]
    for feature in used:
        since = features.SINCE.get(client.name, {}).get(feature)
        if since is not None and expectations.client_version and features.older(expectations.client_version, since):
            phrase = "{client} has {feature} since {since}, and {version} is older"
            text = say(phrase, client=client.title, feature=feature, since=since, version=expectations.client_version)
            yield LintFinding(VERSION_LACKS, text)
        brokers = features.BROKERS_SINCE.get(feature)
        if brokers is not None and expectations.kafka_version and features.older(expectations.kafka_version, brokers):
            phrase = "brokers have {feature} since Kafka {since}, and {version} is older"
            text = say(phrase, feature=feature, since=brokers, version=expectations.kafka_version)
            yield LintFinding(VERSION_LACKS, text)
    if expectations.kafka_version and not features.older(expectations.kafka_version, features.KAFKA_4):
        why = features.refused_by_kafka_4(client, expectations.client_version)
        if why:
            yield LintFinding(KAFKA_REFUSES, say("{why}", why=why))


CHECKS: Final = (_set_at_the_broker, _assignors, _versions)
