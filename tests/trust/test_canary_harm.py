"""Row A9: what a canary finds out against values goes back, and no other pod changes.

Episodes of evictions that come within a quarter of an hour are one, so harm that is told by whom they hit takes hours.
As in `test_harm` the clock runs ahead from look to look, and Prometheus' answers are made from what the pods run with.
The API server, the Deployment, its ReplicaSet, the evictions and the webhook that gives the values are real.
"""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from heartbeat_tuner.metrics.measured import ABSENCE, CRASH_DOWNTIME
from heartbeat_tuner.tails.rates import Duration, Rate
from sandbox.environment import Sandbox
from tests.e2e.operators import Operators
from tests.support import counters, exits, fitted
from tests.support.exits import Running
from tests.support.harmed import HarmedPlace
from tests.support.webhooks import Replica

pytestmark = pytest.mark.timeout(180)

PODS: Final = 8
TRIED: Final = 2
SESSION_MS: Final = "30000"
CALM: Final = {
    "KAFKA_SESSION_TIMEOUT_MS": SESSION_MS,
    "KAFKA_HEARTBEAT_INTERVAL_MS": "3000",
    "KAFKA_MAX_WAIT_TIME_MS": "5000",
}
"""Of all pods before: KafkaJS' defaults."""

SOON: Final = timedelta(minutes=3)
"""From look to look while pods come and go."""

WATCHED: Final = timedelta(minutes=50)
"""While they are watched: within the hour that a record reaches back."""

EVICTED_EACH: Final = timedelta(minutes=70)
"""No storm: three episodes of three hit a quarter of the pods after three and a half hours."""

WATCHES_LAG_S: Final = 0.5
"""Within it the webhook's watches know of a ticket."""

MOST_LOOKS: Final = 24

REVISION: Final = "deployment.kubernetes.io/revision"
"""It rises with each rollout; a Deployment's generation rises with its annotations, too."""

Facts = dict[str, tuple[str, int]]
"""Uid and restarts of pods, by name."""


class TriedPlace(HarmedPlace):
    """A healthy group of eight pods, whose values a model would change; what its canary does hangs on the test.

    Attributes:
        ignores: whether the application does not use what its environment says, and is evicted every few seconds.
    """

    settings = CALM
    replicas = PODS
    may_evict = True
    ignores = False

    def __init__(self, connections: exits.Connections, name: str) -> None:
        super().__init__(connections, name)
        yesterday = self.clock.now().date() - timedelta(days=1)
        crashes = fitted.quantity(values=400, rate=Rate(10.0, 0.1), duration=Duration(3.0, 0.4, 8.0))
        model = fitted.model(
            namespace=name,
            group=name,
            since=yesterday - timedelta(days=13),
            until=yesterday,
            fitted_at=self.clock.now(),
            quantities={ABSENCE: fitted.quantity(), CRASH_DOWNTIME: crashes},
        )
        self.models.stored = [dataclasses.replace(fitted.fitted(), name=name, model=model)]

    async def series(self, at: datetime) -> counters.Answers:
        """Return what all pods leave: quiet ones, but for those of the canary."""
        return counters.together(*[self._of(item, at) for item in await self.running()])

    def _of(self, running: Running, at: datetime) -> counters.Answers:
        place = {"namespace": self.name, "group": self.name}
        if running.session_ms == SESSION_MS or (self.harmed is None and not self.ignores):
            return counters.quiet([running.pod], running.pod.started, at, **place)
        if self.harmed is None:
            return counters.stormy([running.pod], running.pod.started, at, **place)
        return self.left_by(running.pod, at, *self.harmed)

    async def begin(self) -> None:
        """Deploy the pods, and have the policy that is to try other values in a quarter of them."""
        await self.set_up()
        await self.apply("kustomize-controller", {})
        await self.await_settled()
        await self.create_policy()
        await self.edit_policy(rollout={"cooldown": "1m", "horizon": "8760h", "canary": {"duration": "12h"}})

    async def canary(self) -> dict[str, Any]:
        """Return the note of the canary; empty where there is none."""
        found: dict[str, Any] = (await self.status()).get("canary", {})
        return found

    async def look_until(self, word: str, value: object, *, later: timedelta) -> None:
        """Look until the note of the canary says something; pods that were evicted are back at each look.

        Args:
            word: of the note.
            value: that it is to have; None for any.
            later: from look to look.
        """
        for _ in range(MOST_LOOKS):
            await self.look(later=later)
            await asyncio.sleep(WATCHES_LAG_S)
            await self.await_settled()
            said = (await self.canary()).get(word)
            if said is not None and value in {None, said}:
                return
        pytest.fail(f"{word} is not {value}: {await self.status()}")

    async def facts(self) -> Facts:
        """Return uid and restarts of all pods."""
        return {
            pod["metadata"]["name"]: (pod["metadata"]["uid"], pod["status"]["containerStatuses"][0]["restartCount"])
            for pod in await self.pods()
        }


@pytest.fixture
async def place(
    request: pytest.FixtureRequest, sandbox: Sandbox, operators: Operators, webhook: Replica
) -> AsyncIterator[TriedPlace]:
    """A place that no other operator looks at, and the webhook."""
    assert webhook
    operators.stop()
    async with exits.connected(sandbox.control_plane) as connections:
        made = TriedPlace(connections, f"tried-{request.node.callspec.params['outcome'].lower()}")
        yield made
        await made.tear_down()


@pytest.mark.row("A9")
@pytest.mark.parametrize("outcome", ["Worse", "NoEffect"])
async def test_the_pods_of_a_canary_go_back_and_the_others_never_change(place: TriedPlace, outcome: str) -> None:
    """Two of eight, once episodes hit them alone, or they are removed more often than their session could end."""
    await place.begin()
    before, deployment = await place.facts(), await place.stored()
    await place.look_until("readyTime", None, later=SOON)
    with_values = [item for item in await place.running() if item.session_ms != SESSION_MS]
    assert len(with_values) == TRIED

    if outcome == "Worse":
        place.harmed = place.clock.now(), EVICTED_EACH
    place.ignores = outcome == "NoEffect"
    await place.look_until("phase", "Failed", later=WATCHED)
    place.restart()
    await place.look_until("phase", "Over", later=SOON)

    status = await place.status()
    (failed,) = status["reverted"]
    assert failed["outcome"] == outcome
    assert (await place.condition("Verified"))[:2] == ("False", "Reverted")
    assert [item.session_ms for item in await place.running()] == PODS * [SESSION_MS]
    after, stored = await place.facts(), await place.stored()
    stayed = {name: facts for name, facts in after.items() if name in before}
    assert stayed == {name: before[name] for name in stayed}
    assert len(stayed) == PODS - TRIED
    assert stored["spec"] == deployment["spec"]
    assert stored["metadata"]["annotations"][REVISION] == deployment["metadata"]["annotations"][REVISION]
    noted = json.loads(stored["metadata"]["annotations"]["heartbeat-tuner.dev/failed"])
    assert noted["app"]["failed"] == [failed]
