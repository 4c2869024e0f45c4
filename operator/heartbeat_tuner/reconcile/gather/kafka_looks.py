"""Looks at the groups of all policies: one at each in a cycle, and a few more where no member was seen.

What is known from between cycles is not asked for again (`group_looks`). What cannot be read becomes a value: a failure
costs only the policies of its cluster.
"""

import asyncio
import dataclasses
import difflib
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import structlog

from heartbeat_tuner.clients import java
from heartbeat_tuner.domain.errors import ClusterUnreachableError, WriteConflictError
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.kafka_groups import WORKERS, Group, UnreadableGroup
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.reconcile.gather import own_client_ids, owners
from heartbeat_tuner.reconcile.gather.cluster_looks import ClusterLooks, Sleep
from heartbeat_tuner.reconcile.gather.group_looks import GroupLooks
from heartbeat_tuner.reconcile.gather.looks import ClusterLook, Look
from heartbeat_tuner.reconcile.gather.owners import Owners, Shown
from heartbeat_tuner.reconcile.gather.policy_workloads import ReadWorkload, as_of
from heartbeat_tuner.reconcile.liveness.progress import Moved
from heartbeat_tuner.reconcile.liveness.turns import Turns
from heartbeat_tuner.reconcile.outcomes import UnexpectedFailure

LOOKS_AGAIN: Final = 5
LOOK_AGAIN_AFTER_S: Final = 1.0
"""Together as long as KafkaJS waits for a fetch by default: in a storm each member joins once in that time."""

MOST_LOOKED_AT_AGAIN: Final = 100
"""Groups in one cycle: more would cost the brokers, and the others' decisions, too much."""

ReadCluster = ClusterLook | Finding | UnexpectedFailure
"""What was seen of a cluster's groups, or why nothing."""

_LookAt = Callable[[ClusterLooks, Sequence[str], Sequence[str]], Awaitable[ClusterLook]]
"""Looks at groups of a cluster, at some of them first."""

_log = structlog.get_logger()


class KafkaLooks:
    """Looks at groups.

    Args:
        groups: what is known of them, and how they are asked for.
        owners: who may be shown which; says where another look is worth it.
        sleep: between looks.
        turns: given to others while many policies are gone through.
        moved: called after each answer.
    """

    def __init__(self, groups: GroupLooks, owners: Owners, *, sleep: Sleep, turns: Turns, moved: Moved) -> None:
        self._groups = groups
        self._owners = owners
        self._sleep = sleep
        self._turns = turns
        self._moved = moved

    async def read(self, policies: Sequence[Policy], *, changed: Collection[ObjectKey]) -> dict[str, ReadCluster]:
        """Return what is seen of each cluster; groups of policies that `changed` names are asked for first."""
        await self._groups.want(_by_cluster(policies))
        return await self._read(policies, changed, lambda looks, ids, first: looks.look(ids, first=first))

    async def read_early(self, policies: Sequence[Policy], *, changed: Collection[ObjectKey]) -> dict[str, ReadCluster]:
        """Return what is known of edited policies' groups; those that are not known and the changed are asked for."""
        return await self._read(policies, changed, lambda looks, ids, first: looks.look_early(ids, first=first))

    async def _read(
        self, policies: Sequence[Policy], changed: Collection[ObjectKey], look: _LookAt
    ) -> dict[str, ReadCluster]:
        wanted = _by_cluster(policies)
        first = _by_cluster([policy for policy in policies if policy.key in changed])
        views = await asyncio.gather(
            *(self._read_cluster(name, ids, first.get(name, ()), look) for name, ids in wanted.items())
        )
        return dict(zip(wanted, views, strict=True))

    async def _read_cluster(
        self, name: str, group_ids: Sequence[str], first: Sequence[str], look: _LookAt
    ) -> ReadCluster:
        if name not in self._groups.clusters:
            return _not_configured(name, self._groups.clusters)
        try:
            return await look(self._groups.at(name), group_ids, first)
        except ClusterUnreachableError as error:
            return Finding(Reason.CLUSTER_UNREACHABLE, str(error))
        except Exception as error:  # noqa: BLE001 - one cluster's surprise is not the others' loss
            return UnexpectedFailure(error)
        finally:
            self._moved()

    async def read_lately(self, policy: Policy) -> Group:
        """Return a policy's group as it was seen a few seconds ago at most.

        Raises:
            WriteConflictError: it cannot be seen any more.
        """
        try:
            look = await self._groups.at(policy.cluster).look_lately(policy.group_id)
        except ClusterUnreachableError as error:
            raise WriteConflictError(f"group {policy.group_id} could not be looked at again: {error}") from error
        if not isinstance(look.group, Group):
            raise WriteConflictError(f"group {policy.group_id} is not described any more")
        return look.group

    async def look_again(
        self, policies: Sequence[Policy], kafka: dict[str, ReadCluster], workloads: Mapping[ObjectKey, ReadWorkload]
    ) -> None:
        """Look a few times more for members of groups that none was seen of, and replace these groups in `kafka`.

        A group in a storm has members for a second in five: one look finds none as often as not.
        """
        for _ in range(LOOKS_AGAIN):
            looks = described(policies, kafka, workloads)
            missing = await self._owners.missing(looks, self._turns, most=MOST_LOOKED_AT_AGAIN)
            if not missing:
                return
            await self._sleep(LOOK_AGAIN_AFTER_S)
            wanted = _by_cluster(missing)
            answers = await asyncio.gather(*(self._look_now(name, ids) for name, ids in wanted.items()))
            for name, groups in zip(wanted, answers, strict=True):
                view = kafka[name]
                if isinstance(view, ClusterLook):
                    kafka[name] = dataclasses.replace(view, groups={**view.groups, **groups})

    async def _look_now(self, cluster: str, group_ids: Sequence[str]) -> Mapping[str, Look]:
        """Return what is said of groups at this moment; what was said before stands where nothing is."""
        try:
            return await self._groups.at(cluster).look_now(group_ids)
        except ClusterUnreachableError:
            return {}  # the next cycle says so, if it lasts
        except Exception:  # noqa: BLE001 - a surprise in one more look must not end the cycle
            _log.exception("groups not looked at again", cluster=cluster)
            return {}
        finally:
            self._moved()


