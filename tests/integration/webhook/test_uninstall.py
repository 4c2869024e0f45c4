"""The webhook is taken away, in the documented order and in others: nothing is left that blocks pods or namespaces.

Each time a pod waits for the slot of one that ends, which its node, as long as the test lasts, never reports as gone.
"""

import dataclasses
import json
import shlex
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from heartbeat_tuner.api.slot_names import SLOT_LABEL
from sandbox.binaries import Binaries
from sandbox.control_plane import ControlPlane
from sandbox.processes import wait_until
from tests.support.shops import Shop, bind, deployment, gated, ids_of, policy, template
from tests.support.webhooks import CHECKOUT, Replica, register, unregister

pytestmark = pytest.mark.timeout(240)

HOW_TO: Final = CHECKOUT / "docs" / "how-to" / "remove.md"
_OURS: Final = "pods,leases,secrets,consumergrouppolicies,mutatingwebhookconfigurations"


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[ControlPlane]:
    """One of this module's own: definitions go away here."""
    with ControlPlane(tmp_path_factory.mktemp("uninstall"), binaries) as started:
        yield started


@dataclasses.dataclass(frozen=True)
class Installed:
    """A webhook that runs, and a shop in which a pod waits."""

    plane: ControlPlane
    home: str
    replica: Replica
    shop: Shop

    def delete_policies(self) -> None:
        """As documented, the first step."""
        self.shop.kubectl("delete", "cgp", "--all")

    def await_nobody_waits(self) -> None:
        """What the webhook does by itself, as long as it runs."""
        wait_until(lambda: not gated(self.shop.pods()), part="pods", what="the gates' end", timeout_s=60)

    def unregister(self) -> None:
        """Take the registration and the rights away."""
        unregister(self.plane)

    def end(self) -> None:
        """End the process at once, as a node's loss would."""
        self.replica.process.kill()

    def delete_home(self) -> None:
        """Delete the webhook's own namespace, and wait for its end."""
        self.plane.kubectl("delete", "namespace", self.home, "--timeout=90s")

    def delete_definitions(self) -> None:
        """Delete the definitions, and all policies with them."""
        self.plane.kubectl("delete", f"--filename={CHECKOUT / 'crds'}", "--timeout=90s")

    def free_with_the_documented_command(self) -> None:
        """Run what the page says for a webhook that is gone already."""
        (line,) = [line for line in HOW_TO.read_text().splitlines() if line.startswith("kubectl delete pods ")]
        self.plane.kubectl(*shlex.split(line)[1:])

    def delete_shop(self) -> None:
        """Delete the shop's namespace; its node tells that the old pod is gone, and the namespace ends."""
        self.plane.kubectl("delete", "namespace", self.shop.namespace, "--wait=false", "--ignore-not-found")
        for pod in self.shop.get("pods")["items"]:
            self.shop.kubectl(
                "delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force", "--ignore-not-found"
            )
        wait = ("wait", "--for=delete", f"namespace/{self.shop.namespace}", "--timeout=90s")
        self.plane.kubectl(*wait)


@pytest.fixture
def installed(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Installed]:
    """The webhook and a shop, again for each test."""
    suffix = uuid.uuid4().hex[:8]
    control_plane.kubectl("apply", f"--filename={CHECKOUT / 'crds'}")
    control_plane.await_definitions()
    # As an operator does. Where nobody read objects of a definition, the API server begins to when that is deleted,
    # finds that it cannot yet, and may then forget the definition for minutes (docs/explanation/unsteady.md).
    control_plane.kubectl("get", "consumergrouppolicies,consumergroupmodels", "--all-namespaces")
    for name in (f"home-{suffix}", f"shop-{suffix}"):
        control_plane.kubectl("create", "namespace", name)
    shop = Shop(control_plane, f"shop-{suffix}")
    shop.apply(policy())
    port = int(control_plane.url.rpartition(":")[2])
    replica = Replica(control_plane, tmp_path, f"home-{suffix}", "webhook", port)
    register(control_plane, f"home-{suffix}", replica.port)
    try:
        replica.start()
        replica.await_ready()
        shop.apply(deployment(1, surge=0))
        wait_until(lambda: _next_pod_waits(shop), part="pods", what="one that waits", timeout_s=60, poll_s=1)
        yield Installed(control_plane, f"home-{suffix}", replica, shop)
    finally:
        replica.process.stop()
        unregister(control_plane)


def _next_pod_waits(shop: Shop) -> bool:
    """Delete the shop's pod; return whether the next one waits, as it does once ids are given and gates are lifted."""
    (old,) = shop.await_pods(1)
    bind(shop, old)
    shop.kubectl("delete", "pod", old["metadata"]["name"], "--wait=false", "--grace-period=600")
    return bool(gated(shop.await_pods(1)))


def _pods_can_be_created(shop: Shop) -> bool:
    """Whether a pod of a Deployment is created, as it was asked for."""
    pod = {"apiVersion": "v1", "kind": "Pod", **template()}
    pod["metadata"] = {"name": f"new-{uuid.uuid4().hex[:8]}", "labels": {"pod-template-hash": "5d4f"}}
    created = shop.kubectl("create", "--filename=-", "--output=json", stdin=json.dumps(pod))
    stored: dict[str, Any] = json.loads(created)
    return not gated([stored]) and SLOT_LABEL not in stored["metadata"]["labels"]


def _finalizers(plane: ControlPlane) -> list[str]:
    """Return the finalizers of everything that the webhook makes or marks."""
    found = json.loads(plane.kubectl("get", _OURS, "--all-namespaces", "--output=json"))["items"]
    return [finalizer for item in found for finalizer in item["metadata"].get("finalizers", ())]


Step = Callable[[Installed], None]

ORDERS: Final[dict[str, Sequence[Step]]] = {
    "as documented": (
        Installed.delete_policies,
        Installed.await_nobody_waits,
        Installed.unregister,
        Installed.end,
        Installed.delete_home,
        Installed.delete_definitions,
    ),
    "definitions first": (
        Installed.delete_definitions,
        Installed.await_nobody_waits,
        Installed.delete_home,
        Installed.end,
        Installed.unregister,
    ),
    "process first, registration last": (
        Installed.end,
        Installed.delete_definitions,
        Installed.delete_home,
        Installed.free_with_the_documented_command,
        Installed.unregister,
    ),
    "rights and registration first": (
        Installed.unregister,
        Installed.end,
        Installed.free_with_the_documented_command,
        Installed.delete_policies,
        Installed.delete_definitions,
        Installed.delete_home,
    ),
    "its namespace first": (
        Installed.delete_home,
        Installed.delete_policies,
        Installed.await_nobody_waits,
        Installed.end,
        Installed.delete_definitions,
        Installed.unregister,
    ),
}


@pytest.mark.parametrize("steps", ORDERS.values(), ids=ORDERS)
def test_nothing_is_left_that_blocks_pods_or_namespaces(installed: Installed, steps: Sequence[Step]) -> None:
    """At no step a pod that cannot be created; in the end none that waits, and a namespace that ends."""
    assert _finalizers(installed.plane) == []
    for step in steps:
        step(installed)
        assert _pods_can_be_created(installed.shop)
    installed.await_nobody_waits()
    assert installed.shop.pods()
    installed.delete_shop()


def test_a_namespace_ends_in_which_pods_wait(installed: Installed) -> None:
    """While the webhook runs, and with everything that it gave."""
    assert ids_of(installed.shop.pods()) != [""]
    assert installed.shop.leases()
    installed.delete_shop()
