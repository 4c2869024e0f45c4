"""One pass over all policies: parse, gather, decide, apply, report; between two of them, one over those just edited.

The one path by which anything is ever written. It is level-triggered: whatever happened since the last pass, this one
looks at what is there and does what is due. All is decided before anything is written, since what may begin depends on
what else wants to. Nothing is written that is not different, and an error costs one policy one pass.
"""

import dataclasses
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import structlog

from heartbeat_tuner.api import parsing
from heartbeat_tuner.api.applied import values_of, writing_of
from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.domain.errors import (
    ApiServerError,
    ClusterUnreachableError,
    FieldOwnedError,
    InvalidPolicyError,
    NotLeaderError,
    WriteConflictError,
)
from heartbeat_tuner.domain.evidence import MissingWorkload, Workload
from heartbeat_tuner.domain.exposed import MetricPoint
from heartbeat_tuner.domain.policies import Application, Intent, ObjectKey, Policy, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding, Verdict
from heartbeat_tuner.ports.fleet_stops import FleetStops
from heartbeat_tuner.ports.static_slots import SlotViews
from heartbeat_tuner.ports.stored_policies import Policies
from heartbeat_tuner.ports.wall_clock import Clock
from heartbeat_tuner.reconcile import budget, group_rollouts, releasing
from heartbeat_tuner.reconcile.applications import application_for
from heartbeat_tuner.reconcile.at_broker import cluster_turns
from heartbeat_tuner.reconcile.at_broker.group_writer import GroupWriter, ValueTargets
from heartbeat_tuner.reconcile.budget import FleetLimits, Holder, RolloutPlaces
from heartbeat_tuner.reconcile.canaries import canary_steps
from heartbeat_tuner.reconcile.canaries.canary_runs import CanaryRuns
from heartbeat_tuner.reconcile.canaries.failure_notes import FailureNotes
from heartbeat_tuner.reconcile.deciding import Decider
from heartbeat_tuner.reconcile.gather.gathering import Gatherer
from heartbeat_tuner.reconcile.group_rollouts import GroupRollout
from heartbeat_tuner.reconcile.liveness.turns import Turns, of_all
from heartbeat_tuner.reconcile.outcomes import Decided, Result, UnexpectedFailure
from heartbeat_tuner.reconcile.policy_store import PolicyView
from heartbeat_tuner.reconcile.shared_groups import SharedGroups
from heartbeat_tuner.reconcile.status import reporting, slot_occupation, write_pace
from heartbeat_tuner.reconcile.status.statuses import Finished, Statuses
from heartbeat_tuner.reconcile.status.troubles import Troubles
from heartbeat_tuner.reconcile.status.write_pace import WritePace
from heartbeat_tuner.reconcile.stopping.fleet_stopping import FleetStopping

MOST_LOGGED: Final = 20
"""Workloads that one line of the log names."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_log = structlog.get_logger()


@dataclasses.dataclass(frozen=True, slots=True)
class CycleReport:
    """What one pass did and found, for the operator's own metrics."""

    verdicts: Mapping[Verdict, int]
    workload_writes: int
    status_writes: int
    failed_writes: int
    points: Mapping[ObjectKey, Sequence[MetricPoint]]
    oldest_look_s: float = 0.0
    """The age of the oldest description of a group."""
    fleet_stopped: bool = False
    """Whether changes of values are stopped, in all of the fleet or in a part."""


