"""Puts a replica of the webhook together: settings in, a server that answers until it is told to end."""

import asyncio
import contextlib
import signal
import ssl
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any

import structlog

from heartbeat_tuner.adapters import api_paths
from heartbeat_tuner.adapters.certificate_store import CertificateStore
from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.slots import KubernetesSlots
from heartbeat_tuner.adapters.watching import Kind
from heartbeat_tuner.adapters.watching_scope import WatchedScope
from heartbeat_tuner.adapters.workload_sizes import KubernetesWorkloadSizes, RecentSizes
from heartbeat_tuner.settings.webhook import WebhookSettings
from heartbeat_tuner.webhook import enrolment
from heartbeat_tuner.webhook.admission import Admission
from heartbeat_tuner.webhook.aside import Aside
from heartbeat_tuner.webhook.keeping import Keeper
from heartbeat_tuner.webhook.server import AdmissionServer
from heartbeat_tuner.webhook.telemetry import WebhookTelemetry
from heartbeat_tuner.webhook.tending import Tender, Touched

_log = structlog.get_logger()


async def run_webhook(settings: WebhookSettings) -> None:
    """Answer until SIGTERM or SIGINT, and a while longer, until nobody asks any more.

    Raises:
        ApiServerError: neither a service account nor a kubeconfig says where the API server is.
        InvalidSettingsError: nothing can listen where the settings say, or the Secret has no namespace.
    """
    told = asyncio.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(one, told.set)
    namespace, clock = settings.certificate.where(), SystemClock()
    api = await KubernetesApi.connect(request_timeout=settings.kubernetes.timeout)
    async with contextlib.AsyncExitStack() as closing:
        closing.push_async_callback(api.close)
        context, telemetry = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), WebhookTelemetry()
        store = CertificateStore(
            api,
            namespace=namespace,
            secret=settings.certificate.secret_name,
            configuration=settings.configuration_name,
            names=settings.certificate.made_out_to(namespace),
            clock=clock,
        )
        keeper = Keeper(store, context, telemetry)
        touched, aside = Touched(), Aside()
        closing.callback(aside.close)
        namespaces = settings.kubernetes.namespaces
        policies = WatchedScope(
            api,
            # Who takes the definition away takes the policies away.
            Kind(api_paths.collection(api_paths.POLICIES), may_be_missing=True),
            enrolment.enrolment_of,
            namespaces=namespaces,
            clock=clock,
            changed=lambda one: touched.note(one.slots) if one.lends_slots else None,
        )
        slots = KubernetesSlots(api, namespaces=namespaces, clock=clock, changed=touched.note)
        sizes = KubernetesWorkloadSizes(api)
        tender = Tender(
            lambda: [one for one in policies.everything() if one.lends_slots] if policies.in_touch else None,
            slots,
            slots,
            RecentSizes(sizes),
            clock,
            touched,
            telemetry,
            aside,
        )
        telemetry.watch_gates(lambda: sum(map(len, slots.gated().values())))
        admission = Admission(
            policies.at,
            slots,
            sizes,
            clock,
            may_gate=lambda: tender.lifts,
            aside=aside,
        )

        def unready() -> str:
            if told.is_set():
                return "it is about to end"
            if not keeper.shows:
                return "there is no certificate yet"
            if not policies.in_touch or slots.as_of is None:
                return "policies, pods and slots are not all known, or not kept up to date"
            return ""

        await telemetry.serve(
            settings.http.address,
            settings.http.port,
            probe_port=settings.http.probe_port,
            unhealthy=lambda: "",
            unready=unready,
        )
        closing.push_async_callback(telemetry.close)
        working = await closing.enter_async_context(_running(keeper.run(), policies.run(), slots.run(), tender.run()))
        server = AdmissionServer(admission.decide, telemetry, context)
        await server.serve(settings.admission.address, settings.admission.port)
        closing.push_async_callback(server.close)
        _log.info("started", address=settings.admission.address, port=settings.admission.port)
        await _first(told, working)
        await asyncio.sleep(settings.drain.total_seconds())
        _log.info("stopped")


@contextlib.asynccontextmanager
async def _running(*work: Coroutine[Any, Any, None]) -> AsyncIterator[Sequence[asyncio.Task[None]]]:
    """Have work done beside, and end it."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _first(told: asyncio.Event, working: Sequence[asyncio.Task[None]]) -> None:
    """Wait to be told; work that ends before, as it never should, ends the process: its view would grow old."""
    waiting = asyncio.create_task(told.wait())
    await asyncio.wait([waiting, *working], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    for task in working:
        if task.done():
            task.result()
