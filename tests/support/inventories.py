"""What a Prometheus might answer to `doctor`, made from conventions: consumers by the dozen, in any disorder."""

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Final

from heartbeat_tuner.doctor import discovery
from heartbeat_tuner.doctor.diagnosis import diagnose
from heartbeat_tuner.doctor.inventory import Diagnosis, Inventory
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support.worlds import NOW

CONVENTIONS: Final = known_conventions.OF_GROUPS


def labelled(convention: Convention, group: str = "orders", **labels: str) -> dict[str, str]:
    """Return labels as this exporter's consumers of a group carry them, with changes; an empty one is left out."""
    own = (
        {convention.group_label: group} if convention.group_label else {convention.client_label: f"consumer-{group}-1"}
    )
    fingerprint = dict.fromkeys(convention.with_labels, "1")
    found = {"namespace": "shop", "pod": "orders-0", "job": "pods", **fingerprint, **own, **labels}
    return {name: value for name, value in found.items() if value}


def exported(
    convention: Convention,
    group: str = "orders",
    *,
    without: Collection[Quantity] = (),
    age: timedelta = timedelta(seconds=5),
    every: timedelta = timedelta(seconds=30),
    **labels: str,
) -> list[Series]:
    """Return one consumer's series, all that its exporter has but for `without`."""
    newest_s = (NOW - age).timestamp()
    times = [newest_s - number * every.total_seconds() for number in range(3, -1, -1)]
    found = []
    for metric in convention.metrics:
        if metric.quantity not in without:
            name = {"__name__": metric.names[0], **dict(metric.matchers)}
            whole = {**labelled(convention, group, **labels), **name}
            found.append(Series.from_raw(whole, ((time_s, 1.0) for time_s in times)))
    return found


def stranger(name: str, **labels: str) -> Series:
    """Return a series of an unknown name."""
    return Series.from_raw({"__name__": name, "namespace": "odd", "job": "odd", **labels}, [(NOW.timestamp(), 1.0)])


def inventory(
    *series: Iterable[Series], strangers: Sequence[Series] = (), around: Sequence[Series] | None = None
) -> Inventory:
    """Return what the queries of `discovery` would give of these series."""
    everything = [item for several in series for item in several]
    stored = set(discovery.kind_labels(CONVENTIONS))
    kinds = {
        frozenset((name, value) for name, value in item.labels.items() if name in stored): item for item in everything
    }
    telling = {name for convention in CONVENTIONS for metric in discovery.telling(convention) for name in metric.names}
    recent_s = (NOW - discovery.RECENT).timestamp()
    members = [
        Series(item.labels, item.samples.between(recent_s, NOW.timestamp()))
        for item in everything
        if item.labels["__name__"] in telling and item.samples and item.samples[-1].time_s > recent_s
    ]
    counted = [Series.from_raw(dict(kind), [(NOW.timestamp(), 1.0)]) for kind in kinds]
    return Inventory(counted, members, strangers, around, NOW)


def near(*conventions: Convention, namespace: str = "shop", pod: str = "orders-0") -> list[Series]:
    """Return what is exported around a pod: all that these conventions have."""
    names = sorted({name for convention in conventions for name in convention.by_name})
    return [_one({"__name__": name, "namespace": namespace, "pod": pod}) for name in names]


def unkept(name: str, job: str) -> Series:
    """Return what is counted of a job that does not keep the pods of what it tells of."""
    return _one({"__name__": name, "job": job})


def _one(labels: dict[str, str]) -> Series:
    return Series.from_raw(labels, [(NOW.timestamp(), 1.0)])


def diagnosed(
    *series: Iterable[Series],
    strangers: Sequence[Series] = (),
    conventions: Sequence[Convention] = CONVENTIONS,
    around: Sequence[Series] | None = None,
) -> Diagnosis:
    """Return what is said of these series."""
    return diagnose(inventory(*series, strangers=strangers, around=around), conventions)
