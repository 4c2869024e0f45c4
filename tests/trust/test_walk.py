"""Rows A1 and A3, at random: person, Git, operator and crash take turns, and nothing of what hurt is ever there.

A seed is a list of acts on a place of its own. The walk knows by itself what the operator wrote and what of it was
taken back since: it looks at the Deployment before and after each act.
"""

import asyncio
import dataclasses
import enum
import itertools
import random
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final

import pytest

from heartbeat_tuner.domain.errors import TunerError
from sandbox.environment import Sandbox
from tests.e2e.operators import Operators
from tests.support import exits
from tests.support.exits import NAMES, Connections, Place

SEEDS: Final = (3, 278, 510, 1539, 1923, 2100, 2178, 3093, 3717, 3741, 4501, 6020, 7022, 8641, 9525, 16723)
"""After each act comes each that follows it anywhere in `MORE`, and operators die at each write, sent and unsent."""

MORE: Final = range(30)
"""What the campaign plays as well."""

ACTS: Final = 9
AT_ONCE: Final = 8
LEAST_EMPTIED: Final = 3

Env = dict[str, str | None]


class Act(enum.Enum):
    """What can happen."""

    LOOK = "the operator looks"
    DIE = "the operator looks and dies at a write"
    SYNC = "Git syncs its manifest without values, at the server"
    TAKE_OVER = "Git takes values over, at the server"
    MERGE = "Git merges values"
    MERGE_AWAY = "Git merges values away"
    SET = "a person sets a value"
    UNSET = "a person takes entries out"
    UNDO = "a person rolls back"
    UNDO_TO_EMPTY = "a person rolls back to a revision with an entry without a value"
    EDIT = "a person edits the policy"
    SETTLE = "the rollout ends"


WEIGHTS: Final = {
    Act.LOOK: 6,
    Act.DIE: 3,
    Act.SYNC: 2,
    Act.TAKE_OVER: 2,
    Act.MERGE: 1,
    Act.MERGE_AWAY: 1,
    Act.SET: 1,
    Act.UNSET: 1,
    Act.UNDO: 2,
    Act.UNDO_TO_EMPTY: 2,
    Act.EDIT: 2,
    Act.SETTLE: 4,
}
EMPTIED: Final = (Act.LOOK, Act.TAKE_OVER, Act.SYNC)
"""What leaves a revision that has an entry without a value."""

EMPTIED_EVERY: Final = 3
"""Of so many seeds one begins with that: by chance it is rare."""

OPERATORS: Final = frozenset({Act.LOOK, Act.DIE})


@dataclasses.dataclass(frozen=True)
class Step:
    """One act, with its numbers.

    Attributes:
        act: what happens.
        number: of the value that is set, or of the write at which the operator dies.
        sent: whether that write still leaves.
        some: of which variables.
    """

    act: Act
    number: int
    sent: bool
    some: tuple[str, ...]

    def __str__(self) -> str:
        match self.act:
            case Act.DIE:
                return f"{self.act.value} {self.number % 4}, {'sent' if self.sent else 'unsent'}"
            case Act.TAKE_OVER | Act.MERGE | Act.SET | Act.MERGE_AWAY | Act.UNSET:
                return f"{self.act.value} ({self.number} s: {', '.join(self.some)})"
            case act:
                return str(act.value)


def drawn(seed: int) -> list[Step]:
    """Return the acts of a seed; the first ones are those that something can be taken back after."""
    chance = random.Random(seed)  # noqa: S311 - acts to repeat, not a secret

    def step(act: Act) -> Step:
        some = tuple(chance.sample(NAMES, chance.randint(1, len(NAMES))))
        return Step(act, chance.randint(6, 19), chance.random() < 0.5, some)

    begin = EMPTIED if seed % EMPTIED_EVERY == 0 else [chance.choice([Act.LOOK, Act.LOOK, Act.DIE])]
    acts = chance.choices(list(WEIGHTS), list(WEIGHTS.values()), k=ACTS)
    return [step(item) for item in (*begin, *acts)]


