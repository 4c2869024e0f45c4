"""What a replica takes and shows at a moment, and whether it grows. All but `Vitals.of` and `Page.parsed` is pure."""

import dataclasses
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

from heartbeat_tuner.domain.exposed import GROUP_PREFIX, PREFIX

_SERIES: Final = re.compile(r"^(?P<name>[a-z_]+)(?:\{(?P<labels>.*)\})? \S+$", re.MULTILINE)
_OWNER: Final = re.compile(r'namespace="([^"]*)",policy="([^"]*)"')
_LED: Final = re.compile(r"^heartbeat_tuner_leader (\S+)$", re.MULTILINE)
_CYCLES: Final = re.compile(r"^heartbeat_tuner_cycle_duration_seconds_count (\S+)$", re.MULTILINE)

LEAST_LOOKS: Final = 4
"""Two halves of two."""

Level = Callable[[Sequence[float]], float]

Key = tuple[str, str]
"""Namespace and name of a policy."""


@dataclasses.dataclass(frozen=True)
class Page:
    """What a replica's page of metrics says.

    Attributes:
        leads: whether it says that it leads.
        cycles: finished since its start.
        own_series: series that are of no policy.
        policy_series: series of policies.
        policies: of which there are series.
    """

    leads: bool
    cycles: int
    own_series: int
    policy_series: int
    policies: frozenset[Key]

    @classmethod
    def parsed(cls, text: str) -> "Page | None":
        """Return what a page says; None for an empty one."""
        led, cycles = _LED.search(text), _CYCLES.search(text)
        if led is None or cycles is None:
            return None
        own, of_policies, keys = 0, 0, set[Key]()
        for match in _SERIES.finditer(text):
            if match["name"].startswith((PREFIX, GROUP_PREFIX)):
                of_policies += 1
                owner = _OWNER.search(match["labels"] or "")
                if owner is not None:
                    keys.add((owner[1], owner[2]))
            else:
                own += 1
        return cls(float(led[1]) > 0, int(float(cycles[1])), own, of_policies, frozenset(keys))


@dataclasses.dataclass(frozen=True)
class Vitals:
    """One look at a replica.

    Attributes:
        at_h: simulated hours since the measurement began.
        user: which replica.
        pid: its process: another one after a kill.
        page: what it shows; None where it did not answer.
    """

    at_h: float
    user: str
    pid: int
    rss_mib: float
    descriptors: int
    threads: int
    page: Page | None

    @classmethod
    def of(cls, pid: int, *, user: str, at_h: float, page: Page | None) -> "Vitals":
        """Look at a process, by the kernel's account."""
        folder = Path(f"/proc/{pid}")
        fields = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        rss_mib = int(fields["VmRSS"].split()[0]) / 1024
        descriptors = sum(1 for _ in (folder / "fd").iterdir())
        return cls(at_h, user, pid, rss_mib, descriptors, int(fields["Threads"]), page)


@dataclasses.dataclass(frozen=True)
class Growth:
    """What one replica took over a stretch of time in which one process of it lived.

    Attributes:
        samples: looks that count.
        rss_mib_per_hour: the slope of its memory, of both parts that it played together: each has a level of its own.
        descriptors: by how much the last half of the stretch lies above the first, by the median and by the least,
            whichever is less: what leaks lifts both. The API server closes connections when it restarts, and they come
            again with what is asked: medians differ by which hours lie after that, the least by a single moment.
        threads: by how much the last half lies above the first, in the median.
        own_series: the same.
    """

    user: str
    pid: int
    samples: int
    rss_first_mib: float
    rss_last_mib: float
    rss_max_mib: float
    rss_mib_per_hour: float
    descriptors: float
    threads: float
    own_series: float


def settled(looks: Sequence[Vitals], *, for_h: float) -> list[Vitals]:
    """Return the looks at which a replica had played its part for so long: a new leader first reads all there is."""
    lasting: list[Vitals] = []
    since_h, leads = looks[0].at_h if looks else 0.0, None
    for look in looks:
        if look.page is None:
            continue
        if look.page.leads is not leads:
            since_h, leads = look.at_h, look.page.leads
        if look.at_h - since_h >= for_h:
            lasting.append(look)
    return lasting


def growth(looks: Sequence[Vitals]) -> Growth:
    """Return what settled looks at one process amount to.

    Raises:
        ValueError: there are fewer than four, or they are of several processes.
    """
    if len(looks) < LEAST_LOOKS or len({look.pid for look in looks}) != 1:
        raise ValueError(f"{len(looks)} looks at processes {sorted({look.pid for look in looks})} show no growth")
    return Growth(
        user=looks[0].user,
        pid=looks[0].pid,
        samples=len(looks),
        rss_first_mib=round(looks[0].rss_mib, 1),
        rss_last_mib=round(looks[-1].rss_mib, 1),
        rss_max_mib=round(max(look.rss_mib for look in looks), 1),
        rss_mib_per_hour=round(_slope(looks), 3),
        descriptors=_rise([(look, look.descriptors) for look in looks], statistics.median, min),
        threads=_rise([(look, look.threads) for look in looks], statistics.median),
        own_series=_rise([(look, look.page.own_series) for look in looks if look.page is not None], statistics.median),
    )


def _by_part(looks: Iterable[tuple[Vitals, float]]) -> list[list[tuple[float, float]]]:
    """Return times and values of a leader, and of a follower: what each has at all differs."""
    parts: dict[bool, list[tuple[float, float]]] = defaultdict(list)
    for look, value in looks:
        parts[look.page is not None and look.page.leads].append((look.at_h, value))
    return list(parts.values())


def _slope(looks: Sequence[Vitals]) -> float:
    """Return the slope that both parts have in common, by least squares, in MiB an hour."""
    products = squares = 0.0
    for pairs in _by_part((look, look.rss_mib) for look in looks):
        middle_h, middle = (statistics.fmean(values) for values in zip(*pairs, strict=True))
        products += sum((at_h - middle_h) * (value - middle) for at_h, value in pairs)
        squares += sum((at_h - middle_h) ** 2 for at_h, _ in pairs)
    return products / squares if squares else 0.0


def _rise(looks: Sequence[tuple[Vitals, float]], *levels: Level) -> float:
    """Return by how much a part's last half lies above its first, by the level that rose least; of parts the most."""
    halves = ((pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]) for pairs in _by_part(looks) if len(pairs) > 1)
    rises = [
        min(level([value for _, value in last]) - level([value for _, value in first]) for level in levels)
        for first, last in halves
    ]
    return max(rises, default=0.0)


def left_behind(page: Page | None, live: Collection[Key]) -> tuple[list[Key], list[Key]]:
    """Return the policies that a leader shows and that are gone, and those that live and that it does not show."""
    shown = frozenset[Key]() if page is None else page.policies
    return sorted(shown - set(live)), sorted(set(live) - shown)
