"""Puts a replica of the webhook together: settings in, a server that answers until it is told to end."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any

import structlog

from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.settings.webhook_settings import WebhookSettings
from heartbeat_tuner.webhook.replica import Replica
from heartbeat_tuner.webhook.server import AdmissionServer

_log = structlog.get_logger()


async def run_webhook(settings: WebhookSettings) -> None:
    """Answer until SIGTERM or SIGINT, and a while longer, until nobody asks any more.

    Raises:
        ApiServerError: neither a service account nor a kubeconfig says where the API server is.
        InvalidSettingsError: nothing can listen where the settings say, or the Secret has no namespace.
    """
    stop = asyncio.Event()
    for received in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(received, stop.set)
    namespace = settings.certificate.where()
    api = await KubernetesApi.connect(request_timeout=settings.kubernetes.timeout)
    async with contextlib.AsyncExitStack() as closing:
        closing.push_async_callback(api.close)
        replica = Replica.of(settings, api, namespace=namespace)
        closing.callback(replica.aside.close)
        await replica.serve_telemetry(settings, ending=stop.is_set)
        closing.push_async_callback(replica.telemetry.close)
        working = await closing.enter_async_context(_running(*replica.work()))
        server = AdmissionServer(replica.admission.decide, replica.telemetry, replica.context)
        await server.serve(settings.admission.address, settings.admission.port)
        closing.push_async_callback(server.close)
        _log.info("started", address=settings.admission.address, port=settings.admission.port)
        await _first(stop, working)
        await asyncio.sleep(settings.drain.total_seconds())
        _log.info("stopped")


@contextlib.asynccontextmanager
async def _running(*work: Coroutine[Any, Any, None]) -> AsyncIterator[Sequence[asyncio.Task[None]]]:
    """Have work done beside, and end it."""
    tasks = [asyncio.create_task(coroutine) for coroutine in work]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _first(stop: asyncio.Event, working: Sequence[asyncio.Task[None]]) -> None:
    """Wait to be told; work that ends before, as it never should, ends the process: its view would grow old."""
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait([waiting, *working], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    for task in working:
        if task.done():
            task.result()
