"""Rows A1 and A3: whoever takes values over, or back, gets them, and may take them away again without harm."""

import asyncio
import concurrent.futures
import dataclasses
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final, Protocol

import pytest

from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from tests.e2e import appliers
from tests.e2e.appliers import ByKubectl
from tests.e2e.conftest import NewTeam
from tests.e2e.operators import Operators
from tests.e2e.teams import Team
from tests.support import exits
from tests.support.exits import NAMES, Place

pytestmark = pytest.mark.timeout(240)

OTHERS: Final = ("6000", "7000")
"""What the owner sets first, and then."""

SETTLED_S: Final = 60.0


@pytest.fixture
async def connections(sandbox: Sandbox, operators: Operators) -> AsyncIterator[exits.Connections]:
    """The API server, for people and for operators of the test's own; no other one acts meanwhile."""
    operators.stop()
    async with exits.connected(sandbox.control_plane) as found:
        yield found


class Way(Protocol):
    """How somebody sets entries of the Deployment."""

    @property
    def name(self) -> str:
        """How it is called."""
        ...

    def put(self, team: Team, env: Mapping[str, str], gone: tuple[str, ...]) -> None:
        """Bring about that the owner's entries are `env`; those in `gone` were the owner's before."""
        ...


@dataclasses.dataclass(frozen=True)
class Manifest:
    """By a manifest."""

    by: appliers.Applier

    @property
    def name(self) -> str:
        """That of who applies it."""
        return self.by.name

    def put(self, team: Team, env: Mapping[str, str], gone: tuple[str, ...]) -> None:  # noqa: ARG002 - of the protocol
        """Apply the manifest."""
        self.by.apply(team, json.dumps(exits.manifest(team.name, env)))


@dataclasses.dataclass(frozen=True)
class SetEnv:
    """By `kubectl set env`."""

    name: str = "set-env"

    def put(self, team: Team, env: Mapping[str, str], gone: tuple[str, ...]) -> None:
        """Set entries, or take them out."""
        words = [f"{name}={env[name]}" if name in env else f"{name}-" for name in {*env, *gone}]
        if words:
            team.kubectl("set", "env", f"deployment/{team.name}", f"--namespace={team.namespace}", *words)


@dataclasses.dataclass(frozen=True)
class Edit:
    """By `kubectl edit`, which sends a strategic merge."""

    name: str = "edit"

    def put(self, team: Team, env: Mapping[str, str], gone: tuple[str, ...]) -> None:
        """Merge entries, or their absence."""
        entries = [
            {"name": name, "value": env[name]} if name in env else {"name": name, "$patch": "delete"}
            for name in {*env, *gone}
        ]
        patch = {"spec": {"template": {"spec": {"containers": [{"name": "app", "env": entries}]}}}}
        whose = (f"--namespace={team.namespace}", "--field-manager=kubectl-edit", "--type=strategic")
        team.kubectl("patch", "deployment", team.name, *whose, "--patch", json.dumps(patch))


@dataclasses.dataclass(frozen=True)
class Replace:
    """By `kubectl replace`."""

    name: str = "replace"

    def put(self, team: Team, env: Mapping[str, str], gone: tuple[str, ...]) -> None:  # noqa: ARG002 - of the protocol
        """Put the manifest in the place of the Deployment; as a person would, again where kubectl met a conflict."""
        manifest = json.dumps(exits.manifest(team.name, env))
        for is_last in (False, False, False, False, True):
            try:
                team.kubectl("replace", f"--namespace={team.namespace}", "--filename=-", stdin=manifest)
            except SandboxError as error:
                if is_last or "Conflict" not in str(error):
                    raise
            else:
                return


KUBECTL: Final = ByKubectl("kubectl-apply", ())
WAYS: Final[tuple[Way, ...]] = (
    *(Manifest(item) for item in (*appliers.ALL, KUBECTL)),
    SetEnv(),
    Edit(),
    Replace(),
)
REFUSED: Final = frozenset({appliers.HELM_4.name})
"""Who does not force: nothing of ours is ever taken over."""


