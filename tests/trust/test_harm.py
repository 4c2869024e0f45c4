"""Row A9: a change that makes a group worse is taken back within the time that its own status gives.

What shows such harm are episodes of evictions, and all that come within a quarter of an hour are one. So the least
harm that can be told from chance takes three quarters of an hour to happen, and here it takes a day and more. No test
can wait for that. The API server, the Deployment, its ReplicaSets and its pods are real, as are the operator's cycle
and adapters; the clock runs ahead by the better part of an hour from look to look, and Prometheus' answers are made
from what the pods run with.
"""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from heartbeat_tuner.api.followed import history_status
from heartbeat_tuner.domain.verifications import EvictionHistory
from sandbox.environment import Sandbox
from tests.e2e.operators import Operators
from tests.support import exits, worlds
from tests.support.exits import MERGE
from tests.support.harmed import HarmedPlace

pytestmark = pytest.mark.timeout(120)

DAY: Final = timedelta(days=1)
BETWEEN_LOOKS: Final = timedelta(minutes=50)
"""Within the hour that a record reaches back, so that no eviction is missed."""

RECORD: Final = 14 * DAY
EPISODES_BEFORE: Final = (3 * DAY, 10 * DAY)
"""Since the record began."""

EPISODES: Final = len(EPISODES_BEFORE) + 1
"""In the record, with the one that demands the change."""

LOOKS_OF_A_LEADER: Final = 10
"""Then there is another, which knows what the status says."""

PROMISE: Final = re.compile(r"(?P<times>\d+) times the rate of \S+ a day would show after about (?P<days>\d+) days")


class FortnightPlace(HarmedPlace):
    """One that was watched for a fortnight before, and suffers after a change."""

    async def note_a_calm_fortnight(self) -> None:
        """Put into the policy's status what an operator leaves there that has watched for 14 days."""
        since = datetime.now(UTC).replace(microsecond=0) - RECORD
        episodes_s = tuple((since + after).timestamp() for after in EPISODES_BEFORE)
        known = EvictionHistory(since, worlds.STORM, episodes_s, group=("main", self.name))
        history = history_status(known).model_dump(by_alias=True, exclude_none=True)
        await self.api.write("PATCH", f"{self.policy}/status", {"status": {"history": history}}, content_type=MERGE)

    async def suffer(self, times: str, *, at_most: timedelta) -> timedelta:
        """Look until values are taken back, while members are evicted more often; return how long that took.

        Args:
            times: how much more often than before.
            at_most: to look for so long.
        """
        began = self.clock.now()
        self.harmed = began, RECORD / EPISODES / int(times)
        for number in range(at_most // BETWEEN_LOOKS):
            if number % LOOKS_OF_A_LEADER == 0:
                self.restart()
            await self.look(later=BETWEEN_LOOKS)
            if "reverted" in await self.status():
                break
        return self.clock.now() - began


@pytest.fixture
async def place(sandbox: Sandbox, operators: Operators) -> AsyncIterator[FortnightPlace]:
    """A place that no other operator looks at."""
    operators.stop()
    async with exits.connected(sandbox.control_plane) as connections:
        made = FortnightPlace(connections, "harmed")
        yield made
        await made.tear_down()


@pytest.mark.row("A9")
async def test_a_change_that_makes_a_group_worse_is_taken_back(place: FortnightPlace) -> None:
    """A cure after which members are evicted ten times as often goes out again, once, and the same pods come back."""
    await place.set_up()
    await place.apply("kustomize-controller", {})
    await place.await_settled()
    stored = await place.stored()
    template, generation = stored["spec"]["template"], stored["metadata"]["generation"]
    await place.create_policy()
    await place.note_a_calm_fortnight()

    await place.look()
    await place.await_settled()
    await place.look()
    assert (await place.applied())[:2] == ("True", "Applied")
    status, reason, message = await place.condition("Verified")
    assert (status, reason) == ("Unknown", "Verifying")
    promised = PROMISE.search(message)
    assert promised, message
    took = await place.suffer(promised["times"], at_most=2 * int(promised["days"]) * DAY)
    assert took <= int(promised["days"]) * DAY + BETWEEN_LOOKS
    await place.await_settled()
    assert (await place.stored())["spec"]["template"] == template

    for _ in range(3):
        await place.look()
    status, reason, message = await place.condition("Verified")
    assert (status, reason) == ("False", "Reverted")
    assert "Worse: " in message
    assert (await place.applied())[:2] == ("False", "FailedBefore")
    (failed,) = (await place.status())["reverted"]
    assert (failed["outcome"], failed["values"]["sessionTimeout"]) == ("Worse", "30s")
    assert (await place.stored())["metadata"]["generation"] == generation + 2, "one write, and one that undoes it"
