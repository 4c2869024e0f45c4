"""Hand-written stand-ins for the outside world, one per port; each refuses what the real one would refuse.

They hold state and count what was asked and written. A test sets a failure by assigning to `error`, and takes it away
again.
"""

import asyncio
import copy
import dataclasses
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from heartbeat_tuner.api.slot_names import SlotPlace
from heartbeat_tuner.domain.errors import (
    ApiServerError,
    ClusterUnreachableError,
    GroupConfigChangedError,
    WriteConflictError,
)
from heartbeat_tuner.domain.evidence import Holdings, MissingWorkload, Workload
from heartbeat_tuner.domain.kafka_groups import (
    CONSUMER_MIN_SESSION,
    Cluster,
    Group,
    GroupConfig,
    GroupOverrides,
    UnreadableGroup,
)
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Application, ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verifications import FailedValues
from heartbeat_tuner.membership.values import View
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.models.group_model import Fitted, Unfitted, Unreadable
from heartbeat_tuner.ports.fleet_stops import StopNote
from heartbeat_tuner.ports.kafka_clusters import Groups
from heartbeat_tuner.ports.stored_policies import ListPage
from heartbeat_tuner.ports.wall_clock import Clock
from heartbeat_tuner.reconcile.gather.group_looks import GroupLooks
from heartbeat_tuner.reconcile.policy_store import PolicyStore
from tests.support import counters, worlds
from tests.support.counters import Answers


class FakeClock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.time = worlds.NOW

    def now(self) -> datetime:
        """Return the time it was set to."""
        return self.time

    def advance(self, by: timedelta) -> None:
        """Let time pass."""
        self.time += by


class FakePrometheus:
    """A Prometheus that holds the series of everybody, whoever asks.

    Attributes:
        meanwhile: what happens elsewhere while it answers.
    """

    def __init__(self, answers: Answers, convention: Convention = counters.KAFKAJS) -> None:
        self.answers = answers
        self.convention = convention
        self.queries: list[str] = []
        self.error: Exception | None = None
        self.meanwhile: Callable[[], None] | None = None

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return what the query selects at a time."""
        self.queries.append(query)
        if self.meanwhile is not None:
            self.meanwhile()
        if self.error is not None:
            raise self.error
        asked = counters.asked(query)
        shown = {quantity: asked.in_window(group, at) for quantity, group in self.answers.items()}
        return asked.of(counters.exported(shown, self.convention, asked.names), at)


async def no_sleep(_: float) -> None:
    """Let other tasks run, and no time pass."""
    await asyncio.sleep(0)


class FakeGroups:
    """Kafka clusters by name, each with its groups; a forgetful one breaks the promise to answer for each group."""

    def __init__(self, groups: Mapping[str, dict[str, Group | UnreadableGroup]]) -> None:
        self.groups = groups
        self.down: set[str] = set()
        self.forgetful = False
        self.error: Exception | None = None
        self.requests: list[tuple[str, tuple[str, ...]]] = []
        self.times: list[timedelta | None] = []
        self.bounds = worlds.cluster()
        self.alterations: list[tuple[str, GroupOverrides]] = []
        self.before_altering: Callable[[], None] = lambda: None
        self.after_altering: Callable[[], None] = lambda: None

    @property
    def clusters(self) -> Collection[str]:
        """Their names."""
        return self.groups.keys()

    async def describe(
        self, cluster: str, group_ids: Sequence[str], *, within: timedelta | None = None
    ) -> Mapping[str, Group | UnreadableGroup | None]:
        """Return the groups, in no time; None for those that do not exist."""
        self.requests.append((cluster, tuple(group_ids)))
        self.times.append(within)
        self._reach(cluster, "describe")
        if self.forgetful:
            return {}
        return {group_id: self.groups[cluster].get(group_id) for group_id in group_ids}

    async def cluster(self, cluster: str) -> Cluster:
        """Return a cluster of one broker."""
        self._reach(cluster, "metadata")
        return self.bounds

    async def alter(
        self, cluster: str, group_id: str, *, kind: str, expected: GroupOverrides, wanted: GroupOverrides
    ) -> None:
        """Set a group's own values, if they are what is expected; hooks are called before and after."""
        group = self.groups[cluster].get(group_id)
        assert not isinstance(group, Group) or group.kind == kind
        self.before_altering()
        self._reach(cluster, "incremental_alter_configs")
        if self.overrides(cluster, group_id) != expected:
            raise GroupConfigChangedError("somebody set it meanwhile")
        self.override(cluster, group_id, wanted)
        self.alterations.append((group_id, wanted))
        self.after_altering()

    def override(self, cluster: str, group_id: str, values: GroupOverrides) -> None:
        """Set a group's own values, as anybody may; what is not set is Kafka's default."""
        group = self.groups[cluster][group_id]
        assert isinstance(group, Group)
        session = values.session_timeout or CONSUMER_MIN_SESSION
        config = GroupConfig(session, values.heartbeat_interval or timedelta(seconds=5), values)
        self.groups[cluster][group_id] = dataclasses.replace(group, consumer_protocol=True, config=config)

    def overrides(self, cluster: str, group_id: str) -> GroupOverrides:
        """Return a group's own values."""
        group = self.groups[cluster][group_id]
        assert isinstance(group, Group)
        assert group.config is not None
        return group.config.overrides

    def _reach(self, cluster: str, request: str) -> None:
        if self.error is not None:
            raise self.error
        if cluster in self.down:
            raise ClusterUnreachableError(f"Kafka cluster {cluster} did not answer {request}")


