"""Reading the series of policies that name metrics or labels themselves.

One query for each namespace with such policies (two, if they call the namespace's label by two names), of that
namespace's series only: names that one tenant chooses are never read in another's namespace. What a query does not
bring is unknown to its policies, and to no other.
"""

import asyncio
import itertools
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar

from heartbeat_tuner.domain.errors import MetricsUnavailableError
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.metrics.conventions import custom
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.ports.metrics_source import MetricsSource
from heartbeat_tuner.reconcile.series.reading_plan import BASELINE_MARGIN, RECORD_WINDOW
from heartbeat_tuner.reconcile.series.reading_share import PATIENCE_S
from heartbeat_tuner.reconcile.series.reading_troubles import GIVE_UP

REQUESTS: Final = 20
"""How many a cycle makes for these policies at most."""

TURN_S: Final = 60.0
"""Which namespace comes first changes so often, so that with more of them than requests each has its turn."""

Read = Mapping[Convention, Observed] | Unknown

_T = TypeVar("_T")

_Place = tuple[str, str]
"""A namespace, and the label that says it; empty for the usual one."""


async def read(source: MetricsSource, policies: Sequence[Policy], *, at: datetime) -> dict[ObjectKey, Read]:
    """Return what each convention reads of each policy that maps names or labels; all others are left out.

    Once Prometheus fails in a way that the next query would not repair, or after `PATIENCE_S`, it is asked no more.
    """
    by_place: dict[_Place, list[Policy]] = {}
    for policy in policies:
        if policy.naming.maps:
            place = (policy.key.namespace, policy.naming.labels.get(custom.NAMESPACE, ""))
            by_place.setdefault(place, []).append(policy)
    reads: dict[ObjectKey, Read] = {}
    deadline_s = asyncio.get_running_loop().time() + PATIENCE_S
    outage: MetricsUnavailableError | None = None
    for number, place in enumerate(in_turn(by_place, int(at.timestamp() / TURN_S))):
        mine = by_place[place]
        if outage is not None:
            reads |= {policy.key: _unknown(outage, policy) for policy in mine}
        elif number >= REQUESTS or asyncio.get_running_loop().time() > deadline_s:
            reads |= {policy.key: _not_yet(policy) for policy in mine}
        else:
            try:
                reads |= await _read(source, mine, at=at)
            except MetricsUnavailableError as error:
                outage = error if error.cause in GIVE_UP else None
                reads |= {policy.key: _unknown(error, policy) for policy in mine}
    return reads


def in_turn(places: Iterable[_Place], turn: int) -> list[_Place]:
    """Return places in the order in which they are read: one of each namespace before a second one of any.

    Who calls the namespace's label by many names has many places, and takes nobody's turn by that.

    Args:
        places: to read.
        turn: a number that grows with time; namespaces, and the places of each, are first one after the other.
    """
    by_namespace: dict[str, list[_Place]] = {}
    for place in sorted(places):
        by_namespace.setdefault(place[0], []).append(place)
    rounds = turn // max(len(by_namespace), 1)  # how often each namespace has been the first one
    queues = [_from(several, rounds) for several in _from(list(by_namespace.values()), turn)]
    return [place for some in itertools.zip_longest(*queues) for place in some if place is not None]


def query(policies: Sequence[Policy]) -> str:
    """Return the query that reads the series of policies of one namespace, which call the namespace's label alike."""
    conventions = [convention for policy in policies for convention in custom.of_policy(policy.naming, policy.library)]
    first = policies[0]
    window = RECORD_WINDOW + BASELINE_MARGIN
    return custom.query(conventions, first.naming, namespace=first.key.namespace, window=window)


async def _read(source: MetricsSource, policies: Sequence[Policy], *, at: datetime) -> dict[ObjectKey, Read]:
    series = await source.instant(query(policies), at=at)
    return {
        policy.key: resolver.by_convention(
            custom.usual(series, policy.naming),
            custom.of_policy(policy.naming, policy.library),
            (policy.key.namespace, policy.group_id),
        )
        for policy in policies
    }


def _from(several: Sequence[_T], turn: int) -> list[_T]:
    first = turn % max(len(several), 1)
    return [*several[first:], *several[:first]]


def _unknown(error: MetricsUnavailableError, policy: Policy) -> Unknown:
    """Return a failure for one policy, with its own query: another's names are not its business."""
    reason = Reason.PARTIAL_DATA if error.partial else Reason.PROMETHEUS_UNREACHABLE
    return Unknown(reason, say("{problem}; tried {query}", problem=error.problem, query=query([policy])))


def _not_yet(policy: Policy) -> Unknown:
    phrase = (
        "more namespaces have policies that map metrics than one cycle reads; the turn of {namespace} comes; it will "
        "try {query}"
    )
    return Unknown(Reason.NOT_READ_YET, say(phrase, namespace=policy.key.namespace, query=query([policy])))
