"""The note of a stop on a real API server: at the lease, beside its renewals, and as a person writes it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from kubernetes.aio import client, config

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.kubernetes.lease_annotations import LeaseAnnotations
from heartbeat_tuner.adapters.kubernetes.leases import KubernetesLeases
from heartbeat_tuner.adapters.kubernetes.stop_notes import RESUMED_AT, STOPPED
from heartbeat_tuner.domain.errors import ApiServerError, NotLeaderError, WriteConflictError
from heartbeat_tuner.leader_election.elector import Elector
from heartbeat_tuner.leader_election.leadership import Timing
from heartbeat_tuner.ports.fleet_stops import FleetStop, StopNote
from heartbeat_tuner.ports.leader_lease import Claim, Fence
from sandbox.control_plane import ControlPlane
from tests.support.electors import until

pytestmark = pytest.mark.timeout(180)

NAME: Final = "heartbeat-tuner"
NOW: Final = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
STOP: Final = FleetStop("20 groups were harmed", NOW, frozenset({"shop", "town"}))
NOTED: Final = StopNote(STOP, resumed_at=NOW - timedelta(days=1))
FAST: Final = Timing(timedelta(seconds=3), timedelta(seconds=2), timedelta(seconds=0.01))


class Parts:
    """The lease of a namespace, and the note at it."""

    def __init__(self, plane: ControlPlane, namespace: str, api: KubernetesApi) -> None:
        self._plane = plane
        self.namespace = namespace
        self.leases = KubernetesLeases(api, namespace=namespace, name=NAME, clock=SystemClock())
        self.stops = LeaseAnnotations(api, namespace=namespace, name=NAME)

    async def begin(self) -> None:
        """Create the lease, as the election does."""
        await self.leases.write(None, Claim("a", timedelta(seconds=60), 0))

    def annotate(self, *words: str) -> None:
        """Annotate the lease as a person does."""
        self._plane.kubectl("annotate", "--overwrite", "lease", NAME, f"-n={self.namespace}", *words)

    def annotations(self) -> dict[str, str]:
        """Return the annotations as kubectl shows them."""
        lease = json.loads(self._plane.kubectl("get", "lease", NAME, f"-n={self.namespace}", "-o=json"))
        found: dict[str, str] = lease["metadata"].get("annotations", {})
        return found


@contextlib.asynccontextmanager
async def connected(plane: ControlPlane, namespace: str, fence: Fence | None = None) -> AsyncIterator[Parts]:
    """Give the parts, as the administrator has them."""
    configuration = client.Configuration()
    await config.load_kube_config(config_file=str(plane.kubeconfig), client_configuration=configuration)
    api = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=5), fence=fence)
    try:
        yield Parts(plane, namespace, api)
    finally:
        await api.close()


@pytest.fixture
async def parts(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Parts]:
    """Those of the test's namespace, with a lease."""
    async with connected(control_plane, namespace) as made:
        await made.begin()
        yield made


async def test_what_is_noted_is_read_again(parts: Parts) -> None:
    """By whoever leads next; annotations of others stay, and a stop that is over leaves nothing."""
    assert await parts.stops.read() == StopNote()
    parts.annotate("team=platform")
    await parts.stops.replace(StopNote(), NOTED)
    assert await parts.stops.read() == NOTED
    assert parts.annotations().keys() == {"team", STOPPED, RESUMED_AT}
    await parts.stops.replace(NOTED, StopNote(resumed_at=NOW))
    assert await parts.stops.read() == StopNote(resumed_at=NOW)
    assert parts.annotations().keys() == {"team", RESUMED_AT}


async def test_a_person_resumes_as_the_documentation_says(parts: Parts) -> None:
    """The leader takes the word away, and notes since when."""
    await parts.stops.replace(StopNote(), NOTED)
    parts.annotate(f"{STOPPED}=resumed")
    asked = await parts.stops.read()
    assert asked == StopNote(asked_to_resume=True, resumed_at=NOTED.resumed_at)
    await parts.stops.replace(asked, StopNote(resumed_at=NOW))
    assert parts.annotations() == {RESUMED_AT: NOW.isoformat()}


