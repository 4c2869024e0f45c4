"""Answers the API server over TLS: always in time, and never with a refusal.

Whatever goes wrong behind it, a pod is allowed as it was asked for; only a request that has no uid to answer to is an
error, and the API server lets its pod pass, too (`failurePolicy: Ignore`).
"""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

import structlog
from aiohttp import web

from heartbeat_tuner.adapters.http.http_server import HttpServer, Limits
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.webhook.admission import review
from heartbeat_tuner.webhook.admission.review import Review, UnreadableError
from heartbeat_tuner.webhook.admission.review_outcomes import ReviewAnswer, ReviewOutcome
from heartbeat_tuner.webhook.webhook_telemetry import WebhookTelemetry

PATH: Final = "/mutate-pods"

MAX_REQUEST_BYTES: Final = 4 * 2**20
"""The API server itself takes objects of up to 3 MiB."""

LONGEST_ANSWER: Final = timedelta(seconds=1.5)
SHARE: Final = 0.75
"""Of the time that the API server waits: the rest is for the way back."""

LIMITS: Final = Limits(
    connections=512,
    first_s=5.0,
    idle_s=120.0,  # an API server closes what it did not use for 90 s: nothing is on its way then
    answer_s=5.0,
    request_bytes=MAX_REQUEST_BYTES,
)

Decide = Callable[[Review], Awaitable[ReviewAnswer]]

_log = structlog.get_logger()


class AdmissionServer:
    """One HTTPS server.

    Args:
        decide: a review to its answer; may take too long, and may fail.
        telemetry: counts.
        context: with a certificate loaded; a new one may be loaded into it at any time.
    """

    def __init__(self, decide: Decide, telemetry: WebhookTelemetry, context: ssl.SSLContext) -> None:
        self._decide = decide
        self._telemetry = telemetry
        self._context = context
        self._server = HttpServer(self._routed, LIMITS, section="admission")

    async def serve(self, address: str, port: int) -> None:
        """Answer on `address`:`port` until `close`.

        Raises:
            InvalidSettingsError: nothing can listen there.
        """
        await self._server.serve(address, port, context=self._context)

    async def close(self) -> None:
        """Stop answering; requests under way get their answer."""
        await self._server.close()

    async def _routed(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path != PATH:
            return web.Response(status=404, text=f"there is no {request.path} here\n")
        if request.method != "POST":
            return web.Response(status=405, text=f"{request.method} is no review\n", headers={"Allow": "POST"})
        return await self._answer(request)

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        began = time.monotonic()
        limit_s = patience(request.query.get("timeout", "")).total_seconds()
        uid = ""
        try:
            async with asyncio.timeout(limit_s):
                asked = review.read(await request.read())
                uid = asked.uid
                answer = await self._decide(asked)
        except TimeoutError:
            answer = ReviewAnswer(ReviewOutcome.TIMEOUT, message=f"no answer was found in {limit_s:.2g} s")
        except UnreadableError as error:
            uid, answer = error.uid, ReviewAnswer(ReviewOutcome.UNREADABLE, message=str(error))
        except web.HTTPRequestEntityTooLarge:
            answer = ReviewAnswer(ReviewOutcome.UNREADABLE, message=f"more than {MAX_REQUEST_BYTES} bytes")
        except TunerError as error:
            answer = ReviewAnswer(ReviewOutcome.FAILED, message=str(error))
        except Exception as error:  # noqa: BLE001 - an unforeseen error may cost a pod its id, never its start
            _log.exception("surprise in a review")
            answer = ReviewAnswer(ReviewOutcome.FAILED, message=f"{type(error).__name__}: {error}")
        self._telemetry.answered(answer.outcome, duration_s=time.monotonic() - began)
        if answer.message:
            _log.warning("pod not served", outcome=answer.outcome.value, why=answer.message, uid=uid)
        if not uid:
            return web.Response(status=400, text=f"{answer.message}\n")
        return web.json_response(review.answer(uid, answer.patch))


def patience(asked: str) -> timedelta:
    """Return how long an answer may take, where the API server waits as long as it says in its request."""
    try:
        waits = durations.parse(asked)
    except ValueError:
        return LONGEST_ANSWER
    return min(max(SHARE * waits, timedelta(0)), LONGEST_ANSWER)
