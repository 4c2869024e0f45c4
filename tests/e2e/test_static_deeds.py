"""What happens to a crew of static members: kills, a lost node, scaling, rollouts on top of each other.

Two things must hold of each: no id is given twice at any moment, by the API server's history of the pods; and each
partition is consumed again within a session and a margin, by the offsets that the broker was told.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from sandbox.environment import Sandbox
from sandbox.node import ProcessNode
from sandbox.processes import wait_until
from sandbox.scenario import Operator
from tests.e2e.group_record import await_log
from tests.e2e.static_figures import Figures
from tests.e2e.static_members import COMMIT_S, SESSION_S, SETTINGS, TOLERATION_S, Cost, Crew, Kind, crew_of
from tests.support.webhooks import Replica

pytestmark = [pytest.mark.static_members, pytest.mark.timeout(1800)]

PODS: Final = 5

MARGIN_S: Final = 15.0
"""On top of a session: a beat until the others learn of the rebalance, a commit before and one after, and consumers
that start while two cores do everything else."""

LOST_S: Final = 50.0 + TOLERATION_S + 25.0
"""How long Kubernetes waits for a node, by its default, then the pod's toleration, and some time to notice."""

COLLECTED_S: Final = 90.0
"""How long the collector takes to remove the pods of a node that is no more; it waits 40 s, and looks each 20 s."""

KINDS: Final = [
    Kind(library, protocol) for protocol in ("classic", "consumer") for library in ("java", "confluent-kafka-python")
]


@dataclasses.dataclass(frozen=True)
class Scene:
    """What deeds are done to.

    Attributes:
        crew: the consumers, `PODS` of them before and after each deed.
        other: a second node, which has no pods of theirs before a deed.
        webhook: which gives the ids.
    """

    crew: Crew
    other: ProcessNode
    webhook: Replica

    def spread(self) -> None:
        """Have two of the pods on the other node."""
        kubectl, first = self.crew.kubectl, self.crew.sandbox.node
        self.crew.scale(PODS - 2)
        self.settle()
        kubectl("cordon", first.name)
        self.crew.scale(PODS)
        self.settle()
        kubectl("uncordon", first.name)
        assert len(self.crew.pods_on(self.other)) == 2

    def settle(self) -> None:
        """Wait until as many pods as wanted are ready, none is on its way out, and all are members."""
        self.crew.await_available(self.crew.name, timeout_s=240)
        self.crew.await_members(timeout_s=SESSION_S + 60)

    def await_lost(self, on_it: list[str]) -> None:
        """Wait until the pods of the lost node are Terminating, which is all that can become of them for now."""
        wait_until(
            lambda: set(on_it) <= set(self.crew.leaving()),
            part="test",
            what="the pods of the lost node to be Terminating",
            timeout_s=LOST_S,
            poll_s=0.5,
        )


def kill_container(scene: Scene) -> None:
    """SIGKILL of a container: the same pod starts it again, with the same id."""
    scene.crew.kill_container()


def kill_pod(scene: Scene) -> None:
    """SIGKILL of a pod: nobody says how its container ended."""
    scene.crew.kill_pod()


def scale(scene: Scene) -> None:
    """5 -> 3 -> 5, back up as soon as the two are gone, their partitions still parked."""
    scene.crew.scale(PODS - 2)
    scene.crew.await_available(scene.crew.name)
    scene.crew.scale(PODS)


def two_rollouts(scene: Scene) -> None:
    """A second rollout in the middle of one."""
    scene.crew.restart()
    scene.crew.await_midway()
    scene.crew.restart()


def rollback(scene: Scene) -> None:
    """Back to the template before in the middle of a rollout."""
    scene.crew.restart()
    scene.crew.await_midway()
    scene.crew.undo()


def unreachable_node(scene: Scene) -> None:
    """A node that is not heard of, whose consumers live on; it comes back when others were made in their place."""
    on_it = scene.crew.pods_on(scene.other)
    scene.other.process.pause()
    try:
        scene.await_lost(on_it)
        # The successors are promised the ids, wait for the holders to end, and are then replaced by pods that do not.
        scene.crew.await_ready(timeout_s=120)
        assert scene.crew.leaving() == on_it
        assert scene.crew.shared_ids() == []
    finally:
        scene.other.process.resume()


def lost_node(scene: Scene) -> None:
    """A node that loses its power, and is taken out of the cluster when others were made in their place."""
    on_it = scene.crew.pods_on(scene.other)
    scene.other.process.kill()
    scene.await_lost(on_it)
    scene.crew.await_ready(timeout_s=120)
    assert scene.crew.leaving() == on_it
    scene.crew.kubectl("delete", "node", scene.other.name)
    wait_until(lambda: not scene.crew.leaving(), part="test", what="their end", timeout_s=COLLECTED_S, poll_s=0.5)


Deed = Callable[[Scene], None]

DEEDS: Final[tuple[Deed, ...]] = (kill_container, kill_pod, scale, two_rollouts, rollback)
OF_NODES: Final[tuple[Deed, ...]] = (unreachable_node, lost_node)


@pytest.fixture
def other_node(sandbox: Sandbox) -> Iterator[ProcessNode]:
    """A second node, which is no more afterwards."""
    node = ProcessNode(sandbox.run_dir, sandbox.control_plane.kubeconfig, "other-node")
    with node:
        sandbox.control_plane.kubectl("cordon", node.name)
        yield node
    sandbox.control_plane.kubectl("delete", "node", node.name, "--ignore-not-found")


def done(deed: Deed, scene: Scene) -> Cost:
    """Do a deed and return what it cost until all was as before."""
    before, began = scene.crew.group.rebalances(), time.time()
    deed(scene)
    scene.settle()
    # Who has left may be a member by name still, and its partitions stand still until its session is over.
    time.sleep(max(0.0, began + SESSION_S + MARGIN_S - time.time()))
    scene.crew.await_consumed(time.time(), timeout_s=SESSION_S + MARGIN_S)
    scene.crew.await_members()
    await_log()
    return Cost(scene.crew.group.rebalances() - before, scene.crew.group.longest_stop_s(began, time.time()))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_no_id_is_given_twice_and_no_partition_stands_still_for_long(
    sandbox: Sandbox, operator: Operator, webhook: Replica, figures: Figures, other_node: ProcessNode, kind: Kind
) -> None:
    """Whatever is done to the pods, and to a node of theirs."""
    assert operator.process.alive()
    assert SETTINGS.heartbeat_interval_ms / 1000 + 2 * COMMIT_S < MARGIN_S
    with crew_of(sandbox, kind, pods=PODS, webhook=webhook) as crew:
        crew.set_surge(1)
        scene = Scene(crew, other_node, webhook)
        costs: dict[str, Cost] = {}
        for deed in (*DEEDS, *OF_NODES):
            if deed in OF_NODES:
                crew.kubectl("uncordon", other_node.name)
                scene.spread()
            lived = len(crew.lives())
            cost = costs[deed.__name__] = done(deed, scene)
            others = len(crew.lives()) - lived
            figures.add("deeds", kind, cost, deed=deed.__name__, new_pods_with_ids=others, ids_twice=crew.shared_ids())
        assert crew.shared_ids() == []
        assert {name: cost.stop_s for name, cost in costs.items() if cost.stop_s > SESSION_S + MARGIN_S} == {}