class Cycle:
    """One pass, as often as it is called, during one leadership."""

    def __init__(
        self,
        *,
        store: PolicyView,
        gatherer: Gatherer,
        targets: ValueTargets,
        policies: Policies,
        slots: SlotViews,
        stops: FleetStops,
        clock: Clock,
        limits: FleetLimits,
    ) -> None:
        """Remember nothing yet.

        Args:
            store: what is watched, of one shard, which has its part of all limits.
            gatherer: reads what decisions rest on.
            targets: where values are written.
            policies: where statuses are written.
            slots: who has which static id.
            stops: where a stop of all changes is noted.
            clock: the time.
            limits: of the whole fleet.
        """
        self._store = store
        self._gatherer = gatherer
        self._workloads = targets.workloads
        self._policies = policies
        self._slots = slots
        self._clock = clock
        self._max_rollouts = store.shard.rollouts(limits.max_rollouts)
        self._turns = Turns()
        self._decider = Decider(limits.heartbeat_budgets, gatherer.moved, store.shard)
        self._shared_groups = SharedGroups()
        self._stopping = FleetStopping(stops, clock)
        self._troubles = Troubles()
        self._canaries = CanaryRuns(targets.workloads, policies, store, self._troubles, may_evict=limits.may_evict)
        self._group_writer = GroupWriter(targets.configs, policies, store)
        self._failures = FailureNotes(targets.workloads, policies, self._troubles)
        self._statuses = Statuses(
            store, policies, clock, pace=WritePace(store.shard.per_s(write_pace.PER_S)), troubles=self._troubles
        )
        self._known: dict[ObjectKey, Application] = {}
        self._known_policies: Mapping[ObjectKey, tuple[tuple[str, str], Policy | Finding]] = {}
        self._holders: frozenset[Holder] = frozenset()

    async def run(self, edited: Collection[ObjectKey] | None = None) -> CycleReport:
        """Look at policies once and do what is due.

        Args:
            edited: those to look at, where others stay as the pass before saw them; None for all.

        Raises:
            NotLeaderError: the leadership ended meanwhile; nothing was written or reported after that.
        """
        bodies = {parsing.key_of(body): body for body in self._store.snapshot()}
        settled, usable = await self._parsed(bodies)
        looked = [policy for policy in usable if edited is None or policy.key in edited]
        if edited is None:
            gathered = await self._gatherer.gather(usable, healthy=self._decider.healthy)
        else:
            settled = {key: finding for key, finding in settled.items() if key in edited}
            gathered = await self._gatherer.gather_early(usable, looked)
        oldest_look_s = self._gatherer.oldest_look_s
        decided = await self._decider.decided({**settled, **gathered}, early=edited is not None)
        outcomes = self._shared_groups.compared(decided, usable, now=self._clock.now())
        outcomes = await self._stopping.held(outcomes, self._gatherer.changed if edited is None else ())
        await self._canaries.tell_deleted(bodies)
        outcomes |= await self._canaries_advanced(bodies, outcomes)
        await self._failures_noted(bodies, outcomes)
        places = self._places(usable, bodies, early=edited is not None)
        places = places.also_held(await self._released(bodies, looked))
        places = places.also_in_groups(self._group_rollouts(usable, places))
        outcomes |= await self._carried_out(bodies, outcomes, places)
        outcomes |= await self._altered(bodies, outcomes)
        occupied = await slot_occupation.read(
            self._slots, usable, self._gatherer.workloads, self._troubles, of_keys=outcomes.keys()
        )
        by_key = {**{policy.key: policy for policy in looked}, **self._gatherer.seen}
        self._statuses.begin(bodies)
        finished = await self._of_all(
            outcomes.items(),
            lambda item: self._statuses.finish(bodies[item[0]], by_key.get(item[0]), item[1], occupied.get(item[0])),
        )
        await self._statuses.tell(self._turns, self._gatherer.moved)
        self._troubles.tell(early=edited is not None)
        report = _counted(dict(zip(outcomes, finished, strict=True)), self._gatherer.group_points)
        return dataclasses.replace(report, oldest_look_s=oldest_look_s, fleet_stopped=self._stopping.is_stopped)

    async def _of_all(self, items: Iterable[_Item], work: Callable[[_Item], Awaitable[_Result]]) -> list[_Result]:
        """Return what `work` gives for each item, a few at a time."""
        return await of_all(items, work, at_once=write_pace.AT_ONCE, turns=self._turns, moved=self._gatherer.moved)

    async def _parsed(
        self, bodies: Mapping[ObjectKey, Mapping[str, Any]]
    ) -> tuple[dict[ObjectKey, Finding], list[Policy]]:
        """Return what is settled already (unusable policies, the younger of two rivals), and the policies to look at.

        A policy is parsed once for each version of it, and its spec once for each generation.
        """
        parsed: dict[ObjectKey, tuple[tuple[str, str], Policy | Finding]] = {}
        for key, body in bodies.items():
            version = (body["metadata"]["uid"], body["metadata"]["resourceVersion"])
            before, known = self._known_policies.get(key, (None, None))
            outcome = _policy(body, known) if known is None or before != version else known
            parsed[key] = (version, outcome)
            await self._turns.give()
        self._known_policies = parsed
        settled = {key: finding for key, (_, finding) in parsed.items() if isinstance(finding, Finding)}
        policies = [policy for _, policy in parsed.values() if isinstance(policy, Policy)]
        holders: dict[WorkloadRef, Policy] = {}
        for policy in sorted(policies, key=lambda rival: (rival.created, rival.key)):
            for reference in workload_parts.references(policy):
                holder = holders.setdefault(reference, policy)
                if holder is not policy:
                    phrase = (
                        "policy {holder} is older and tunes container {container} of {workload} already; delete one of "
                        "the two"
                    )
                    sentence = say(phrase, holder=holder.key, container=reference.container, workload=reference)
                    settled.setdefault(policy.key, Finding(Reason.CONFLICT, sentence))
        return settled, [policy for policy in policies if policy.key not in settled]

    async def _released(
        self, bodies: Mapping[ObjectKey, Mapping[str, Any]], policies: Iterable[Policy]
    ) -> list[Policy]:
        """Let go of entries that somebody overruled; return the policies whose workloads are rolled out by that."""
        held = self._gatherer.holdings
        due = (releasing.first_due(policy, held.get(policy.key, {})) for policy in policies)
        wanted = [policy for policy in due if policy is not None]
        began = await self._of_all(
            wanted,
            lambda policy: _guarded(
                releasing.release(policy, bodies[policy.key], self._workloads, self._policies, self._troubles)
            ),
        )
        for policy, rolls in zip(wanted, began, strict=True):
            if isinstance(rolls, UnexpectedFailure):
                self._troubles.add("entries not let go of, the next cycle tries again", policy.key, rolls.error)
        return [policy for policy, rolls in zip(wanted, began, strict=True) if rolls]  # after a surprise, perhaps

    async def _failures_noted(
        self, bodies: Mapping[ObjectKey, Mapping[str, Any]], outcomes: Mapping[ObjectKey, Result]
    ) -> None:
        """Note at workloads what failed in them."""
        self._failures.begin(bodies)
        due = [
            outcome for outcome in outcomes.values() if isinstance(outcome, Decided) and outcome.inputs.policy.failed
        ]
        noted = await self._of_all(due, lambda outcome: _guarded(self._failures.write(bodies[outcome.key], outcome)))
        for outcome, result in zip(due, noted, strict=True):
            if isinstance(result, UnexpectedFailure):
                self._troubles.add("failed values not noted at the workload", outcome.key, result.error)

    async def _carried_out(
        self,
        bodies: dict[ObjectKey, Mapping[str, Any]],
        outcomes: Mapping[ObjectKey, Result],
        places: RolloutPlaces,
    ) -> dict[ObjectKey, Result]:
        """Write what decisions ask for, in turn, until the fleet's budget is spent; a refused write spends nothing.

        Args:
            bodies: the policies; those in whose status a write is noted are replaced.
            outcomes: of each.
            places: for rollouts, and who has them.
        """
        waiting = budget.in_turn([decided for decided in outcomes.values() if isinstance(decided, Decided)])
        done: dict[ObjectKey, Result] = {}
        while turn := budget.next_in_turn(waiting, places):
            written = await self._of_all(turn, lambda outcome: _guarded(self._applied(bodies, outcome)))
            done |= {decided.key: outcome for decided, outcome in zip(turn, written, strict=True)}
            waiting = [decided for decided in waiting if decided.key not in done]
            places = places.taken(
                begun
                for begun, outcome in zip(turn, written, strict=True)
                if isinstance(outcome, UnexpectedFailure) or outcome.may_have_begun
            )
        self._tell_holders(places)
        for left in waiting:
            done[left.key] = budget.held(left, places)
            await self._turns.give()
        return done

    def _places(
        self, policies: Sequence[Policy], bodies: Mapping[ObjectKey, Mapping[str, Any]], *, early: bool
    ) -> RolloutPlaces:
        """Return the places for rollouts, and who has them before anything is written.

        Early, all who had one after the pass before have it still: only a whole cycle sees that a rollout is over, and
        gives its place to the change that needs it most.
        """
        shared = len({policy.key.namespace for policy in policies}) > 1
        if early:
            return RolloutPlaces(self._max_rollouts, shared, self._holders, self._store.shard)
        self._known = {policy.key: self._known[policy.key] for policy in policies if policy.key in self._known}
        holders = budget.under_way(policies, self._gatherer.workloads, bodies, known=self._known, now=self._clock.now())
        return RolloutPlaces(self._max_rollouts, shared, holders, self._store.shard)

    def _group_rollouts(self, policies: Sequence[Policy], places: RolloutPlaces) -> list[GroupRollout]:
        """Return the rollouts that other policies of the same group wait for, before anything is written."""
        return group_rollouts.rollouts(
            policies,
            self._gatherer.workloads,
            places.holders,
            proven={policy.key for policy in policies if self._gatherer.is_proven(policy)},
            now=self._clock.now(),
        )

    def _tell_holders(self, places: RolloutPlaces) -> None:
        """Tell the log who holds the places, whenever that changes; a status names only its own namespace's."""
        if places.holders != self._holders:
            self._holders = places.holders
            named = sorted(f"{kind} {key}" for kind, key in places.holders)[:MOST_LOGGED]
            _log.info("rollouts under way", count=len(places.holders), workloads=named)

    async def _canaries_advanced(
        self, bodies: dict[ObjectKey, Mapping[str, Any]], outcomes: Mapping[ObjectKey, Result]
    ) -> dict[ObjectKey, Result]:
        """Return the outcomes of policies with a canary, each one step further; one that nobody saw stands."""
        noted = [
            (outcome, canary)
            for outcome in outcomes.values()
            if isinstance(outcome, Decided) and (canary := outcome.inputs.policy.canary) is not None
        ]
        advanced = await self._of_all(noted, lambda each: _guarded(self._canaries.advanced(bodies, *each)))
        return {outcome.key: after for (outcome, _), after in zip(noted, advanced, strict=True)}

    async def _applied(self, bodies: dict[ObjectKey, Mapping[str, Any]], outcome: Decided) -> Decided:
        application = application_for(outcome, self._clock.now())
        if application is None:
            return outcome
        policy = outcome.inputs.policy
        pods_first = canary_steps.pods_first(outcome, may_evict=self._canaries.may_evict)
        if not pods_first:
            self._known[policy.key] = application  # before the write: its answer may be lost
        try:
            workload = await self._ready(bodies[policy.key], outcome)
            if pods_first:
                canary = canary_steps.begun(outcome, application, pods_first)
                bodies[policy.key] = await self._canaries.begin(bodies[policy.key], canary)
                return dataclasses.replace(outcome, canary=canary)
            held = workload.holdings
            if held is not None and held.revision is not None:
                intent = Intent(application, held.revision)
                bodies[policy.key] = await self._noted(bodies[policy.key], intent)
                outcome = dataclasses.replace(outcome, intent=intent)
            await self._workloads.apply(policy, workload, application)
        except WriteConflictError as error:
            return dataclasses.replace(outcome, failure=Finding(Reason.CHANGED_MEANWHILE, str(error)))
        except FieldOwnedError as error:
            return dataclasses.replace(outcome, failure=Finding(Reason.FIELD_OWNED, str(error)))
        except ApiServerError as error:
            failure = Finding(Reason.API_SERVER_ERROR, str(error))
            return dataclasses.replace(outcome, failure=failure, in_doubt=not error.refused)
        _log.info(
            "applied",
            policy=str(policy.key),
            workload=str(policy.workload),
            reason=outcome.decision.finding.reason.value,
            found=dict(outcome.decision.finding.facts),
            step=outcome.decision.decided_by,
            before=values_of(application.previous).model_dump(exclude_none=True),
            after=values_of(application.values).model_dump(exclude_none=True),
        )
        return dataclasses.replace(outcome, application=application)

    async def _altered(
        self, bodies: dict[ObjectKey, Mapping[str, Any]], outcomes: Mapping[ObjectKey, Result]
    ) -> dict[ObjectKey, Result]:
        """Set at the broker what decisions ask for there; nothing is rolled out, so nobody waits for a place."""
        due = [outcome for outcome in outcomes.values() if isinstance(outcome, Decided) and outcome.decision.to_alter]
        done = await self._of_all(
            cluster_turns.by_cluster(due),
            lambda of_cluster: cluster_turns.in_turn(
                of_cluster, lambda outcome: _guarded(self._set_at_broker(bodies, outcome)), self._gatherer.moved
            ),
        )
        return {key: result for results in done for key, result in results.items()}

    async def _set_at_broker(self, bodies: dict[ObjectKey, Mapping[str, Any]], outcome: Decided) -> Decided:
        try:
            await self._as_seen(outcome)
        except WriteConflictError as error:
            is_silent = isinstance(error.__cause__, ClusterUnreachableError)
            reason = Reason.CLUSTER_UNREACHABLE if is_silent else Reason.CHANGED_MEANWHILE
            return dataclasses.replace(outcome, failure=Finding(reason, str(error)))
        bodies[outcome.key], altered = await self._group_writer.altered(bodies[outcome.key], outcome, self._clock.now())
        return altered

    async def _as_seen(self, outcome: Decided) -> None:
        """Look once more whether the same would be written.

        Raises:
            WriteConflictError: it would not.
        """
        if not self._decider.stands(outcome, await self._gatherer.as_of_now(outcome.inputs)):
            raise WriteConflictError(f"group {outcome.inputs.policy.group_id} changed since it was looked at")

    async def _noted(self, body: Mapping[str, Any], intent: Intent) -> Mapping[str, Any]:
        """Note in the policy's status what is about to be written; return the policy as stored.

        Should this process end right after the write, and somebody roll that back, nothing else would say that it was
        ever done, and it would be done again.

        Raises:
            WriteConflictError: the policy is not what was gathered: its status may know more than this one.
            ApiServerError: the API server did not answer or refused.
        """
        status = parsing.status_of(body).model_copy(update={"writing": writing_of(intent)})
        stored = await self._policies.write_status(body, reporting.document(status))
        self._store.refresh(stored)
        return stored

    async def _ready(self, body: Mapping[str, Any], outcome: Decided) -> Workload:
        """Return the workload as it is to be written.

        Raises:
            WriteConflictError: the group, the workload or the policy is not what was gathered.
            ApiServerError: the API server did not answer.
        """
        policy = outcome.inputs.policy
        await self._as_seen(outcome)
        workload = await self._as_gathered(policy, outcome.inputs.workload, reverts=outcome.decision.reverts)
        # The watch may lag behind: a policy that is gone, suspended or edited by now must not write any more.
        if not await self._policies.is_current(body):
            raise WriteConflictError(f"policy {policy.key} was edited or deleted meanwhile")
        return workload

    async def _as_gathered(self, policy: Policy, workload: Workload, *, reverts: bool) -> Workload:
        """Return the workload in its newest version, as long as nothing else of it has changed.

        Whenever one of its pods becomes ready, or ceases to be, the workload has a new version, and reading the metrics
        takes seconds: by the version from before, the group that needs it most might never be written.

        Raises:
            WriteConflictError: it is not what was gathered, or gone.
            ApiServerError: the API server did not answer.
        """
        gathered, newest = self._gatherer.workloads[policy.key], dict[WorkloadRef, Workload]()
        for alone in workload_parts.by_themselves(policy):
            read = await self._workloads.read(alone)
            if isinstance(gathered, Workload) and gathered.absent.get(alone.workload) == read:
                continue  # as it was: missing
            if not isinstance(gathered, Workload) or isinstance(read, MissingWorkload):
                raise WriteConflictError(f"{alone.workload}, or its pods, changed meanwhile")
            # What was read is compared: in a decision's input the group's own configuration may have taken the place
            # of values.
            before = gathered.parts.get(alone.workload, gathered)
            if _rested_on(read, reverts=reverts) != _rested_on(before, reverts=reverts):
                raise WriteConflictError(f"{alone.workload}, or its pods, changed meanwhile")
            newest[alone.workload] = read
        written = workload_parts.written_next(policy, workload)
        return dataclasses.replace(written, resource_version=newest[policy.workload].resource_version)


