"""A healthy group of eight pods that a model would change, and a ReplicaSet and a webhook that act as real ones."""

import dataclasses
import functools
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final

from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.evidence import MissingWorkload, Pod, Workload
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.rollouts import CanaryPods, Failing, Rollout, UpdatedPod
from heartbeat_tuner.metrics.measured import ABSENCE, CRASH_DOWNTIME
from heartbeat_tuner.reconcile.at_broker.group_writer import ValueTargets
from heartbeat_tuner.reconcile.budget import FleetLimits
from heartbeat_tuner.reconcile.cycle import Cycle
from heartbeat_tuner.tails.rates import Duration, Rate
from tests.support import counters, fitted, manifests, stages, worlds
from tests.support.fakes import FakeWorkloads
from tests.support.stages import CONSUMER, ORDERS, Stage

PODS: Final = 8
MOST_PODS: Final = 16
BEFORE: Final = worlds.settings()


@functools.cache
def quiet() -> counters.Answers:
    """Return what all pods leave that there ever are, for hours."""
    return counters.quiet(worlds.pods(MOST_PODS), worlds.NOW - worlds.HOUR, worlds.NOW + 3 * worlds.HOUR)


class TriedWorkloads(FakeWorkloads):
    """A Deployment whose pods can be evicted, and come again.

    Attributes:
        stage: in which the policy stands.
        evictions: name and uid of each pod that was evicted.
        asked: how often an eviction was asked for, refused or not.
        evict_error: raised by an eviction, which then does not happen.
        dies: raised after an eviction that did happen: the operator never learns of it.
        webhook: whether it gives values to new pods.
        crashes: whether new pods with the values crash.
        tried: the names of pods that have a canary's values.
        crashing: those of them that crash.
        readies: whether new pods become ready.
        most_tried: how many pods had the values at one moment, at most.
    """

    def __init__(self, stage: Stage) -> None:
        super().__init__({CONSUMER: worlds.workload(BEFORE, running=worlds.pods(PODS))})
        self.edit(CONSUMER, template="template-1", holdings=None)
        self.stage = stage
        self.evictions: list[tuple[str, str]] = []
        self.asked = 0
        self.evict_error: Exception | None = None
        self.dies: BaseException | None = None
        self.webhook = True
        self.crashes = False
        self.tried: set[str] = set()
        self.crashing: set[str] = set()
        self.readies = True
        self.most_tried = 0
        self._next = PODS
        self._taken: tuple[str, int] = ("", 0)

    async def read(self, policy: Policy) -> Workload | MissingWorkload:
        """Return the Deployment as its pods show it."""
        found = await super().read(policy)
        if not isinstance(found, Workload) or policy.canary is None:
            return found
        pods = [pod for pod in found.pods if pod.name in self.tried]
        uids = {pod.name: pod.uid for pod in pods}
        rollout = Rollout(
            wanted=found.rollout.wanted,
            ready=tuple(UpdatedPod(pod.name, pod.ready_since, 0) for pod in pods if pod.ready_since is not None),
            failing=tuple(
                Failing(name, "container app ends again and again, with exit code 7", 2, container="app")
                for name in sorted(self.crashing & uids.keys())
            ),
            pods=frozenset(uids),
        )
        return dataclasses.replace(found, canary=CanaryPods(uids, rollout, len(found.pods)))

    async def evict(self, namespace: str, pod: str, uid: str) -> None:
        """Replace a pod."""
        assert namespace == CONSUMER.namespace
        self.asked += 1
        if self.evict_error is not None:
            raise self.evict_error
        self.evictions.append((pod, uid))
        self.replace(pod, uid)
        if self.dies is not None:
            raise self.dies

    def replace(self, pod: str, uid: str) -> None:
        """Have another pod in the place of one, as its ReplicaSet and the webhook do it."""
        stored = self.stored[CONSUMER]
        left = tuple(item for item in stored.pods if (item.name, item.uid) != (pod, uid))
        assert len(left) == len(stored.pods) - 1
        self.tried.discard(pod)
        self.edit(CONSUMER, pods=(*left, self._made()))

    def unready(self, name: str) -> None:
        """Have a pod be not ready any more."""
        pods = self.stored[CONSUMER].pods
        self.edit(CONSUMER, pods=tuple(dataclasses.replace(p, ready_since=None) if p.name == name else p for p in pods))

    def scale(self, wanted: int) -> None:
        """Have another number of pods; the newest go first."""
        stored = self.stored[CONSUMER]
        pods = sorted(stored.pods, key=lambda pod: (pod.started, pod.name))[:wanted]
        while len(pods) < wanted:
            pods.append(self._made())
        rollout = dataclasses.replace(stored.rollout, wanted=wanted, updated=wanted)
        self.tried &= {pod.name for pod in pods}
        self.edit(CONSUMER, pods=tuple(pods), rollout=rollout)

    def _made(self) -> Pod:
        """Return a new pod, with the values of a canary where a ticket of it is open."""
        number, now = self._next, self.stage.clock.now()
        self._next += 1
        status, edited = self.stage.policies.status_of(ORDERS), self.stage.policies.stored[ORDERS]["metadata"]
        is_of_spec = status.get("observedGeneration") == edited["generation"]
        canary = status.get("canary") if is_of_spec else None
        ticket = ("", 0) if canary is None else (canary["startTime"], canary["ticket"])
        made = worlds.pod(number, started=now)
        if self.webhook and canary is not None and canary["phase"] == "Running" and ticket > self._taken:
            self._taken = ticket
            self.tried.add(made.name)
            self.most_tried = max(self.most_tried, len(self.tried))
            if self.crashes:
                self.crashing.add(made.name)
                made = dataclasses.replace(made, ready_since=None)
        return made if self.readies else dataclasses.replace(made, ready_since=None)


