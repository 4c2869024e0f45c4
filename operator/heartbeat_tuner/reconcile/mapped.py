"""Reading the series of policies that name metrics or labels themselves.

One query for each namespace with such policies (two, if they call the namespace's label by two names), of that
namespace's series only: names that one tenant chooses are never read in another's namespace. What a query does not
bring is unknown to its policies, and to no other.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from heartbeat_tuner.domain.errors import MetricsUnavailableError
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics import resolver
from heartbeat_tuner.metrics.conventions import custom
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.resolver import Observed
from heartbeat_tuner.ports import MetricsSource

Read = Mapping[Convention, Observed] | Unknown


async def read(
    source: MetricsSource, policies: Sequence[Policy], *, at: datetime, window: timedelta
) -> dict[ObjectKey, Read]:
    """Return what each convention reads of each policy that maps names or labels; all others are left out.

    Args:
        source: where to ask.
        policies: of any kind.
        at: end of the time.
        window: how far back.
    """
    by_place: dict[tuple[str, str], list[Policy]] = {}
    for policy in policies:
        if policy.naming.maps:
            place = (policy.key.namespace, policy.naming.labels.get(custom.NAMESPACE, ""))
            by_place.setdefault(place, []).append(policy)
    found = await asyncio.gather(*(_read(source, group, at=at, window=window) for group in by_place.values()))
    return {key: one for group in found for key, one in group.items()}


def query(policies: Sequence[Policy], *, window: timedelta) -> str:
    """Return the query that reads the series of policies of one namespace, which call the namespace's label alike."""
    conventions = [one for policy in policies for one in custom.of_policy(policy.naming, policy.library)]
    first = policies[0]
    return custom.query(conventions, first.naming, namespace=first.key.namespace, window=window)


async def _read(
    source: MetricsSource, policies: Sequence[Policy], *, at: datetime, window: timedelta
) -> dict[ObjectKey, Read]:
    asked = query(policies, window=window)
    try:
        series = await source.instant(asked, at=at)
    except MetricsUnavailableError as error:
        reason = Reason.PARTIAL_DATA if error.partial else Reason.PROMETHEUS_UNREACHABLE
        # Each is told its own query: another policy's names are not its business.
        return {
            policy.key: Unknown(reason, str(error).replace(asked, query([policy], window=window)))
            for policy in policies
        }
    return {
        policy.key: resolver.by_convention(
            custom.usual(series, policy.naming),
            custom.of_policy(policy.naming, policy.library),
            (policy.key.namespace, policy.group_id),
        )
        for policy in policies
    }
