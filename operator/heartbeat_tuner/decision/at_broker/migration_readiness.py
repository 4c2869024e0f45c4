"""What hinders a classic group from moving to the consumer protocol (KIP-848)? Pure.

`check --target-protocol consumer` reads files; this reads what is known of a running group anyway: the cluster's
`group.version`, what the pods' environment sets, the assignor that its coordinator names, and static ids. Which version
of the library runs, only Micrometer shows. Without that the answer is yes only where each version has the protocol.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from heartbeat_tuner.clients import consumer_protocol, features
from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.clients.consumer_protocol import ProtocolSupport
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.kafka_groups import CONSUMER_MIN_SESSION, Cluster, Group
from heartbeat_tuner.domain.liveness import CurrentSettings, Setting, ValueSource
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import join, say
from heartbeat_tuner.domain.verdicts import Finding

_OF_THE_GROUP: Final = (Setting.SESSION_TIMEOUT, Setting.HEARTBEAT_INTERVAL)
_IN_ENVIRONMENT: Final = frozenset({ValueSource.POD, ValueSource.TEMPLATE})
_GIVEN: Final = frozenset({*_IN_ENVIRONMENT, ValueSource.POLICY})
"""Where a value was found that the client is given; the policy declares what the code sets."""


def readiness(
    policy: Policy, workload: Workload, group: Group, cluster: Cluster, client: Client, *, versions: Sequence[str] = ()
) -> Finding | None:
    """Return whether the members of a group may move, with all that hinders them; None where that is no question.

    Args:
        policy: of the group.
        workload: whose pods are its members.
        group: as it was described when it stood still last: in a rebalance nobody names its assignor.
        cluster: what its brokers serve.
        client: the card of the library.
        versions: of the library, in the pods that run; empty where they are not known.
    """
    if group.consumer_protocol or group.rebalancing or workload.current is None:
        return None
    support = consumer_protocol.SUPPORT.get(client.name)
    if support is None:
        phrase = "{client} has no consumer protocol, and stays in classic groups: {instead}"
        text = say(phrase, client=client.title, instead=consumer_protocol.INSTEAD[client.name])
        return Finding(Reason.LIBRARY_LACKS_PROTOCOL, text)
    known = [version for version in versions if features.VERSION.fullmatch(version)]
    are_known = bool(known) and len(known) == len(versions)
    hindrances = [
        *(_of_versions(known, client, support) if are_known else ()),
        *_of_brokers(cluster),
        *_of_settings(policy, workload, workload.current, client, support),
        *_of_assignor(group),
        *_unknown(cluster, client, support, are_known=are_known),
    ]
    phrase = "nothing hinders a rolling update with {switch}: the group is converted when the first new member joins"
    ready = Finding(Reason.PROTOCOL_READY, say(phrase, switch=support.switch))
    first, *others = hindrances or [ready]
    text = join("; ", (first.message, *(other.message for other in others)))
    return Finding(first.reason, join(". ", (text, *_warnings(policy, workload, group, cluster))))


def _of_versions(versions: Sequence[str], client: Client, support: ProtocolSupport) -> Iterator[Finding]:
    old = [version for version in versions if features.older(version, support.since)] if support.since else []
    if old:
        phrase = "{client} has the consumer protocol since {since}, and {versions} runs: update the library first"
        text = say(phrase, client=client.title, since=support.since, versions=" and ".join(old))
        yield Finding(Reason.LIBRARY_LACKS_PROTOCOL, text)


def _of_brokers(cluster: Cluster) -> Iterator[Finding]:
    if cluster.group_version is not None and cluster.group_version < 1:
        phrase = (
            "the cluster does not serve the consumer protocol, since its feature group.version is 0: update its "
            "brokers to Kafka 4 or later, then kafka-features upgrade --feature group.version=1"
        )
        yield Finding(Reason.BROKERS_LACK_PROTOCOL, phrase)


def _of_settings(
    policy: Policy, workload: Workload, current: CurrentSettings, client: Client, support: ProtocolSupport
) -> Iterator[Finding]:
    if client.ignores_broker_settings:
        return
    given = [setting for setting in _OF_THE_GROUP if current.sources.get(setting) in _GIVEN]
    if not given:
        return
    variables = {name: policy.env_names.get(name) for name in given if current.sources[name] in _IN_ENVIRONMENT}
    names = [variables.get(setting) or client.names[setting] for setting in given]
    ours = workload.kept_env.get(policy.workload.container, {})
    written = [name for name in names if name in ours]
    phrase = "{client} refuses to start with {names} then: they have to go in the rollout that sets {switch}"
    text = say(phrase, client=client.title, names=" and ".join(names), switch=support.switch)
    how = "The operator wrote {names}, and a manifest without them leaves them there: kubectl set env takes them out"
    ours_too = say(how, names=" and ".join(written)) if written else ""
    yield Finding(Reason.SETTINGS_REFUSED, join(". ", (text, ours_too)))


def _of_assignor(group: Group) -> Iterator[Finding]:
    if group.assignor and not consumer_protocol.counterpart(group.assignor):
        phrase = (
            "brokers have no counterpart of the assignor {assignor}: while members use it, the group is not converted"
        )
        yield Finding(Reason.ASSIGNOR_LACKS_COUNTERPART, say(phrase, assignor=group.assignor))


def _unknown(cluster: Cluster, client: Client, support: ProtocolSupport, *, are_known: bool) -> Iterator[Finding]:
    if cluster.group_version is None:
        phrase = "whether the cluster serves the consumer protocol is not known: no broker said its features in time"
        yield Finding(Reason.BROKERS_NOT_READ, phrase)
    if support.since and not are_known:
        phrase = "{client} has the consumer protocol since {since}, and no metric shows which version runs{flaw}"
        faults = say("; before {fixed} {flaw}", fixed=support.fixed_in, flaw=support.flaw) if support.fixed_in else ""
        text = say(phrase, client=client.title, since=support.since, flaw=faults)
        yield Finding(Reason.CLIENT_VERSION_UNKNOWN, text)


def _warnings(policy: Policy, workload: Workload, group: Group, cluster: Cluster) -> Iterator[str]:
    wanted = policy.objective.max_detection_time
    least = CONSUMER_MIN_SESSION if cluster.consumer is None else cluster.consumer.min_session
    if wanted < least:
        phrase = (
            "{who} allow no session below {least} in such groups, and objective.maxDetectionTime is {wanted}: set "
            "group.consumer.min.session.timeout.ms of brokers and controllers first"
        )
        who = "By default brokers" if cluster.consumer is None else "The brokers"
        yield say(phrase, who=who, least=least, wanted=wanted)
    addresses = {pod.ip for pod in workload.pods}
    if any(member.instance_id is not None and member.host in addresses for member in group.members):
        phrase = (
            "Members have static ids: one that is killed and comes back within the session is refused there, fatally "
            "({error})"
        )
        yield say(phrase, error="UNRELEASED_INSTANCE_ID")
