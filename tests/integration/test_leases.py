"""The election on a real API server: one leads, whoever dies, and whatever stands in the lease."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from kubernetes.aio import client, config

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.kubernetes.leases import KubernetesLeases
from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from heartbeat_tuner.leader_election.election_thread import ElectionThread
from heartbeat_tuner.leader_election.elector import Elector
from heartbeat_tuner.leader_election.leadership import Timing
from heartbeat_tuner.ports.leader_lease import Claim
from sandbox.control_plane import ControlPlane
from sandbox.network import LOOPBACK
from sandbox.proxy import FaultProxy
from tests.support.electors import until

pytestmark = pytest.mark.timeout(180)

SHORT = Timing(timedelta(seconds=3), timedelta(seconds=2), timedelta(seconds=0.25))
LONG = Timing(timedelta(seconds=60), timedelta(seconds=40), timedelta(seconds=0.25))
NAME = "heartbeat-tuner"


@contextlib.asynccontextmanager
async def connected(plane: ControlPlane, namespace: str, url: str | None = None) -> AsyncIterator[KubernetesLeases]:
    """Give the lease of a namespace, as the administrator has it."""
    configuration = client.Configuration()
    await config.load_kube_config(config_file=str(plane.kubeconfig), client_configuration=configuration)
    configuration.host = url or configuration.host
    api = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=5))
    try:
        yield KubernetesLeases(api, namespace=namespace, name=NAME, clock=SystemClock())
    finally:
        await api.close()


class Candidate:
    """One elector that runs and does nothing with its leadership."""

    def __init__(self, leases: KubernetesLeases, timing: Timing, identity: str) -> None:
        self.elector = Elector(leases, timing, identity=identity)
        self._stopped = asyncio.Event()
        self._task = asyncio.create_task(self.elector.run(self._stopped.wait, self._stopped))

    async def stop(self) -> None:
        """End it in good order."""
        self._stopped.set()
        await self._task

    async def die(self) -> None:
        """End it as a crash would: nothing is given back."""
        self._task.cancel()
        await asyncio.wait([self._task])


@pytest.fixture
async def leases(control_plane: ControlPlane, namespace: str) -> AsyncIterator[KubernetesLeases]:
    """The lease of the test's namespace."""
    async with connected(control_plane, namespace) as found:
        yield found


@pytest.fixture
def _tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine nine hours ahead."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def stored(plane: ControlPlane, namespace: str) -> dict[str, Any]:
    """Return the lease as kubectl shows it."""
    found: dict[str, Any] = json.loads(plane.kubectl("get", "lease", NAME, f"-n={namespace}", "-o=json"))
    return found


def put(plane: ControlPlane, namespace: str, spec: dict[str, Any], **metadata: Any) -> None:
    """Create the lease as somebody else might."""
    document = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": NAME, **metadata},
        "spec": spec,
    }
    plane.kubectl("create", f"--namespace={namespace}", "--filename=-", stdin=json.dumps(document))


async def test_one_leads_and_the_other_takes_over_when_it_dies(
    control_plane: ControlPlane, namespace: str, leases: KubernetesLeases
) -> None:
    """Never both; not while the first renews; not long after the lease of a dead one has run out."""
    both: list[int] = []
    candidates = [Candidate(leases, SHORT, "a"), Candidate(leases, SHORT, "b")]

    async def count() -> None:
        while True:
            both.append(sum(candidate.elector.leads for candidate in candidates))
            await asyncio.sleep(0.01)

    counting = asyncio.create_task(count())
    await until(lambda: any(candidate.elector.leads for candidate in candidates))
    first, second = sorted(candidates, key=lambda candidate: not candidate.elector.leads)
    await asyncio.sleep(2 * SHORT.lease_duration.total_seconds())
    assert first.elector.leads
    assert stored(control_plane, namespace)["spec"]["leaseTransitions"] == 0

    await first.die()
    died = time.monotonic()
    await until(lambda: second.elector.leads)
    assert time.monotonic() - died < 10
    assert stored(control_plane, namespace)["spec"]["leaseTransitions"] == 1
    counting.cancel()
    await second.stop()
    assert max(both) == 1


@pytest.mark.usefixtures("_tokyo")
async def test_what_is_given_back_is_taken_at_once(
    control_plane: ControlPlane, namespace: str, leases: KubernetesLeases
) -> None:
    """Long before it would run out; transitions count on, and times are those of UTC wherever we are."""
    first = Candidate(leases, LONG, "a")
    await until(lambda: first.elector.leads)
    second = Candidate(leases, LONG, "b")
    await until(lambda: second.elector.in_touch)
    spec = stored(control_plane, namespace)["spec"]
    for field in ("acquireTime", "renewTime"):
        assert abs(datetime.fromisoformat(spec[field]) - datetime.now(UTC)) < timedelta(minutes=1)
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("a", 60, 0)

    await first.stop()
    await until(lambda: second.elector.leads)
    assert stored(control_plane, namespace)["spec"]["leaseTransitions"] == 1
    await second.stop()
    spec = stored(control_plane, namespace)["spec"]
    assert (spec.get("holderIdentity", ""), spec["leaseDurationSeconds"]) == ("", 1)