@pytest.mark.parametrize(
    "text",
    [
        "maintenance",
        "",
        "{}",
        "[]",
        "true",
        '{"since": "yesterday", "namespaces": [], "message": "m"}',
        '{"since": "2026-03-02T12:00:00", "namespaces": [], "message": "m"}',
        '{"since": "2026-03-02T12:00:00Z", "namespaces": "shop", "message": "m"}',
        '{"since": "2026-03-02T12:00:00Z", "namespaces": [1], "message": "m"}',
        '{"since": "2026-03-02T12:00:00Z", "namespaces": [], "message": 1}',
        "[" * 100_000,
        "Resumed",
    ],
)
async def test_any_other_text_stops_everything(parts: Parts, text: str) -> None:
    """It may be a person's who stops the fleet by hand; nothing goes on by a slip."""
    parts.annotate(f"{STOPPED}={text}", f"{RESUMED_AT}=yesterday")
    note = await parts.stops.read()
    assert note.stop is not None
    assert (note.stop.since, note.stop.namespaces, note.resumed_at) == (None, frozenset(), None)
    assert text[:100] in note.stop.message
    assert len(note.stop.message) < 600


async def test_what_a_person_wrote_meanwhile_is_not_overwritten(parts: Parts) -> None:
    """Neither a stop nor the end of one."""
    parts.annotate(f"{STOPPED}=maintenance")
    with pytest.raises(WriteConflictError):
        await parts.stops.replace(StopNote(), NOTED)
    assert parts.annotations() == {STOPPED: "maintenance"}


async def test_no_lease_is_no_leave(control_plane: ControlPlane, namespace: str) -> None:
    """Whoever deleted it took the note with it."""
    async with connected(control_plane, namespace) as parts:
        with pytest.raises(ApiServerError, match=rf"lease {namespace}/{NAME} is gone"):
            await parts.stops.read()
        with pytest.raises(ApiServerError):
            await parts.stops.replace(StopNote(), NOTED)


async def test_notes_and_renewals_do_not_lose_each_other(parts: Parts) -> None:
    """A hundred renewals a second, beside fifty notes: the leadership lasts, and each note stays until the next."""
    stopped = asyncio.Event()
    elector = Elector(parts.leases, FAST, identity="b")
    parts.annotate("team=platform")
    lease = await parts.leases.read()
    await parts.leases.write(lease, Claim("", timedelta(seconds=1), 0))
    led: list[Any] = []

    async def lead() -> None:
        led.append(elector.leads)
        await stopped.wait()

    election = asyncio.create_task(elector.run(lead, stopped))
    await until(lambda: led)
    note, refused = StopNote(), 0
    for number in range(50):
        after = StopNote(resumed_at=NOW + timedelta(seconds=number))
        try:
            await parts.stops.replace(note, after)
            note = after
        except WriteConflictError:
            refused += 1
        await asyncio.sleep(0.02)
        assert await parts.stops.read() == note
    assert elector.leads
    assert (led, refused < 5) == ([True], True)
    stopped.set()
    await election
    assert parts.annotations().keys() == {"team", RESUMED_AT}


async def test_who_does_not_lead_notes_nothing(control_plane: ControlPlane, namespace: str, parts: Parts) -> None:
    """Another one may have read what this one has not."""

    class Closed:
        def remaining_s(self) -> float:
            raise NotLeaderError("over")

    async with connected(control_plane, namespace, fence=Closed()) as ended:
        assert await ended.stops.read() == StopNote()
        with pytest.raises(NotLeaderError):
            await ended.stops.replace(StopNote(), NOTED)
    assert parts.annotations() == {}
