"""Two replicas of the webhook beside a real API server, with the documented rights, for the tests of one module."""

import json
import uuid
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from sandbox.control_plane import ControlPlane
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.proxy import FaultProxy
from tests.support.shops import Shop, pod_of_nobody, policy
from tests.support.webhooks import CHECKOUT, Replica, Splitter, authority_of, registered


@pytest.fixture(scope="module")
def home(control_plane: ControlPlane) -> str:
    """The webhook's own namespace; the definitions of policies are there, too."""
    control_plane.kubectl("apply", f"--filename={CHECKOUT / 'crds'}")
    control_plane.await_definitions()
    name = f"webhook-{uuid.uuid4().hex[:8]}"
    control_plane.create_namespace(name)
    return name


@pytest.fixture(scope="module")
def wire(control_plane: ControlPlane) -> Iterator[FaultProxy]:
    """The replicas' way to the API server."""
    port = urlsplit(control_plane.url).port
    assert port is not None
    with FaultProxy(LOOPBACK, port) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def replicas(
    control_plane: ControlPlane, home: str, wire: FaultProxy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Replica, Replica]]:
    """Two replicas that started at the same moment, registered as one."""
    folder = tmp_path_factory.mktemp("webhook")
    first, second = (Replica(control_plane, folder, home, name, wire.port) for name in ("webhook-a", "webhook-b"))
    splitter = Splitter([first.port, second.port])
    with registered(control_plane, home, splitter.port):
        try:
            for replica in (first, second):
                replica.start()
            for replica in (first, second):
                replica.await_ready()
            yield first, second
        finally:
            for replica in (first, second):
                replica.process.stop()
            splitter.close()


@pytest.fixture
def shop(control_plane: ControlPlane, home: str, namespace: str) -> Shop:
    """A namespace of the test's own, where policies are known."""
    assert home != namespace
    return Shop(control_plane, namespace)


@pytest.fixture
def known(shop: Shop, control_plane: ControlPlane, home: str, replicas: tuple[Replica, Replica]) -> Callable[[], None]:
    """Wait until both replicas have seen the policies that were applied."""

    def wait() -> None:
        authority = authority_of(control_plane, home)

        def seen() -> bool:
            before = [replica.count("dry-run") for replica in replicas]
            for replica in replicas:
                assert replica.ask(shop.namespace, pod_of_nobody(), authority=authority, dry_run=True)["allowed"]
            return all(item.count("dry-run") > then for item, then in zip(replicas, before, strict=True))

        wait_until(seen, part="webhook", what="the policy", timeout_s=60)

    return wait


@pytest.fixture
def classic(shop: Shop, known: Callable[[], None]) -> None:
    """A policy of a group that the operator has seen to be classic, and both replicas know it."""
    shop.apply(policy(suspend=True))
    status = json.dumps({"status": {"groupProtocol": "Classic"}})
    shop.kubectl("patch", "cgp", "orders", "--subresource=status", "--type=merge", f"--patch={status}")
    shop.apply(policy(suspend=False))
    known()
