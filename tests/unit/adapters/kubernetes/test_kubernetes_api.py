"""Answers of API servers that are no everyday ones, over real connections."""

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio import client

from heartbeat_tuner.adapters.kubernetes.kubernetes_api import LARGEST_ANSWER_BYTES, LONGEST_LINE_BYTES, KubernetesApi
from heartbeat_tuner.domain.errors import ApiServerError

PATH = "/api/v1/pods"
LONG = b"x" * 2**20


@contextlib.asynccontextmanager
async def connected(answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[KubernetesApi]:
    """Give a connection to an API server that answers so."""
    app = web.Application()
    app.add_routes([web.get(PATH, answer)])
    async with TestServer(app) as server:
        configuration = client.Configuration(host=str(server.make_url("")).rstrip("/"))
        api = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=30))
        try:
            yield api
        finally:
            await api.close()


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

    async with connected(answer) as api:
        yield api


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


async def test_an_answer_without_measure_is_given_up() -> None:
    """It is not read on; the next request has another connection."""
    ports: list[int] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        ports.append(request.transport.get_extra_info("peername")[1])
        if len(ports) in {1, 4}:
            return web.json_response({})
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            for _ in range(2 * LARGEST_ANSWER_BYTES // len(LONG)):
                await response.write(LONG)
        return response

    async with connected(answer) as api:
        assert await api.get(PATH) == {}
        for query in ({}, {"limit": "1"}):
            with pytest.raises(ApiServerError, match=f"GET {PATH} with more than {LARGEST_ANSWER_BYTES} bytes"):
                await api.get(PATH, **query)
        assert await api.get(PATH) == {}
    assert ports[0] == ports[1]
    assert len(set(ports)) == 3


async def test_of_large_objects_fewer_are_asked_for() -> None:
    """Whoever made them, what else is in the list is listed; what was asked for besides stays."""
    asked: list[dict[str, str]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(dict(request.query))
        given = ["x" * 2**20] * int(request.query["limit"])
        return web.Response(body=json.dumps({"items": given}).encode(), content_type="application/json")

    async with connected(answer) as api:
        page = await api.get(PATH, limit="12", **{"continue": "t"})
    assert page is not None
    assert len(page["items"]) == 3
    assert asked == [{"limit": "12", "continue": "t"}, {"limit": "3", "continue": "t"}]
