"""Answers of API servers that are no everyday ones, over real connections."""

import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio import client

from heartbeat_tuner.adapters.kubernetes_api import LONGEST_LINE_BYTES, KubernetesApi
from heartbeat_tuner.domain.errors import ApiServerError

PATH = "/api/v1/pods"
LONG = b"x" * 2**20


@contextlib.asynccontextmanager
async def answering(*parts: bytes) -> AsyncIterator[KubernetesApi]:
    """Give a connection to an API server that answers with these bytes."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):  # who has read enough hangs up
            for part in parts:
                await response.write(part)
        return response

    app = web.Application()
    app.add_routes([web.get(PATH, answer)])
    async with TestServer(app) as server:
        configuration = client.Configuration(host=str(server.make_url("")).rstrip("/"))
        api = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=30))
        try:
            yield api
        finally:
            await api.close()


async def test_a_watch_brings_objects_of_any_size() -> None:
    """As large as etcd takes them and JSON makes them; the last line needs no end."""
    async with answering(b"a\n", *[LONG] * 9, b"\n", b"b") as api:
        lines = [len(line) async for line in api.lines(PATH, silence=timedelta(seconds=30))]
    assert lines == [2, 9 * 2**20 + 1, 1]


async def test_a_line_beyond_all_measure_is_a_failure_as_any_other() -> None:
    """What came before it is taken, and the message does not repeat it all."""
    async with answering(b"a\n", *[LONG] * (LONGEST_LINE_BYTES // 2**20), b"\n") as api:
        lines = api.lines(PATH, silence=timedelta(seconds=30))
        assert await anext(lines) == b"a\n"
        with pytest.raises(ApiServerError, match=f"makes no sense: Got more than {LONGEST_LINE_BYTES} bytes") as caught:
            await anext(lines)
    assert len(str(caught.value)) < 300
