"""Is a static id one that a member keeps, and that nobody else has?

Which workload a pod belongs to, and what it takes its id from, says the manifest (`checked_settings.StaticId`).
"""

from collections.abc import Iterator
from typing import Final

from heartbeat_tuner.clients.client import StaticIdSupport
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.lint.checked_settings import Expectations, IdSource, Inspected, LintFinding
from heartbeat_tuner.lint.rule import LintSeverity, Rule

STATIC_ID_SHARED: Final = Rule(
    code="HT501",
    id="static-id-shared",
    severity=LintSeverity.ERROR,
    when="a literal static id in a workload of several pods: all have the same one",
    why="Members with one id fence each other: the older one of a classic group, the newer one in the consumer "
    "protocol, stops with a fatal error. aiokafka's members take the id from each other endlessly.",
    example="spec: {replicas: 4, ...}\nenv: [{name: KAFKA_GROUP_INSTANCE_ID, value: orders-1}]",
    fix="Take the id from the pod's name in a StatefulSet, or leave it out.",
    cured_by_values=False,
)
STATIC_ID_DUPLICATE: Final = Rule(
    code="HT502",
    id="static-id-duplicate",
    severity=LintSeverity.ERROR,
    when="two workloads of one group have the same static id",
    why="Members with one id fence each other, whichever workload they belong to.",
    example="# two Deployments with KAFKA_GROUP_ID=orders\nKAFKA_GROUP_INSTANCE_ID=orders-1",
    fix="Give each workload ids of its own.",
    cured_by_values=False,
)
STATIC_ID_OF_DEPLOYMENT: Final = Rule(
    code="HT503",
    id="static-id-of-deployment",
    severity=LintSeverity.WARNING,
    when="the static id is the name of a pod whose workload gives each new pod a new name (Deployment, DaemonSet, Job)",
    why="Each rollout brings new ids. The old ones do not leave the group, so their partitions stand still for a whole "
    "session timeout, and then the group rebalances all the same: worse than no id.",
    example="kind: Deployment\nenv:\n  - name: KAFKA_GROUP_INSTANCE_ID\n    valueFrom: {fieldRef: {fieldPath: "
    "metadata.name}}",
    fix="Use a StatefulSet, whose pods keep their names; let heartbeat-tuner's webhook give ids; or leave the id out.",
    cured_by_values=False,
)
STATIC_ID_RANDOM: Final = Rule(
    code="HT504",
    id="static-id-random",
    severity=LintSeverity.WARNING,
    when="the static id changes with each start: a pod's uid, a random value",
    why="A member that restarts comes back as a new member. Its old id stays in the group for a session timeout, and "
    "its partitions stand still.",
    example="spring.kafka.consumer.properties.group.instance.id=${random.uuid}",
    fix="Take an id that outlasts a restart, or leave it out.",
    cured_by_values=False,
)
STATIC_ID_OVERLAPS: Final = Rule(
    code="HT505",
    id="static-id-overlaps",
    severity=LintSeverity.WARNING,
    when="a literal static id in a Deployment of one pod that is updated by rolling: two pods have it for a while",
    why="A rolling update starts the new pod before the old one has ended. The older member is fenced while it still "
    "works (classic), or the newer one is refused (consumer protocol).",
    example="kind: Deployment\nspec: {replicas: 1}\nenv: [{name: KAFKA_GROUP_INSTANCE_ID, value: orders-1}]",
    fix="Set the strategy to Recreate or maxSurge to 0, or use a StatefulSet.",
    cured_by_values=False,
)
STATIC_ID_UNSUPPORTED: Final = Rule(
    code="HT506",
    id="static-id-unsupported",
    severity=LintSeverity.WARNING,
    when="a static id for a library that does not send it, or leaves its group all the same",
    why="The setting does nothing, and people believe that restarts are free.",
    example="# KafkaJS\nKAFKA_GROUP_INSTANCE_ID=orders-0",
    fix="Take it out.",
    cured_by_values=False,
)

_NEW_NAMES: Final = {"Deployment", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Rollout"}


def _static_id(inspected: Inspected, _: Expectations) -> Iterator[LintFinding]:
    """Find ids that change, or that several members have."""
    static_id, client = inspected.others.static_id, inspected.client
    if static_id is None:
        return
    if client.static_membership in {StaticIdSupport.NONE, StaticIdSupport.LEAVES}:
        phrase = "group.instance.id does nothing: static membership of {client} is {support}"
        yield LintFinding(STATIC_ID_UNSUPPORTED, say(phrase, client=client.title, support=client.static_membership))
    elif static_id.source is IdSource.RANDOM:
        phrase = (
            "the static id changes with each start: after a restart the old member stays in the group for a session "
            "timeout, and its partitions stand still"
        )
        yield LintFinding(STATIC_ID_RANDOM, say(phrase))
    elif static_id.source is IdSource.POD_NAME and static_id.kind in _NEW_NAMES:
        phrase = (
            "the static id is the pod's name, and each pod of a {kind} has a new one: with every rollout the old "
            "members stay in the group for a session timeout, and their partitions stand still"
        )
        yield LintFinding(STATIC_ID_OF_DEPLOYMENT, say(phrase, kind=static_id.kind))
    elif static_id.source is IdSource.LITERAL and static_id.replicas is not None and static_id.replicas > 1:
        phrase = "all {replicas} pods have the static id {id}: members with one id {what}"
        what = (
            "take it from each other endlessly"
            if client.static_membership is StaticIdSupport.STEALS
            else ("fence each other, and the one that loses stops")
        )
        yield LintFinding(STATIC_ID_SHARED, say(phrase, replicas=static_id.replicas, id=static_id.shown, what=what))
    elif static_id.source is IdSource.LITERAL and static_id.surges:
        phrase = (
            "a rolling update starts the new pod before the old one has ended, and both have the static id {id}: one "
            "of them is fenced; set the strategy to Recreate, or maxSurge to 0"
        )
        yield LintFinding(STATIC_ID_OVERLAPS, say(phrase, id=static_id.shown))


CHECKS: Final = (_static_id,)
