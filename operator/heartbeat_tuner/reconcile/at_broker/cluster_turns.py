"""Writes at brokers, one after the other in each cluster, and none more in a cycle at a cluster that gave no answer.

Requests to one cluster wait for each other anyway. So what is asked right before a write stays true until it is done,
and a cluster without an answer costs a cycle one timeout, not one for each of its groups.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence

from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.reconcile.liveness.progress import Moved
from heartbeat_tuner.reconcile.outcomes import Decided, Result


def by_cluster(due: Iterable[Decided]) -> list[list[Decided]]:
    """Return outcomes with something to set at the broker, those of each cluster together."""
    clusters = defaultdict[str, list[Decided]](list)
    for outcome in due:
        clusters[outcome.inputs.policy.cluster].append(outcome)
    return list(clusters.values())


async def in_turn(
    due: Sequence[Decided],
    write: Callable[[Decided], Awaitable[Result]],
    moved: Moved,
) -> dict[ObjectKey, Result]:
    """Return what became of the outcomes of one cluster.

    Args:
        due: with something to set there.
        write: does it for one.
        moved: called after each.

    Raises:
        NotLeaderError: the leadership ended.
    """
    done: dict[ObjectKey, Result] = {}
    silence: Finding | None = None
    for outcome in due:
        if silence is not None:
            done[outcome.key] = dataclasses.replace(outcome, failure=silence)
            continue
        done[outcome.key] = result = await write(outcome)
        failure = result.failure if isinstance(result, Decided) else None
        if failure is not None and failure.reason is Reason.CLUSTER_UNREACHABLE:
            silence = failure
        moved()
    return done
