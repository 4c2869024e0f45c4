"""What one replica of the webhook works with, put together by its settings; `app` runs it."""

import dataclasses
import functools
import ssl
from collections.abc import Callable, Coroutine
from typing import Any, Self

from heartbeat_tuner.adapters.certificate.certificate_store import CertificateStore
from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.kubernetes.listing import WatchedKind
from heartbeat_tuner.adapters.kubernetes.watching_scope import WatchedScope
from heartbeat_tuner.adapters.slots.slot_leases import KubernetesSlots
from heartbeat_tuner.adapters.slots.ticket_leases import KubernetesTickets
from heartbeat_tuner.adapters.workloads.workload_sizes import KubernetesWorkloadSizes, RecentSizes
from heartbeat_tuner.ports.wall_clock import Clock
from heartbeat_tuner.settings.webhook_settings import WebhookSettings
from heartbeat_tuner.webhook.admission import enrolment
from heartbeat_tuner.webhook.admission.admission import Admission
from heartbeat_tuner.webhook.admission.enrolment import Enrolment
from heartbeat_tuner.webhook.admission.tenant_work import TenantWork
from heartbeat_tuner.webhook.certificate_keeper import Keeper
from heartbeat_tuner.webhook.slot_controller import SlotController
from heartbeat_tuner.webhook.touched import Touched
from heartbeat_tuner.webhook.webhook_telemetry import WebhookTelemetry


@dataclasses.dataclass(frozen=True, slots=True)
class Replica:
    """The parts of a replica.

    Attributes:
        context: of the server; `keeper` puts its certificate there.
        telemetry: what it says of itself.
        keeper: keeps the certificate good.
        policies: those that give static ids or values.
        slots: their Leases and pods.
        tender: looks after slots between admissions.
        admission: answers reviews.
        aside: has large reviews read beside the event loop; its thread is to be ended.
    """

    context: ssl.SSLContext
    telemetry: WebhookTelemetry
    keeper: Keeper
    policies: WatchedScope[Enrolment]
    slots: KubernetesSlots
    slot_controller: SlotController
    admission: Admission
    aside: TenantWork

    @classmethod
    def of(cls, settings: WebhookSettings, api: KubernetesApi, *, namespace: str) -> Self:
        """Put a replica together; nothing of it runs yet.

        Args:
            settings: of the webhook.
            api: where watches, writes and the certificate go.
            namespace: of the certificate's Secret.
        """
        context, telemetry = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), WebhookTelemetry()
        touched, aside, clock = Touched(), TenantWork(), SystemClock()
        policies = _policies(settings, api, touched, clock)
        slots = KubernetesSlots(api, namespaces=settings.kubernetes.namespaces, clock=clock, changed=touched.note)
        sizes = KubernetesWorkloadSizes(api)
        slot_controller = SlotController(
            lambda: [policy for policy in policies.everything() if policy.lends_slots] if policies.in_touch else None,
            slots,
            slots,
            RecentSizes(sizes),
            clock,
            touched,
            telemetry,
            aside,
        )
        telemetry.watch_gates(lambda: sum(map(len, slots.gated().values())))
        return cls(
            context=context,
            telemetry=telemetry,
            keeper=Keeper(_store(settings, api, namespace, clock), context, telemetry),
            policies=policies,
            slots=slots,
            slot_controller=slot_controller,
            admission=Admission(
                policies.at,
                slots,
                KubernetesTickets(api),
                sizes,
                clock,
                may_gate=lambda: slot_controller.lifts,
                aside=aside,
            ),
            aside=aside,
        )

    def work(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """Return what runs for as long as the replica does."""
        return self.keeper.run(), self.policies.run(), self.slots.run(), self.slot_controller.run()

    async def serve_telemetry(self, settings: WebhookSettings, *, ending: Callable[[], bool]) -> None:
        """Answer probes and who reads metrics.

        Args:
            settings: where.
            ending: whether the replica is about to end; from then on it is not ready.
        """

        def unready() -> str:
            if ending():
                return "it is about to end"
            if not self.keeper.shows:
                return "there is no certificate yet"
            if not self.policies.in_touch or self.slots.as_of is None:
                return "policies, pods and slots are not all known, or not kept up to date"
            return ""

        await self.telemetry.serve(
            settings.http.address,
            settings.http.port,
            probe_port=settings.http.probe_port,
            unhealthy=lambda: "",
            unready=unready,
        )


def _store(settings: WebhookSettings, api: KubernetesApi, namespace: str, clock: Clock) -> CertificateStore:
    return CertificateStore(
        api,
        namespace=namespace,
        secret=settings.certificate.secret_name,
        configuration=settings.configuration_name,
        names=settings.certificate.made_out_to(namespace),
        clock=clock,
    )


def _policies(settings: WebhookSettings, api: KubernetesApi, touched: Touched, clock: Clock) -> WatchedScope[Enrolment]:
    return WatchedScope(
        api,
        # Who takes the definition away takes the policies away.
        WatchedKind(api_paths.collection(api_paths.POLICIES), may_be_missing=True),
        functools.partial(enrolment.enrolment_of, installation=settings.installation),
        namespaces=settings.kubernetes.namespaces,
        clock=clock,
        changed=lambda policy: touched.note(policy.slots) if policy.lends_slots else None,
    )