def _rested_on(workload: Workload, *, reverts: bool) -> Workload:
    """Return a workload as far as a write rests on it.

    A revert rests on no pod: of many that crash one starts or ends every second, and no two looks would be the same.
    """
    any_version = dataclasses.replace(workload, resource_version="")
    if not reverts:
        return any_version
    return dataclasses.replace(any_version, pods=(), current=None, unlike_template=frozenset())


async def _guarded(step: Awaitable[_Result]) -> _Result | UnexpectedFailure:
    """Return what a step for one policy gives, or what nobody foresaw in it."""
    try:
        return await step
    except NotLeaderError:
        raise
    except Exception as error:  # noqa: BLE001 - one policy's surprise is not the others' loss
        return UnexpectedFailure(error)


def _policy(body: Mapping[str, Any], known: Policy | Finding | None) -> Policy | Finding:
    """Return what a policy asks for, or why it cannot be used; `known` is what was found out of an earlier version."""
    metadata = body["metadata"]
    same = (metadata["uid"], metadata["generation"])
    if isinstance(known, Policy) and (known.uid, known.generation) == same:
        return parsing.with_status(known, body)
    try:
        return parsing.policy_of(body)
    except InvalidPolicyError as error:
        return Finding(Reason.INVALID_POLICY, str(error))


def _counted(
    finished: Mapping[ObjectKey, Finished], group_points: Callable[[ObjectKey], Sequence[MetricPoint]]
) -> CycleReport:
    results = finished.values()
    decided = [result.outcome for result in results if isinstance(result.outcome, Decided)]
    verdicts = Counter(outcome.decision.verdict for outcome in decided)
    verdicts.update(standing := [result.standing for result in results if result.standing is not None])
    verdicts[Verdict.UNKNOWN] += len(results) - len(decided) - len(standing)
    return CycleReport(
        verdicts={verdict: verdicts[verdict] for verdict in Verdict},
        workload_writes=sum(1 for outcome in decided if outcome.application is not None),
        status_writes=sum(1 for result in results if result.written),
        failed_writes=sum(
            1 for result in results if result.written is None or isinstance(result.outcome, UnexpectedFailure)
        )
        + sum(1 for outcome in decided if outcome.failure is not None),
        points={key: (*result.points, *group_points(key)) for key, result in finished.items()},
    )
