"""The webhook's certificate: kept in one Secret, and trusted by a real API server."""

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from kubernetes.aio import client, config

from heartbeat_tuner.adapters.certificate.certificate_store import CertificateStore
from heartbeat_tuner.adapters.certificate.certificates import Certificates
from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from sandbox.control_plane import ControlPlane
from sandbox.network import LOOPBACK
from tests.support.shops import Shop
from tests.support.webhooks import USER, authority_of

pytestmark = pytest.mark.timeout(180)


@contextlib.asynccontextmanager
async def certificate_store(kubeconfig: Path, namespace: str) -> AsyncIterator[CertificateStore]:
    """Give what a replica has for its certificate."""
    configuration = client.Configuration()
    await config.load_kube_config(config_file=str(kubeconfig), client_configuration=configuration)
    api = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=10))
    yield CertificateStore(
        api,
        namespace=namespace,
        secret="heartbeat-tuner-webhook",  # noqa: S106 - an object's name
        configuration="heartbeat-tuner",
        names=[f"heartbeat-tuner-webhook.{namespace}.svc", LOOPBACK],
        clock=SystemClock(),
    )
    await api.close()


@pytest.mark.usefixtures("replicas")
async def test_replicas_share_one_certificate_that_the_api_server_trusts(
    control_plane: ControlPlane, home: str
) -> None:
    """Who comes later finds it, with the documented rights, and leaves it as it is."""
    async with certificate_store(control_plane.kubeconfig_for(USER), home) as store:
        found = await store.current()
        assert await store.current() == found
        await store.trust(found.bundle)
    assert found.bundle.decode() == authority_of(control_plane, home)
    registered_now = control_plane.kubectl("get", "mutatingwebhookconfiguration", "heartbeat-tuner", "-o=json")
    hooks = json.loads(registered_now)["webhooks"]
    assert [base64.b64decode(hook["clientConfig"]["caBundle"]) for hook in hooks] == [found.bundle] * 2


async def test_a_certificate_is_made_once_and_made_anew_where_somebody_spoilt_it(
    control_plane: ControlPlane, shop: Shop
) -> None:
    """Of two at a time one is refused, and reads what the other made."""
    async with certificate_store(control_plane.kubeconfig, shop.namespace) as store:

        async def made_by_two() -> Certificates:
            made = await asyncio.gather(store.current(), store.current(), return_exceptions=True)
            assert all(isinstance(item, Certificates | WriteConflictError) for item in made)
            found = await store.current()
            assert found in made
            return found

        first = await made_by_two()
        spoilt = json.dumps({"data": {"tls.key": base64.b64encode(b"junk").decode()}})
        shop.kubectl("patch", "secret", "heartbeat-tuner-webhook", f"--patch={spoilt}")
        again = await made_by_two()
        assert (again.bundle == first.bundle, again.server_key == first.server_key) == (
            True,
            False,
        )  # the same authority signed it
    async with certificate_store(control_plane.kubeconfig, "nowhere") as store:
        with pytest.raises(ApiServerError, match="there is no namespace nowhere for the Secret"):
            await store.current()
