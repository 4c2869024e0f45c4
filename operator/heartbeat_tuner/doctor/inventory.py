"""The nouns of a diagnosis: what Prometheus answered, the groups in it, and what is said of them."""

import dataclasses
import difflib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.doctor import fixes
from heartbeat_tuner.doctor.findings import DoctorFinding, DoctorSeverity
from heartbeat_tuner.doctor.metric_coverage import Covered
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.record import STALE_AFTER, STALE_SCRAPES
from heartbeat_tuner.metrics.vocabulary import Quantity

SHOWN: Final = 3
"""How many examples a sentence gives."""


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """What Prometheus answered to the queries of `discovery`.

    Attributes:
        kinds: one series for each kind, without values that matter.
        members: recent raw samples of each consumer, with all labels.
        strangers: one example of each unknown name.
        around: one element for each name that is exported around a consumer's pod; None if it was not asked for.
        now: when it was asked.
    """

    kinds: Sequence[Series]
    members: Sequence[Series]
    strangers: Sequence[Series]
    around: Sequence[Series] | None
    now: datetime


@dataclasses.dataclass(frozen=True, slots=True)
class FoundGroup:
    """A consumer group that some exporter shows.

    Attributes:
        namespace: of its pods.
        group: its id.
        convention: the exporter that tells most of it.
        pods: those with a fresh sample.
        members: consumers with one; of an exporter that does not count their joins, pods.
        interval: between two scrapes; None if no two are recent.
        age: of the newest sample; None if none is recent.
        there: what it exports of what is used.
        missing: what it lacks of that, as far as consumers of its kind have it at all.
        rejoins: per member, within the time of recent samples (`discovery.RECENT`); None if none counts them.
        measurable: whether its record can be made.
        covered: which quantities can be measured with what is around its pods, too; None if that was not asked
            for, or if no pod is alive.
    """

    namespace: str
    group: str
    convention: Convention
    pods: tuple[str, ...]
    members: int
    interval: timedelta | None
    age: timedelta | None
    there: tuple[Quantity, ...]
    missing: tuple[Quantity, ...]
    rejoins: float | None
    measurable: bool
    covered: Covered | None


@dataclasses.dataclass(frozen=True, slots=True)
class Diagnosis:
    """All groups, those whose members rejoin most first, and all findings, the worst first."""

    groups: tuple[FoundGroup, ...]
    findings: tuple[DoctorFinding, ...]

    @property
    def is_whole(self) -> bool:
        """Whether all groups can be measured in full."""
        return all(finding.severity is DoctorSeverity.INFO for finding in self.findings)

    def only(self, group: str) -> "Diagnosis":
        """Return what concerns one group; one that is not there is a finding, which names the nearest that are."""
        mine = tuple(found_group for found_group in self.groups if found_group.group == group)
        if mine:
            return Diagnosis(mine, tuple(finding for finding in self.findings if finding.subject[:1] == (group,)))
        known = sorted({found_group.group for found_group in self.groups})
        near = difflib.get_close_matches(group, known, n=SHOWN, cutoff=0.5) or known[:SHOWN]
        nearest = f"; did you mean {' or '.join(near)}? {len(known)} groups are shown" if near else ""
        message = f"no exporter shows a group of this name{nearest}"
        unknown = DoctorFinding(
            "group-unknown", DoctorSeverity.ERROR, (group,), message, None if near else fixes.NOTHING
        )
        hiding = tuple(finding for finding in self.findings if finding.id in _MAY_HIDE_A_GROUP)
        return Diagnosis((), (unknown, *hiding))


_MAY_HIDE_A_GROUP: Final = frozenset({"group-not-told", "labels-unknown", "namespace-not-told", "names-unknown"})


def is_tuned(convention: Convention) -> bool:
    """Whether groups whose consumers are exported so can be tuned."""
    return convention in known_conventions.TUNED


def stale_after(interval: timedelta | None) -> timedelta:
    """Return how old the newest sample of a group may be, by the interval between two scrapes."""
    return max(STALE_AFTER, STALE_SCRAPES * (interval or timedelta(0)))