@dataclasses.dataclass
class Story:
    """A place, who owns its Deployment, and whether the operator looks while the owner's values are there."""

    team: Team
    way: Way
    place: Place
    looks: bool

    async def put(self, env: Mapping[str, str], *gone: str) -> None:
        """Have the owner set entries."""
        await asyncio.get_running_loop().run_in_executor(None, self.way.put, self.team, env, gone)

    async def play(self) -> None:
        """Cure the storm, let the owner add entries, change them, and take them away again."""
        await self.place.look()
        await self.place.await_settled()
        await self.place.look()
        assert (await self.place.applied())[:2] == ("True", "Applied")
        cure = await self.place.env()
        assert set(cure) == set(NAMES)
        if self.way.name in REFUSED:
            with pytest.raises(SandboxError, match='conflicts with "heartbeat-tuner"'):
                await self.put(dict.fromkeys(NAMES, OTHERS[0]))
            assert await self.place.env() == cure
            return
        for value in OTHERS:
            await self.put(dict.fromkeys(NAMES, value))
            if self.looks:
                before = await self.place.stored()
                await self.place.look()
                after = await self.place.stored()
                assert before["spec"] == after["spec"], "to let go of entries starts no rollout"
            assert await self.place.env() == dict.fromkeys(NAMES, value)
        await self.put({}, *NAMES)
        if self.looks:
            assert await self.place.env() == {}, "whoever was seen to own an entry may take it away"

    async def is_well(self) -> None:
        """See that nothing is left of all that, and that nothing comes back before the policy is edited."""
        if self.way.name in REFUSED:
            return
        for _ in range(3):
            await self.place.look()
            await self.place.await_settled()
        assert await self.place.env() == {}
        assert [item.storms for item in await self.place.running()] == [True], "envFrom is in force again"
        status, reason, message = await self.place.applied()
        assert (status, reason) == ("False", "TakenBack")
        assert "sessionTimeout 1s → 30s" in message
        assert (await self.place.condition("Verified"))[:2] == ("False", "TakenBack"), "a person has judged the values"
        assert (await self.place.status())["takenBack"]["applied"]["values"]["sessionTimeout"] == "30s"
        await self.place.edit_policy(objective={"maxFalseEvictionsPerMonth": 2})
        await self.place.look()
        await self.place.await_settled()
        await self.place.look()
        assert (await self.place.applied())[:2] == ("True", "Applied")
        assert set(await self.place.env()) == set(NAMES)


@pytest.mark.row("A1")
async def test_every_takeover_has_a_safe_exit(new_team: NewTeam, connections: exits.Connections) -> None:
    """Each way to add, change and take away entries leaves no empty one, and nothing that the owner took away.

    The operator looks in between, or only when all is over; whichever it is, the pods come out well.
    """
    missed = {appliers.FLUX.name, appliers.ARGO_CD.name, "set-env"}
    cast = [(way, looks) for way in WAYS for looks in (True, False) if looks or way.name in missed]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        teams = list(pool.map(lambda part: new_team(part[0].name), cast))
    stories = [
        Story(team, way, Place(connections, team.name), looks) for team, (way, looks) in zip(teams, cast, strict=True)
    ]

    async def begin(story: Story) -> None:
        await story.place.set_up(namespace=False)
        first = story.way if isinstance(story.way, Manifest) else Manifest(KUBECTL)
        await asyncio.get_running_loop().run_in_executor(None, first.put, story.team, {}, ())
        await story.place.await_settled()
        await story.place.create_policy()

    await _of_all(stories, begin)
    await _of_all(stories, Story.play)
    await _of_all(stories, Story.is_well)


async def _of_all(stories: list[Story], do: Callable[[Story], Awaitable[None]]) -> None:
    """Do something for all at once; what fails says for whom."""
    limit = asyncio.Semaphore(6)

    async def play(story: Story) -> None:
        async with limit:
            try:
                await do(story)
            except AssertionError as error:
                raise AssertionError(f"{story.way.name}, looked at in between: {story.looks}: {error}") from error

    async with asyncio.TaskGroup() as group:
        for story in stories:
            group.create_task(play(story))