def _by_cluster(policies: Sequence[Policy]) -> dict[str, list[str]]:
    """Return the groups of each cluster, each once and in a fixed order."""
    group_ids: dict[str, set[str]] = {}
    for policy in policies:
        group_ids.setdefault(policy.cluster, set()).add(policy.group_id)
    return {name: sorted(ids) for name, ids in group_ids.items()}


def read_since(began: datetime, policies: Sequence[Policy], kafka: Mapping[str, ReadCluster]) -> Iterator[Policy]:
    """Yield the policies whose groups were read since a moment, and are not what was known before."""
    for policy in policies:
        view = kafka[policy.cluster]
        if isinstance(view, ClusterLook) and view.groups[policy.group_id].at >= began:
            yield policy


def described(
    policies: Sequence[Policy], kafka: Mapping[str, ReadCluster], workloads: Mapping[ObjectKey, ReadWorkload]
) -> Iterator[owners.Look]:
    """Yield what was read of each policy, where both its workload and its group were."""
    for policy in policies:
        workload, view = workloads[policy.key], kafka[policy.cluster]
        if isinstance(workload, Workload) and isinstance(view, ClusterLook):
            look = view.groups[policy.group_id]
            yield policy, as_of(workload, look.at), look.group, look.at


def _not_configured(name: str, clusters: Collection[str]) -> Finding:
    """Return that nobody configured a cluster; only a name much like it is shown, since tenants read this."""
    phrase = "clusterRef {cluster} names no Kafka cluster of the operator's configuration"
    near = difflib.get_close_matches(name, clusters, n=1)
    sentence = say(phrase, cluster=repr(name))
    if near:
        sentence = say(f"{phrase}; did you mean {{near}}?", cluster=repr(name), near=near[0])
    return Finding(Reason.CLUSTER_NOT_CONFIGURED, sentence)


def group_of(policy: Policy, shown: Shown) -> Group | Finding:
    """Return the policy's group, or why there is none that it may be shown."""
    group = shown[policy.key]
    if group is None:
        phrase = "Kafka cluster {cluster} knows no consumer group {group}"
        return Finding(Reason.GROUP_NOT_FOUND, say(phrase, cluster=policy.cluster, group=policy.group_id))
    if isinstance(group, UnreadableGroup):
        return Finding(Reason.GROUP_UNREADABLE, group.message)
    return group if isinstance(group, Finding) else _of_others(policy, group) or group


def _of_others(policy: Policy, group: Group) -> Finding | None:
    """Return that a group of Connect's workers is named for consumers, or one of consumers for workers; or None.

    The values of one are not read by the other, and its evictions are counted otherwise.
    """
    has_workers = group.kind == WORKERS
    if has_workers == (policy.library == java.CONNECT.name) or not (has_workers or group.members):
        return None  # nobody says what an empty group was
    phrase = (
        "the members of group {group} are Connect's workers: set spec.client.library to connect, and not {library}; "
        "the consumers of a sink connector's tasks are in a group of their own, connect-NAME"
        if has_workers
        else "the members of group {group} are consumers, and no workers of Connect: name their library, such as java, "
        "in spec.client.library, and not {library}; the workers' group is the group.id of their own configuration"
    )
    return Finding(Reason.GROUP_UNREADABLE, say(phrase, group=policy.group_id, library=policy.library))


def shown_members(
    policies: Sequence[Policy], shown: Shown, workloads: Mapping[ObjectKey, ReadWorkload]
) -> Iterator[own_client_ids.Look]:
    """Yield what is seen of each policy's group: its pods, and its members if they may be shown to it."""
    for policy in policies:
        workload, group = workloads[policy.key], shown.get(policy.key)
        pods = workload.pods if isinstance(workload, Workload) else None
        yield (policy.key.namespace, policy.group_id), pods, group.members if isinstance(group, Group) else ()