class TriedStage(Stage):
    """An operator that may evict pods, and a group that has better values; they are watched for five minutes.

    Attributes:
        workloads: its Deployment.
        may_evict: whether it may, from the next start on.
    """

    workloads: TriedWorkloads
    may_evict = True

    def __init__(self, **spec: Any) -> None:
        answers = quiet()
        rollout = {"horizon": "8760h", "canary": {"duration": "5m"}, **spec.pop("rollout", {})}
        super().__init__([manifests.policy(spec={"rollout": rollout, **spec})], now=BEFORE, answers=answers)
        self.workloads = TriedWorkloads(self)
        crashes = fitted.quantity(values=400, rate=Rate(10.0, 0.1), duration=Duration(3.0, 0.4, 8.0))
        self.models.stored = [fitted.fitted(quantities={ABSENCE: fitted.quantity(), CRASH_DOWNTIME: crashes})]
        self.restart()

    def restart(self) -> None:
        """Start the operator again, with the right to evict."""
        super().restart()
        self.operator = Cycle(
            store=self.part,
            gatherer=self.gatherer(),
            targets=ValueTargets(self.workloads, self.groups),
            policies=self.policies,
            slots=self.slots,
            stops=self.stops,
            clock=self.clock,
            limits=FleetLimits(self.max_rollouts, may_evict=self.may_evict),
        )

    def follow_up(self) -> None:
        """Start another leader, which lists what the API server has."""
        self.restart()
        self.policies.have_status(ORDERS, self.policies.status_of(ORDERS))

    async def cycle(self, after: timedelta = stages.MINUTE) -> Any:
        """Have the group's members at its pods, and run one cycle."""
        members = [
            dataclasses.replace(worlds.member(pod), partitions=4) for pod in self.workloads.stored[CONSUMER].pods
        ]
        self.groups.groups["main"]["orders"] = worlds.group(members)
        return await super().cycle(after)

    @property
    def canary(self) -> dict[str, Any]:
        """The note of the canary; empty where there is none."""
        found: dict[str, Any] = self.policies.status_of(ORDERS).get("canary", {})
        return found

    def pods(self) -> set[tuple[str, str]]:
        """Return name and uid of all pods."""
        return {(pod.name, pod.uid) for pod in self.workloads.stored[CONSUMER].pods}


class Fall:
    """The end of a leader at one of its writes: from then on none of its writes leaves.

    Attributes:
        has_fallen: whether it has; a test that starts another says that it has not.
    """

    def __init__(self, stage: TriedStage, at_write: int, *, done: bool) -> None:
        """Have the leader fall.

        Args:
            stage: whose leader.
            at_write: how many writes it lives to see.
            done: whether that write still leaves.
        """
        self.has_fallen = False
        self._left = at_write
        self._done = done
        for fake, name in ((stage.policies, "write_status"), (stage.workloads, "evict"), (stage.workloads, "apply")):
            setattr(fake, name, self._mortal(getattr(fake, name)))

    def _mortal(self, write: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def mortal(*args: Any, **named: Any) -> Any:
            if self.has_fallen:
                raise ApiServerError("the leader has fallen")
            self._left -= 1
            if self._left != -1:
                return await write(*args, **named)
            self.has_fallen = True
            if self._done:
                await write(*args, **named)
            raise ApiServerError("the leader fell")

        return mortal
