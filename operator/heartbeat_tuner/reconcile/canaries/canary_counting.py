"""What is counted of a canary: how long its pods were seen, and whom episodes of evictions hit. Pure.

Time counts only as far as a record shows it, of these pods and of the others. A record reaches back an hour, so that a
new leader misses nothing that Prometheus has.
"""

import dataclasses
import math
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.verifications import Canary
from heartbeat_tuner.reconcile.outcomes import Decided
from heartbeat_tuner.verification.episodes import WITHIN_S

MOST_EPISODES: Final = 400
"""That are remembered, the newest: a status has room for them, and what they show does not hang on more."""


def counted(canary: Canary, outcome: Decided) -> Canary:
    """Return a canary with what one more look shows; as it is before it has landed."""
    inputs, now = outcome.inputs, outcome.inputs.now
    if canary.landed is None:
        return canary
    seen_until = canary.seen_until or canary.landed
    own = None if inputs.canary is None else inputs.canary.record
    others = inputs.record
    if own is None or isinstance(own, Unknown) or isinstance(others, Unknown):
        return dataclasses.replace(canary, seen_until=max(seen_until, now))
    hits_s, others_s = _episodes(canary, canary.landed, own, others)
    canary = dataclasses.replace(canary, hits_s=hits_s, others_s=others_s)
    if own.unobserved_pods or not _all_ready(outcome):
        return dataclasses.replace(canary, seen_until=max(seen_until, now))
    since, until = max(seen_until, own.since, others.since), min(own.until, others.until)
    if until <= since:
        return canary
    return dataclasses.replace(canary, exposed=canary.exposed + (until - since), seen_until=until)


def _all_ready(outcome: Decided) -> bool:
    """Whether all pods of the canary are ready, and there are some."""
    pods = outcome.inputs.workload.canary
    return bool(pods.uids) and len(pods.rollout.ready) == len(pods.uids)


def _episodes(
    canary: Canary, landed: datetime, own: Record, others: Record
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return when episodes began at the canary's pods, and when at others: each at the pod that was evicted first.

    What hits both at the same moment has one cause, which is not the values.
    """
    hits_s, others_s = list(canary.hits_s), list(canary.others_s)
    last_s = max([*hits_s, *others_s], default=-math.inf)
    for at_s, is_hit in sorted([*_since(landed, own, is_hit=True), *_since(landed, others, is_hit=False)]):
        if at_s < last_s + WITHIN_S:
            continue
        (hits_s if is_hit else others_s).append(at_s)
        last_s = at_s
    oldest_s = min(sorted([*hits_s, *others_s])[-MOST_EPISODES:], default=-math.inf)
    return tuple(at_s for at_s in hits_s if at_s >= oldest_s), tuple(at_s for at_s in others_s if at_s >= oldest_s)


def _since(landed: datetime, record: Record, *, is_hit: bool) -> Iterable[tuple[float, bool]]:
    """Yield the whole seconds of evictions since a canary landed: a status has no parts of them."""
    for evicted_s in record.evicted_at_s:
        if evicted_s >= landed.timestamp():
            yield float(math.floor(evicted_s)), is_hit