@pytest.mark.parametrize(
    "spec",
    [{}, {"holderIdentity": ""}, {"leaseDurationSeconds": 86_400}, {"renewTime": "2199-01-01T00:00:00.000000Z"}],
    ids=["empty", "nobody", "for a day", "in the future"],
)
async def test_a_lease_that_nobody_holds_is_taken(
    control_plane: ControlPlane, namespace: str, leases: KubernetesLeases, spec: dict[str, Any]
) -> None:
    """Whatever else it says; labels of others stay."""
    put(control_plane, namespace, spec, labels={"team": "platform"})
    candidate = Candidate(leases, SHORT, "a")
    await until(lambda: candidate.elector.leads)
    lease = stored(control_plane, namespace)
    await candidate.stop()
    assert lease["metadata"]["labels"] == {"team": "platform"}
    assert lease["spec"]["leaseTransitions"] == 1


async def test_a_stranger_s_lease_is_waited_for_by_our_own_clock(
    control_plane: ControlPlane, namespace: str, leases: KubernetesLeases
) -> None:
    """One that says that it ended long ago, and does not say how long it holds."""
    put(control_plane, namespace, {"holderIdentity": "stranger", "renewTime": "1970-01-01T00:00:00.000000Z"})
    began = time.monotonic()
    candidate = Candidate(leases, SHORT, "a")
    await until(lambda: candidate.elector.leads)
    assert time.monotonic() - began >= SHORT.lease_duration.total_seconds()
    await candidate.stop()


async def test_a_cut_wire_costs_the_leadership_only(control_plane: ControlPlane, namespace: str) -> None:
    """Refused connections are tried again."""
    port = urlsplit(control_plane.url).port
    assert port is not None
    with FaultProxy(LOOPBACK, port) as wire:
        async with connected(control_plane, namespace, f"https://{LOOPBACK}:{wire.port}") as leases:
            candidate = Candidate(leases, SHORT, "a")
            await until(lambda: candidate.elector.leads)
            wire.cut()
            await until(lambda: not candidate.elector.leads)
            wire.heal()
            await until(lambda: candidate.elector.leads)
            await candidate.stop()


async def test_a_leader_whose_loop_stands_still_leads_on(control_plane: ControlPlane, namespace: str) -> None:
    """For longer than the lease lasts, while another one waits for it."""
    stopped, began = asyncio.Event(), []
    thread = ElectionThread(connected(control_plane, namespace))
    async with thread as ours, connected(control_plane, namespace) as theirs:

        async def lead() -> None:
            began.append(elector.leads)
            await stopped.wait()

        elector = Elector(ours, SHORT, identity="a")
        election = asyncio.create_task(thread.elect(elector, lead, stopped))
        await until(lambda: began)
        follower = Candidate(theirs, SHORT, "b")
        await until(lambda: follower.elector.in_touch)
        for _ in range(2):
            time.sleep(1.5 * SHORT.lease_duration.total_seconds())  # noqa: ASYNC251 - that is what is tried
            assert elector.remaining_s() > 0
            await asyncio.sleep(2 * SHORT.retry_period.total_seconds())
            assert not follower.elector.leads
        assert began == [True]
        assert stored(control_plane, namespace)["spec"]["leaseTransitions"] == 0
        stopped.set()
        await election
        await until(lambda: follower.elector.leads)
        await follower.stop()


async def test_of_two_writes_one_is_refused(
    control_plane: ControlPlane, namespace: str, leases: KubernetesLeases
) -> None:
    """Whether both create, both replace, or one deletes."""
    ours, theirs = (Claim(holder, LONG.lease_duration, 0) for holder in ("a", "b"))
    created = await leases.write(None, ours)
    with pytest.raises(WriteConflictError):
        await leases.write(None, theirs)
    renewed = await leases.write(created, ours)
    with pytest.raises(WriteConflictError):
        await leases.write(created, theirs)
    control_plane.kubectl("delete", "lease", NAME, f"-n={namespace}")
    with pytest.raises(WriteConflictError):
        await leases.write(renewed, ours)
    assert await leases.read() is None


async def test_a_renewal_always_shows(leases: KubernetesLeases) -> None:
    """Also where the clock stands still: a write that changes nothing would get no version of its own."""

    class Stopped:
        def now(self) -> datetime:
            return datetime(2026, 3, 2, tzinfo=UTC)

    leases._clock = Stopped()
    claim = Claim("a", LONG.lease_duration, 0)
    first = await leases.write(None, claim)
    second = await leases.write(first, claim)
    assert not first.is_same_as(second)
    assert not second.is_same_as(await leases.write(second, claim))


async def test_a_namespace_that_is_not_there_is_told(control_plane: ControlPlane) -> None:
    """With the setting that names it."""
    async with connected(control_plane, "nowhere") as leases:
        with pytest.raises(ApiServerError, match=r"no namespace nowhere .* leaderElection\.namespace"):
            await leases.write(None, Claim("a", LONG.lease_duration, 0))
