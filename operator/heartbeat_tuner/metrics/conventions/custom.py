"""A policy's own names for metrics and labels, laid over the conventions of its library.

Names and labels are all that a policy may say (never PromQL). They hold for its own group alone: its conventions are
made again for it, and its series are read by a query of its own, in its own namespace only, so that no policy changes
what another one gets.
"""

import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.domain.policies import Naming
from heartbeat_tuner.metrics.conventions import known_conventions, librdkafka_metrics
from heartbeat_tuner.metrics.conventions.convention import Convention, Metric
from heartbeat_tuner.metrics.raw import queries
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity, Scope, ValueKind

QUANTITIES: Final[Mapping[str, Quantity]] = MappingProxyType(
    {quantity.camel: quantity for quantity in Quantity if quantity.scope is Scope.MEMBER}
)
"""What a policy may name, by the name it uses: a consumer's own metrics; all others are Kubernetes' or the broker's."""

NAMESPACE: Final = "namespace"
POD: Final = "pod"
GROUP: Final = "group"
CLIENT: Final = "clientId"

CONVENTIONS: Final = tuple(
    convention
    for convention in known_conventions.CONVENTIONS
    if not set(convention.libraries).isdisjoint(known_conventions.IN_POLICIES)
    and convention not in librdkafka_metrics.CONVENTIONS
)
"""Those that a policy may name: of libraries that it may name. librdkafka's statistics are not among them: they count
neither heartbeats nor evictions, so a policy that had to follow them would never know anything."""

_UNITS_S: Final = MappingProxyType(
    {"seconds": 1.0, "milliseconds": 1e-3, "millis": 1e-3, "ms": 1e-3, "microseconds": 1e-6, "us": 1e-6, "ns": 1e-9}
)
_UNIT_IN_NAME: Final = re.compile(rf"[_.]({'|'.join(_UNITS_S)})(?![A-Za-z0-9])")

_TIMES: Final = frozenset({ValueKind.WINDOWED_MAX, ValueKind.WINDOWED_MEAN, ValueKind.AGE})


def known(name: str) -> Convention:
    """Return the convention that `metrics.convention` names.

    Raises:
        ValueError: there is none of that name; the message names the nearest, and lists all.
    """
    names = {convention.name: convention for convention in CONVENTIONS}
    if name not in names:
        near = difflib.get_close_matches(name.lower(), names, n=1)
        hint = f"; did you mean {near[0]}?" if near else ";"
        raise ValueError(f"convention {name!r} is unknown{hint} known are auto, {', '.join(names)}")
    return names[name]


def of_policy(naming: Naming, library: str) -> tuple[Convention, ...]:
    """Return the conventions that the series of a policy may follow, the likelier first.

    Where the policy maps names or labels, what tells its exporter from others no longer counts: the policy says whose
    the series are, and a relabelled series may lack it.
    """
    pinned = naming.convention
    candidates = tuple(
        convention for convention in known_conventions.of_library(library) if pinned in (None, convention.name)
    )
    units_s = {metric.quantity: metric.unit_s for candidate in reversed(candidates) for metric in candidate.metrics}
    return tuple(_adapted(candidate, naming, units_s) for candidate in candidates) if naming.maps else candidates


def query(conventions: Iterable[Convention], naming: Naming, *, namespace: str, window: timedelta) -> str:
    """Return the query that reads all series of policies whose conventions and labels these are, in one namespace.

    Whatever label a policy says is that of the namespace: a series whose usual one names another is not read.
    """
    names = {name for convention in conventions for metric in convention.metrics for name in metric.names}
    label, own = naming.labels.get(NAMESPACE, queries.NAMESPACE_LABEL), re.escape(namespace)
    selectors = [queries.any_of(queries.NAME_LABEL, map(re.escape, names)), queries.any_of(label, [own])]
    if label != queries.NAMESPACE_LABEL:
        selectors.append(queries.any_of(queries.NAMESPACE_LABEL, ["", own]))
    return f"{{{','.join(selectors)}}}[{round(window.total_seconds())}s]"


def usual(series: Iterable[Series], naming: Naming) -> Sequence[Series]:
    """Return series with namespace and pod under the labels that everything here reads them from."""
    renamed = [
        (naming.labels[carried], label)
        for carried, label in ((NAMESPACE, queries.NAMESPACE_LABEL), (POD, queries.POD_LABEL))
        if carried in naming.labels
    ]
    return [
        Series({**exported.labels, **{usual: exported.labels.get(own, "") for own, usual in renamed}}, exported.samples)
        for exported in series
    ]


def _adapted(base: Convention, naming: Naming, units_s: Mapping[Quantity, float]) -> Convention:
    """Return a convention in which the policy's own names and labels stand for those of the exporter.

    Args:
        base: the exporter's.
        naming: the policy's own names and labels.
        units_s: the library's usual units, for a quantity that this exporter has not.
    """
    own = {QUANTITIES[camel]: name for camel, name in naming.names.items()}
    remaining = [metric for metric in base.metrics if metric.quantity not in own]
    metrics = [
        Metric(quantity, (name,), unit_s=_unit_s(quantity, name, base.by_quantity, units_s))
        for quantity, name in own.items()
    ]
    client, group = naming.labels.get(CLIENT, base.client_label), naming.labels.get(GROUP, base.group_label)
    if CLIENT in naming.labels and GROUP not in naming.labels:
        group = ""  # who names the client's label wants the group to be read from it
    return dataclasses.replace(
        base,
        metrics=(*metrics, *remaining),
        client_label=client,
        group_label=group,
        with_labels=frozenset(filter(None, [group or client])),
        without_labels=base.without_labels - {group, client},
    )


def _unit_s(
    quantity: Quantity, name: str, exported: Mapping[Quantity, Metric], units_s: Mapping[Quantity, float]
) -> float:
    """Return the unit of a metric with an own name: what the name says, else what the exporter or its like have.

    Never guessed from values; seconds where nothing is said.
    """
    metric = exported.get(quantity)
    is_time = quantity.kind in _TIMES or quantity is Quantity.REBALANCE_TIME
    match = _UNIT_IN_NAME.search(name) if is_time else None
    if match is not None:
        return _UNITS_S[match[1]]
    return units_s.get(quantity, 1.0) if metric is None else metric.unit_s