def looks_at(groups: Groups, clock: Clock) -> GroupLooks:
    """Return what looks at groups in cycles, of which there is one a minute, and not between them."""
    return GroupLooks(
        groups,
        clock,
        interval=timedelta(minutes=1),
        sleep=no_sleep,
        monotonic=lambda: clock.now().timestamp(),  # so that looks are as old as a test has them be
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Write:
    """One accepted apply: to which version of which object, and which values."""

    key: ObjectKey
    uid: str
    resource_version: str
    target: LivenessSettings


class FakeWorkloads:
    """Deployments; a write to another version than the stored one is refused, and one that is accepted rolls out."""

    def __init__(self, workloads: dict[ObjectKey, Workload]) -> None:
        self.stored = workloads
        self.reads: list[ObjectKey] = []
        self.writes: list[Write] = []
        self.read_error: Exception | None = None
        self.apply_error: Exception | None = None
        self.answer_error: Exception | None = None
        self.release_error: Exception | None = None
        self.note_error: Exception | None = None
        self.note_attempts = 0
        self.releases: list[ObjectKey] = []
        self.broken: set[ObjectKey] = set()
        self.denied: set[ObjectKey] = set()

    async def cover(self, policies: Sequence[Policy]) -> None:
        """Have them all in view, as always."""

    async def read(self, policy: Policy) -> Workload | MissingWorkload:
        """Return the Deployment as stored."""
        self.reads.append(policy.workload.key)
        if policy.workload.key in self.broken:
            raise KeyError("a surprise")
        if self.read_error is not None:
            raise self.read_error
        found = self.stored.get(policy.workload.key)
        return found or MissingWorkload(Reason.WORKLOAD_NOT_FOUND, f"{policy.workload} does not exist")

    async def apply(self, policy: Policy, workload: Workload, application: Application) -> None:
        """Store the values with their record and begin to roll out; `answer_error` loses the answer, not the write."""
        if self.apply_error is not None:
            raise self.apply_error
        key = policy.workload.key
        if key in self.denied:
            raise ApiServerError("an admission webhook denied the request", status=403)
        stored = self.stored.get(key)
        if stored is None or (stored.uid, stored.resource_version) != (workload.uid, workload.resource_version):
            raise WriteConflictError(f"{policy.workload} changed")
        self.writes.append(Write(key, workload.uid, workload.resource_version, application.values))
        self.stored[key] = dataclasses.replace(
            stored,
            resource_version=str(int(stored.resource_version) + 1),
            rolling_out=True,
            our_rollout=True,
            is_our_template=True,
            rollout=dataclasses.replace(stored.rollout, updated=0),
            applications={**stored.applications, policy.workload.container: application},
            holdings=_held_after(stored.holdings, policy, application),
        )
        if self.answer_error is not None:
            raise self.answer_error

    async def note_failed(self, policy: Policy, workload: Workload, failed: Sequence[FailedValues]) -> None:
        """Store what failed as an annotation; pods and template stay as they are."""
        self.note_attempts += 1
        if self.note_error is not None:
            raise self.note_error
        stored = self.stored[policy.workload.key]
        if (stored.uid, stored.resource_version) != (workload.uid, workload.resource_version):
            raise WriteConflictError(f"{policy.workload} changed")
        held = stored.holdings
        assert held is not None
        noted = dataclasses.replace(held, failed={**held.failed, policy.workload.container: tuple(failed)})
        self.edit(policy.workload.key, holdings=noted)

    async def evict(self, namespace: str, pod: str, uid: str) -> None:
        """Refuse, as the API server does without the right."""
        raise ApiServerError(f"pods {namespace}/{pod} ({uid}) may not be evicted", status=403)

    async def release(self, policy: Policy, *, empty: bool) -> Holdings | None:
        """Store the Deployment without what is to be let go of; one that has entries without a value rolls out."""
        stored = self.stored.get(policy.workload.key)
        held = None if stored is None else stored.holdings
        if stored is None or held is None or not (held.overruled or (empty and held.empty)):
            return None
        if self.release_error is not None:
            raise self.release_error
        self.releases.append(policy.workload.key)
        rolls = bool(empty and held.empty)
        left = dataclasses.replace(held, overruled={}, empty={} if empty else held.empty)
        self.edit(policy.workload.key, holdings=left, rolling_out=rolls or stored.rolling_out)
        return held

    def edit(self, key: ObjectKey, **changes: Any) -> None:
        """Store another version of the Deployment, with `changes` if there are any."""
        stored = self.stored[key]
        version = str(int(stored.resource_version) + 1)
        self.stored[key] = dataclasses.replace(stored, resource_version=version, **changes)

    def roll_out(self, key: ObjectKey, at: datetime) -> None:
        """Replace all pods: new ones run with what was written last."""
        stored = self.stored[key]
        generation = int(stored.resource_version)
        self.stored[key] = dataclasses.replace(
            stored,
            current=worlds.current(stored.applications["app"].values),
            rolling_out=False,
            our_rollout=False,
            rollout=dataclasses.replace(stored.rollout, updated=stored.rollout.wanted),
            pods=tuple(worlds.pod(generation + number, started=at) for number, _ in enumerate(stored.pods)),
        )


def _held_after(held: Holdings | None, policy: Policy, application: Application) -> Holdings | None:
    """Return what is held once an application is written."""
    if held is None:
        return None
    return dataclasses.replace(
        held,
        standing={
            **{
                name: text
                for name, text in (held.standing or {}).items()
                if name not in (application.entries_before or {})
            },
            **application.entries,
        },
        applications={**held.applications, policy.workload.container: application},
        revision=(held.revision or 0) + 1,
    )


class FakeModels:
    """The API server's ConsumerGroupModels; it may not know such objects, or fail."""

    def __init__(self, stored: Sequence[Fitted | Unreadable] | Unfitted = ()) -> None:
        self.stored = stored
        self.error: Exception | None = None
        self.reads = 0
        self.asked: frozenset[tuple[str, str]] = frozenset()

    async def read(self, asked: Collection[tuple[str, str]] = ()) -> Sequence[Fitted | Unreadable] | Unfitted:
        """Return all models, or why there are none."""
        self.reads += 1
        self.asked = frozenset(asked)
        if self.error is not None:
            raise self.error
        return self.stored


class FakeSlotViews:
    """Slots and their pods, for who only looks."""

    def __init__(self) -> None:
        self.views: dict[SlotPlace, View] = {}
        self.error: Exception | None = None
        self.reads = 0

    async def read(self, places: Collection[SlotPlace]) -> Mapping[SlotPlace, View]:
        """Return the views of these places."""
        self.reads += 1
        if self.error is not None:
            raise self.error
        return {place: view for place, view in self.views.items() if place in places}


class FakeFleetStops:
    """The note of a stop; one that is not the note that was read is not replaced."""

    def __init__(self) -> None:
        self.note = StopNote()
        self.error: Exception | None = None
        self.write_error: Exception | None = None
        self.replacements: list[StopNote] = []

    async def read(self) -> StopNote:
        """Return what is noted."""
        if self.error is not None:
            raise self.error
        return self.note

    async def replace(self, noted: StopNote, note: StopNote) -> None:
        """Note something else."""
        if self.write_error is not None:
            raise self.write_error
        if self.note != noted:
            raise WriteConflictError("the note changed")
        self.note = note
        self.replacements.append(note)

    def resume(self) -> None:
        """Ask to go on, as a person does."""
        self.note = StopNote(asked_to_resume=True, resumed_at=self.note.resumed_at)


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """One recorded Event."""

    policy: str
    reason: str
    message: str
    warning: bool
    count: int = 1


class FakePolicies:
    """The API server's ConsumerGroupPolicies, watched by a store; a write to an old version is refused.

    Attributes:
        moment: the resource version that a list has at least.
    """

    def __init__(self, store: PolicyStore, bodies: Sequence[dict[str, Any]]) -> None:
        self._store = store
        self.stored = {_key(body): body for body in bodies}
        self.events: list[Event] = []
        self.writes = 0
        self.attempts = 0
        self.event_attempts = 0
        self.error: Exception | None = None
        self.event_error: Exception | None = None
        self.moment = 0
        for body in bodies:
            store.show(copy.deepcopy(body))

    async def list_all(self) -> AsyncGenerator[ListPage, None]:
        """Yield all policies, one on each page; the moment is that of the newest."""
        if self.error is not None:
            raise self.error
        versions = [int(body["metadata"]["resourceVersion"]) for body in self.stored.values()]
        moment = max([self.moment, *versions])
        for body in copy.deepcopy(list(self.stored.values())):
            yield ListPage([body], moment)
        yield ListPage([], moment)

    async def is_current(self, body: Mapping[str, Any]) -> bool:
        """Whether the stored policy is of the same generation."""
        stored = self.stored.get(_key(body))
        return stored is not None and stored["metadata"]["generation"] == body["metadata"]["generation"]

    async def write_status(self, body: Mapping[str, Any], status: Mapping[str, Any]) -> Mapping[str, Any]:
        """Store a status as the real one would: whole, and only on the version it was made for."""
        self.attempts += 1
        if self.error is not None:
            raise self.error
        stored = self.stored.get(_key(body))
        if stored is None or stored["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
            raise WriteConflictError(f"policy {_key(body)} changed or is gone")
        too_long = [condition for condition in status["conditions"] if len(condition["message"]) > 4096]
        if too_long:
            raise ApiServerError(f"422: status.conditions.message: too long: {too_long}")
        self.writes += 1
        stored["status"] = copy.deepcopy(dict(status))
        _touch(stored)
        return copy.deepcopy(stored)

    async def announce(
        self, body: Mapping[str, Any], *, reason: str, message: str, warning: bool, count: int = 1
    ) -> None:
        """Record an Event."""
        self.event_attempts += 1
        if self.event_error is not None:
            raise self.event_error
        self.events.append(Event(body["metadata"]["name"], reason, message, warning, count))

    def delete_from_watch(self, key: ObjectKey) -> None:
        """Show the deletion of a policy, which carries a version of its own."""
        _touch(self.stored[key])
        self._store.remove(copy.deepcopy(self.stored[key]))

    def edit(self, key: ObjectKey, **spec: Any) -> None:
        """Change a policy's spec as a user would; the watch shows it."""
        self.edit_behind_the_watch(key, **spec)
        self._store.show(copy.deepcopy(self.stored[key]))

    def annotate(self, key: ObjectKey, name: str, text: str) -> None:
        """Annotate a policy as a user would; the watch shows it."""
        stored = self.stored[key]
        stored["metadata"].setdefault("annotations", {})[name] = text
        _touch(stored)
        self._store.show(copy.deepcopy(stored))

    def edit_behind_the_watch(self, key: ObjectKey, **spec: Any) -> None:
        """Change a policy's spec as a user would; the watch says nothing."""
        stored = self.stored[key]
        stored["spec"] |= spec
        stored["metadata"]["generation"] += 1
        _touch(stored)

    def have_status(self, key: ObjectKey, status: Mapping[str, Any]) -> None:
        """Replace a policy's status behind the operator's back, as a restored backup does; the watch shows it."""
        self.stored[key]["status"] = copy.deepcopy(dict(status))
        _touch(self.stored[key])
        self._store.show(copy.deepcopy(self.stored[key]))

    def status_of(self, key: ObjectKey) -> dict[str, Any]:
        """Return the stored status."""
        status: dict[str, Any] = self.stored[key].get("status", {})
        return status

    def condition(self, key: ObjectKey, kind: str) -> dict[str, Any]:
        """Return one stored condition."""
        found: dict[str, Any] = next(
            condition for condition in self.status_of(key)["conditions"] if condition["type"] == kind
        )
        return found


def _key(body: Mapping[str, Any]) -> ObjectKey:
    return ObjectKey(body["metadata"]["namespace"], body["metadata"]["name"])


def _touch(body: dict[str, Any]) -> None:
    body["metadata"]["resourceVersion"] = str(int(body["metadata"]["resourceVersion"]) + 1)
