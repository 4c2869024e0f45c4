"""Which API servers are too old, as they say it."""

from datetime import timedelta

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio import client

from heartbeat_tuner.adapters.kubernetes import kubernetes_version
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.domain.errors import InvalidSettingsError


async def check(version: dict[str, str]) -> None:
    """Check an API server that says this of its version: old ones cannot be had."""

    async def answer(_request: web.Request) -> web.Response:
        return web.json_response(version)

    app = web.Application()
    app.add_routes([web.get("/version", answer)])
    async with TestServer(app) as server:
        configuration = client.Configuration(host=str(server.make_url("")).rstrip("/"))
        api = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=30))
        try:
            await kubernetes_version.check(api)
        finally:
            await api.close()


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ({"major": "1", "minor": "33"}, "1.33"),
        ({"major": "1", "minor": "29+", "gitVersion": "v1.29.3-eks-508b6b3"}, "1.29"),
        ({"major": "1", "minor": "9"}, "1.9"),
    ],
)
async def test_an_old_one_is_told_with_both_versions(version: dict[str, str], sentence: str) -> None:
    """As numbers, not as text: 1.9 is older than 1.34."""
    with pytest.raises(InvalidSettingsError) as caught:
        await check(version)
    assert str(caught.value).startswith(f"the API server is Kubernetes {sentence}, and 1.34 or newer is needed; ")


@pytest.mark.parametrize(
    "version", [{"major": "1", "minor": "34"}, {"major": "1", "minor": "36+"}, {"major": "2", "minor": "0"}, {}]
)
async def test_a_new_one_is_taken(version: dict[str, str]) -> None:
    """And one that does not tell."""
    await check(version)