class Walk:
    """One seed on its place.

    Args:
        place: where.
        seed: of the acts.
    """

    def __init__(self, place: Place, seed: int) -> None:
        self.place = place
        self.seed = seed
        self.steps = drawn(seed)
        self.told: list[str] = []
        self._ours: Env = {}
        self._lost: Env = {}
        self._taken_back = False
        self._edits = 0
        self.vetoes = 0
        self.emptied = 0

    async def play(self) -> None:
        """Do all acts, and let a fresh operator look at what they left."""
        await self.place.set_up()
        await self.place.apply("kustomize-controller", {})
        await self.place.await_settled()
        await self.place.create_policy()
        for step in self.steps:
            await self._watched(step)
        self.place.restart()
        for _ in range(3):
            await self._watched(Step(Act.LOOK, 0, True, ()))
            await self._settle()

    async def check(self) -> None:
        """See that nothing of what hurt is there at the end.

        An entry without a value may be another's: of who rolled back to it, or rolled back and then synced without it.
        """
        env = await self.place.env()
        empty = {name for name, value in env.items() if value is None}
        assert not empty & await self.place.owned(), f"an entry of the operator's has no value: {env}"
        await applied_is_true_only_with_ready_pods(self.place)
        if self._taken_back:
            status, reason, _ = await self.place.applied()
            assert (status, reason) == ("False", "TakenBack")

    async def _watched(self, step: Step) -> None:
        """Do one act, and note what came of it; the operator puts back nothing that was taken back."""
        before = await self.place.env()
        await self._done(step)
        after = await self.place.env()
        changed = {name for name in {*before, *after} if before.get(name, "") != after.get(name, "")}
        self.told.append(f"{step}{f': {after}' if changed else ''}")
        if step.act in OPERATORS:
            put = {name: value for name, value in after.items() if name in changed and value is not None}
            assert not (self._taken_back and put), f"taken back, and written again: {put}"
            left = {name for name in changed if before.get(name, "") is not None}
            assert not (self._taken_back and left), f"taken away: {left}"
            self._ours |= put
            if step.act is Act.LOOK:
                self._lost = {}
        elif any(after.get(name, "") != value for name, value in self._ours.items()):
            self._taken_back, self._lost, self._ours = True, self._ours, {}
            self.vetoes += 1
        elif self._lost and all(after.get(name, "") == value for name, value in self._lost.items()):
            # Put back before the operator looked: nobody can know.
            self._taken_back, self._ours, self._lost = False, self._lost, {}
        if step.act is Act.EDIT:
            self._taken_back = False

    async def _done(self, step: Step) -> None:
        """Let the step happen."""
        match step.act:
            case Act.LOOK:
                await self.place.look()
            case Act.DIE:
                await self.place.look_and_die(at_write=step.number % 4, sent=step.sent)
            case Act.EDIT:
                self._edits += 1
                await self.place.edit_policy(objective={"maxFalseEvictionsPerMonth": 1 + self._edits})
            case Act.SETTLE:
                await self._settle()
            case Act.UNDO:
                await self.place.undo()
            case Act.UNDO_TO_EMPTY:
                self.emptied += await self.place.undo(empty=True)
            case _:
                await self._set(step)

    async def _settle(self) -> None:
        """Let the rollout end; pods that get an empty text never start."""
        if None not in (await self.place.env()).values():
            await self.place.await_settled()

    async def _set(self, step: Step) -> None:
        """Let Git or a person set entries, or take them away."""
        values = dict.fromkeys(step.some, f"{step.number}000")
        match step.act:
            case Act.SYNC:
                await self.place.apply("kustomize-controller", {})
            case Act.TAKE_OVER:
                await self.place.apply("kustomize-controller", values)
            case Act.MERGE:
                await self.place.merge("argocd-controller", values)
            case Act.MERGE_AWAY:
                await self.place.merge("argocd-controller", dict.fromkeys(step.some))
            case Act.SET:
                await self.place.merge("kubectl-set", dict.fromkeys(step.some[:1], f"{step.number}000"))
            case Act.UNSET:
                await self.place.merge("kubectl-set", dict.fromkeys(step.some))


async def applied_is_true_only_with_ready_pods(place: Place) -> None:
    """See that the status claims nothing of pods that are not there."""
    status, _, message = await place.applied()
    assert status != "True" or await place.is_settled(), f"Applied=True without ready pods: {message}"


@pytest.fixture
async def connections(sandbox: Sandbox, operators: Operators) -> AsyncIterator[Connections]:
    """The API server, for people and for operators of the test's own; no other one acts meanwhile."""
    operators.stop()
    async with exits.connected(sandbox.control_plane) as found:
        yield found


def orders(seeds: Iterable[int]) -> set[tuple[Act, Act]]:
    """Return which act comes right after which, in the walks of some seeds."""
    return {(step.act, after.act) for seed in seeds for step, after in itertools.pairwise(drawn(seed))}


def deaths(seeds: Iterable[int]) -> set[tuple[int, bool]]:
    """Return at which write the operator dies, and whether that is sent, in the walks of some seeds."""
    return {(step.number % 4, step.sent) for seed in seeds for step in drawn(seed) if step.act is Act.DIE}


def test_few_walks_try_what_many_do() -> None:
    """A change of what is drawn must not leave out of CI what may follow what."""
    assert orders(SEEDS) >= orders(MORE)
    assert deaths(SEEDS) >= deaths(MORE)


@pytest.mark.timeout(280)
@pytest.mark.row("A3")
@pytest.mark.parametrize(
    "seeds",
    [pytest.param(SEEDS, id="few"), pytest.param(MORE, id="more", marks=pytest.mark.all_walks)],
)
async def test_a_random_walk(connections: Connections, seeds: Sequence[int]) -> None:
    """No entry without a value, nothing taken back is written again, nothing claimed without pods."""
    walks = [Walk(Place(connections, f"walk-{len(seeds)}-{seed}"), seed) for seed in seeds]
    limit = asyncio.Semaphore(AT_ONCE)

    async def played(walk: Walk) -> str:
        async with limit:
            try:
                await walk.play()
                await walk.check()
            except (AssertionError, TunerError) as error:
                acts = "\n  ".join(walk.told)
                return f"seed {walk.seed}: {error}\n  {acts}\n  {await walk.place.status()}"
        await walk.place.tear_down()
        return ""

    failures = [item for item in await asyncio.gather(*(played(walk) for walk in walks)) if item]
    assert not failures, "\n".join(failures)
    assert sum(walk.vetoes for walk in walks) >= len(seeds) // 2, "a walk has to take values back"
    assert sum(walk.emptied for walk in walks) >= LEAST_EMPTIED, "a walk has to roll back to an entry without a value"
