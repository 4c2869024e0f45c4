"""No write leaves once the leadership is over: on a real API server, through a wire that can be bad."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from kubernetes.aio import client, config

from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.domain.errors import NotLeaderError
from sandbox.control_plane import ControlPlane
from sandbox.network import LOOPBACK
from sandbox.proxy import FaultProxy

pytestmark = pytest.mark.timeout(180)


class Fence:
    """A leadership that ends at a moment, or after it was asked so many times."""

    def __init__(self, *, lasts_s: float = 60.0, asks: int = 1_000) -> None:
        self.until_s = time.monotonic() + lasts_s
        self.asks = asks

    def remaining_s(self) -> float:
        """Return what is left."""
        self.asks -= 1
        left_s = self.until_s - time.monotonic()
        if left_s <= 0 or self.asks < 0:
            raise NotLeaderError("over")
        return left_s


class Standstill(Fence):
    """A leadership that is asked for a second time, and ends while the process stands still right after that turn."""

    def __init__(self, wire: FaultProxy) -> None:
        super().__init__()
        self.wire = wire
        self.left = 0
        """Bytes that had left when it went on."""

    def remaining_s(self) -> float:
        """Return what is left."""
        left_s = super().remaining_s()
        if self.asks == 1_000 - 2:
            asyncio.get_running_loop().call_soon(self._stand_still)
        return left_s

    def _stand_still(self) -> None:
        time.sleep(0.5)
        self.left = self.wire.bytes_to_target
        self.until_s = time.monotonic()


@contextlib.asynccontextmanager
async def behind(plane: ControlPlane, fence: Fence, wire: FaultProxy) -> AsyncIterator[KubernetesApi]:
    """Give the API behind a fence."""
    configuration = client.Configuration()
    await config.load_kube_config(config_file=str(plane.kubeconfig), client_configuration=configuration)
    configuration.host = f"https://{LOOPBACK}:{wire.port}"
    api = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=10), fence=fence)
    try:
        yield api
    finally:
        await api.close()


@pytest.fixture
def wire(control_plane: ControlPlane) -> Any:
    """The wire to the API server."""
    port = urlsplit(control_plane.url).port
    assert port is not None
    with FaultProxy(LOOPBACK, port) as started:
        yield started


async def create(api: KubernetesApi, namespace: str, name: str = "written") -> object:
    """Write something."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return await api.write("POST", f"/api/v1/namespaces/{namespace}/configmaps", body)


async def written(api: KubernetesApi, namespace: str, name: str = "written") -> bool:
    """Whether it is there: reading needs no leadership."""
    return await api.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}") is not None


@pytest.mark.parametrize("asks", [0, 1], ids=["before it is made", "before its bytes leave"])
@pytest.mark.parametrize("warm", [False, True], ids=["new connection", "used connection"])
async def test_a_closed_fence_lets_nothing_through(
    control_plane: ControlPlane, namespace: str, wire: FaultProxy, *, asks: int, warm: bool
) -> None:
    """Asked twice, the second time when all that takes time is over."""
    async with behind(control_plane, Fence(asks=asks), wire) as api:
        if warm:
            assert not await written(api, namespace)
        with pytest.raises(NotLeaderError):
            await create(api, namespace)
        assert not await written(api, namespace)


async def test_an_open_fence_lets_a_write_through(
    control_plane: ControlPlane, namespace: str, wire: FaultProxy
) -> None:
    """It is asked twice and no more."""
    fence = Fence(asks=2)
    async with behind(control_plane, fence, wire) as api:
        await create(api, namespace)
        assert await written(api, namespace)
    assert fence.asks == 0


async def test_no_turn_of_the_loop_lies_between_the_last_look_and_the_bytes(
    control_plane: ControlPlane, namespace: str, wire: FaultProxy
) -> None:
    """Else whoever is stopped in it sends, when he goes on, what he may not any more."""
    fence = Standstill(wire)
    async with behind(control_plane, fence, wire) as api:
        assert not await written(api, namespace)
        with contextlib.suppress(NotLeaderError):
            await create(api, namespace)
    assert wire.bytes_to_target == fence.left


async def test_a_connection_that_takes_too_long_carries_no_write(
    control_plane: ControlPlane, namespace: str, wire: FaultProxy
) -> None:
    """Opening it took longer than the leadership lasted."""
    wire.delay(0.5)
    async with behind(control_plane, Fence(lasts_s=0.4), wire) as api:
        with pytest.raises(NotLeaderError):
            await create(api, namespace)
        wire.heal()
        assert not await written(api, namespace)


async def test_an_answer_is_awaited_no_longer_than_the_leadership_lasts(
    control_plane: ControlPlane, namespace: str, wire: FaultProxy
) -> None:
    """The write's own timeout is longer."""
    async with behind(control_plane, Fence(lasts_s=1.0), wire) as api:
        assert not await written(api, namespace)
        wire.black_hole()
        began = time.monotonic()
        with pytest.raises(NotLeaderError):
            await create(api, namespace)
        assert time.monotonic() - began < 8
        wire.heal()


async def test_a_write_under_way_is_awaited_by_one_who_is_cancelled(
    control_plane: ControlPlane, namespace: str, wire: FaultProxy
) -> None:
    """When its task has ended, so has the write: the lease may be given back."""
    async with behind(control_plane, Fence(), wire) as api:
        assert not await written(api, namespace)
        wire.delay(0.5)
        writing = asyncio.create_task(create(api, namespace))
        await asyncio.sleep(0.1)
        writing.cancel()
        await asyncio.wait([writing])
        assert writing.cancelled()
        wire.heal()
        assert await written(api, namespace)
