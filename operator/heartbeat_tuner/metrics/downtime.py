"""How long a restart took a member away: from its last sign of life to its first partition.

kube-state-metrics tells when containers and pods began; who came back, and when, the member's own series tell: at the
first scrape with a partition, or, where that is not exported, with a heartbeat. Scrapes leave both ends open by one
interval each, and the downtime so has two bounds. A pod that was replaced by another one is followed to the pod that
began nearest to its end: with a surge that one may work before the old one ends, and nothing is lost.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics.absence import process_lives
from heartbeat_tuner.metrics.raw import samples
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.raw.samples import Sample, Series
from heartbeat_tuner.metrics.vocabulary import Quantity

REPLACED_WITHIN_S: Final = 600.0
"""A pod that begins later than this after another's end does not replace it."""

GONE_AFTER_SCRAPES: Final = 3
"""A pod of which so many scrapes are missing at the end has ended."""

CONTAINER_LABEL: Final = "container"


@dataclasses.dataclass(frozen=True, slots=True)
class Downtime:
    """How long a member was away, in seconds: what it surely was, and what scrapes leave open."""

    at_least_s: float
    at_most_s: float


@dataclasses.dataclass(frozen=True, slots=True)
class Restart:
    """A process that ended, and the one that took its place.

    Attributes:
        pod: whose process ended.
        successor: the pod that took its place: itself, if its container was started again.
        ended_s: its last sign of life, in Unix seconds.
        started_s: when the next process began.
        ready_s: when the successor was ready, if that is told and was later.
        downtime: until the first partition or heartbeat.
        in_place: its container was started again, in the same pod: nobody had asked it to end.
    """

    pod: str
    successor: str
    ended_s: float
    started_s: float
    ready_s: float | None
    downtime: Downtime | Unknown
    in_place: bool = False


def restarts(observed: Observed, platform: Observed) -> list[Restart] | Unknown:
    """Return the restarts of a group's members, in order of time.

    Args:
        observed: the group's series.
        platform: what is exported around its pods.
    """
    if not any(platform.get(quantity) for quantity in process_lives.STARTS):
        return Unknown(
            Reason.NO_SERIES,
            "no series kube_pod_container_state_started nor kube_pod_start_time of the group's pods: install "
            "kube-state-metrics, and scrape it with honorLabels",
        )
    pods = {pod: _Pod.of(pod, observed, platform) for pod in process_lives.pods_in(observed)}
    every = [series for quantity in process_lives.OF_A_MEMBER for series in observed.get(quantity, ())]
    interval_s = samples.scrape_interval_s(every) or 0.0
    newest_s = samples.newest_s(every) or 0.0
    restarts = [restart for pod in pods.values() for restart in _in_place(pod, interval_s)]
    gone = sorted(
        (pod for pod in pods.values() if pod.seen and newest_s - pod.seen[-1] > GONE_AFTER_SCRAPES * interval_s),
        key=lambda pod: pod.seen[-1],
    )
    free = {pod.name: pod.starts[0] for pod in pods.values() if pod.starts}
    for pod in gone:
        ended_s = pod.seen[-1]
        near = {
            name: abs(started_s - ended_s)
            for name, started_s in free.items()
            if name != pod.name and started_s > pod.seen[0] and abs(started_s - ended_s) <= REPLACED_WITHIN_S
        }
        if near:
            successor = pods[min(near, key=lambda name: (near[name], name))]
            restarts.append(_restart(pod.name, successor, (ended_s, ended_s + interval_s), free.pop(successor.name)))
    return sorted(restarts, key=lambda restart: restart.ended_s)


@dataclasses.dataclass(frozen=True, slots=True)
class _Pod:
    """What is known of one pod.

    Attributes:
        name: its name.
        starts: when its processes began.
        begun: when pods of this name began, as far as it is told.
        ends: when its containers ended, as far as it is told.
        ready: when it was ready.
        seen: the scrapes in which it exported something of a member.
        work: what shows that a member works: above zero.
    """

    name: str
    starts: Sequence[float]
    begun: Sequence[float]
    ends: Sequence[float]
    ready: Sequence[float]
    seen: Sequence[float]
    work: Sequence[Sample]

    @classmethod
    def of(cls, name: str, observed: Observed, platform: Observed) -> "_Pod":
        mine, around = process_lives.of_pod(observed, name), process_lives.of_pod(platform, name)
        signs = [series for quantity in process_lives.OF_A_MEMBER for series in mine.get(quantity, ())]
        works = next(
            (quantity for quantity in process_lives.OF_A_MEMBER if observed.get(quantity)), Quantity.ASSIGNED_PARTITIONS
        )
        work = [sample for series in mine.get(works, ()) for sample in series.samples]
        return cls(
            name=name,
            starts=_starts(around, signs),
            begun=process_lives.instants(around.get(Quantity.POD_STARTED, ())),
            ends=process_lives.instants(around.get(Quantity.CONTAINER_ENDED, ())),
            ready=process_lives.instants(around.get(Quantity.POD_READY, ())),
            seen=sorted({sample.time_s for sign in signs for sample in sign.samples}),
            work=sorted(work, key=lambda sample: sample.time_s),
        )


def _starts(around: Mapping[Quantity, Sequence[Series]], signs: Sequence[Series]) -> list[float]:
    """Return when the processes of a pod's consumer began: of its container, if it is known which one that is."""
    group = around.get(Quantity.CONTAINER_STARTED, ())
    named = {sign.labels[CONTAINER_LABEL] for sign in signs if CONTAINER_LABEL in sign.labels}
    if not named and len({series.labels.get(CONTAINER_LABEL) for series in group}) == 1:
        return process_lives.instants(group)
    own = [series for series in group if series.labels.get(CONTAINER_LABEL) in named]
    return process_lives.instants(own or around.get(Quantity.POD_STARTED, ()))


def _in_place(pod: _Pod, interval_s: float) -> list[Restart]:
    """Return the restarts of a pod's container, and of a pod that came back by the same name."""
    restarts = []
    for began_s, started_s in zip(pod.starts, pod.starts[1:], strict=False):
        end_times_s = [at_s for at_s in pod.ends if began_s < at_s <= started_s]
        in_place = not any(began_s < at_s <= started_s for at_s in pod.begun)
        last_s = max((at_s for at_s in pod.seen if began_s <= at_s <= started_s), default=None)
        if end_times_s:
            ended = (end_times_s[-1], end_times_s[-1])
        elif last_s is not None:
            ended = (last_s, min(started_s, last_s + interval_s))
        else:
            continue
        restarts.append(dataclasses.replace(_restart(pod.name, pod, ended, started_s), in_place=in_place))
    return restarts


def _restart(name: str, successor: _Pod, ended: tuple[float, float], started_s: float) -> Restart:
    ready_s = next((at_s for at_s in successor.ready if at_s >= started_s), None)
    return Restart(name, successor.name, ended[0], started_s, ready_s, _downtime(successor, ended, started_s))


def _downtime(successor: _Pod, ended: tuple[float, float], started_s: float) -> Downtime | Unknown:
    back_s = next((sample.time_s for sample in successor.work if sample.time_s > started_s and sample.value > 0), None)
    if back_s is None:
        return Unknown(
            Reason.TOO_LITTLE_DATA,
            f"pod {successor.name} has not been seen with a partition or a heartbeat since it began",
        )
    idle_s = max((sample.time_s for sample in successor.work if started_s < sample.time_s < back_s), default=started_s)
    return Downtime(max(0.0, idle_s - ended[1]), max(0.0, back_s - ended[0]))
