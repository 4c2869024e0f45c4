"""The server over TLS, asked as the API server asks."""

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from heartbeat_tuner.domain.errors import ApiServerError, InvalidSettingsError
from heartbeat_tuner.webhook import server
from heartbeat_tuner.webhook.admission.review import Review
from heartbeat_tuner.webhook.admission.review_outcomes import ReviewAnswer, ReviewOutcome
from heartbeat_tuner.webhook.server import AdmissionServer, Decide
from heartbeat_tuner.webhook.webhook_telemetry import WebhookTelemetry
from sandbox.network import LOOPBACK, free_ports
from tests.support import certified, reviews

MADE = certified.fresh()


class Asked:
    """A running server and a client of it."""

    def __init__(self, session: aiohttp.ClientSession, url: str, telemetry: WebhookTelemetry) -> None:
        self._session = session
        self._url = url
        self._telemetry = telemetry

    async def post(self, body: bytes, timeout: str = "2s") -> tuple[int, Any]:  # noqa: ASYNC109 - a query's word
        """Return status and response, or text."""
        async with self._session.post(self._url, data=io.BytesIO(body), params={"timeout": timeout}) as answer:
            is_json = answer.content_type == "application/json"
            return answer.status, (await answer.json())["response"] if is_json else await answer.text()

    def count(self, outcome: ReviewOutcome) -> float | None:
        """Return how many ended so."""
        return self.value("heartbeat_tuner_admission_reviews_total", outcome=outcome.value)

    def value(self, name: str, **labels: str) -> float | None:
        """Return a metric."""
        return self._telemetry.registry.get_sample_value(name, labels)


@contextlib.asynccontextmanager
async def serving(decide: Decide) -> AsyncIterator[Asked]:
    """Give a server that decides so."""
    (port,) = free_ports(1)
    telemetry = WebhookTelemetry()
    running = AdmissionServer(decide, telemetry, certified.serving(MADE))
    await running.serve(LOOPBACK, port)
    connector = aiohttp.TCPConnector(ssl=certified.trusting(MADE.bundle))
    try:
        async with aiohttp.ClientSession(connector=connector) as session:
            yield Asked(session, f"https://{LOOPBACK}:{port}{server.PATH}", telemetry)
    finally:
        await running.close()


async def _claimed(_review: Review) -> ReviewAnswer:
    return ReviewAnswer(ReviewOutcome.CLAIMED, [{"op": "add", "path": "/x", "value": "y"}])


async def test_what_was_decided_is_answered() -> None:
    """With the request's uid."""
    async with serving(_claimed) as asked:
        status, response = await asked.post(reviews.body(reviews.request()))
        assert (status, response["uid"], response["allowed"]) == (200, "r1", True)
        assert reviews.operations(response) == [{"op": "add", "path": "/x", "value": "y"}]
        assert asked.count(ReviewOutcome.CLAIMED) == 1


@pytest.mark.parametrize("error", [ApiServerError("down"), ValueError("surprise")])
async def test_who_cannot_decide_lets_the_pod_pass(error: Exception) -> None:
    """Whatever it was."""

    async def fail(_review: Review) -> ReviewAnswer:
        raise error

    async with serving(fail) as asked:
        assert await asked.post(reviews.body(reviews.request())) == (200, {"uid": "r1", "allowed": True})
        assert asked.count(ReviewOutcome.FAILED) == 1


async def test_who_takes_too_long_lets_the_pod_pass() -> None:
    """Before the API server gives up."""

    async def hang(_review: Review) -> ReviewAnswer:
        await asyncio.Event().wait()
        raise AssertionError

    async with serving(hang) as asked:
        assert await asked.post(reviews.body(reviews.request()), timeout="200ms") == (
            200,
            {"uid": "r1", "allowed": True},
        )
        assert asked.count(ReviewOutcome.TIMEOUT) == 1
        took_s = asked.value("heartbeat_tuner_admission_duration_seconds_sum")
        assert took_s is not None
        assert 0.15 <= took_s < 2


async def test_something_else_that_has_a_uid_passes() -> None:
    """It is none of ours."""
    async with serving(_claimed) as asked:
        body = reviews.body(reviews.request(operation="UPDATE"))
        assert await asked.post(body) == (200, {"uid": "r1", "allowed": True})
        assert asked.count(ReviewOutcome.UNREADABLE) == 1


@pytest.mark.parametrize("body", [b"{", b" " * (server.MAX_REQUEST_BYTES + 1)], ids=["junk", "too long"])
async def test_what_has_no_uid_is_an_error(body: bytes) -> None:
    """The API server lets its pod pass, too."""
    async with serving(_claimed) as asked:
        status, text = await asked.post(body)
        assert (status, bool(text.strip())) == (400, True)
        assert asked.count(ReviewOutcome.UNREADABLE) == 1


@pytest.mark.parametrize(
    ("asked", "patience_s"), [("1s", 0.75), ("10s", 1.5), ("0s", 0), ("", 1.5), ("soon", 1.5), ("99999999999h", 1.5)]
)
def test_an_answer_takes_a_share_of_what_the_api_server_waits(asked: str, patience_s: float) -> None:
    """And never long."""
    assert server.patience(asked) == timedelta(seconds=patience_s)


async def test_an_address_that_is_taken_is_said() -> None:
    """With the field's name."""
    (port,) = free_ports(1)
    first, second = (AdmissionServer(_claimed, WebhookTelemetry(), certified.serving(MADE)) for _ in range(2))
    await second.close()
    await first.serve(LOOPBACK, port)
    with pytest.raises(InvalidSettingsError, match=f"admission: cannot listen on {LOOPBACK}:{port}"):
        await second.serve(LOOPBACK, port)
    await first.close()
