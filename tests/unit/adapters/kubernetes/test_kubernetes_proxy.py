"""The way to an API server behind a proxy."""

import asyncio
from datetime import timedelta

import pytest
from kubernetes.aio import client

from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.domain.errors import ApiServerError
from sandbox.network import LOOPBACK, free_ports


@pytest.mark.parametrize("excepted", ["", "api.invalid"])
async def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch, excepted: str) -> None:
    """Not for hosts that the environment excepts."""
    (port,) = free_ports(1)
    asked: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.close()

    monkeypatch.setenv("NO_PROXY", excepted)
    monkeypatch.setenv("HTTPS_PROXY", f"http://{LOOPBACK}:{port}")
    async with await asyncio.start_server(refuse, LOOPBACK, port):
        configuration = client.Configuration(host="https://api.invalid:6443")
        api = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=5))
        with pytest.raises(ApiServerError):
            await api.get("/version")
        await api.close()
    assert set(asked) == (set() if excepted else {b"CONNECT api.invalid:6443 HTTP/1.1\r\n"})  # it tries again
