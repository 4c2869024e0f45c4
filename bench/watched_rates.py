"""How near is the eviction rate of a fit to the truth, where only the group watcher shows evictions?

`python -m bench.watched_rates`: 200 groups at a session of 10 s, 14 days, each with a rate of its own, in one
namespace. An eviction counts as certain only if a description shows the member out of its group: it is away for 12 s on
average, and described every `--look-every` seconds, 5 as for so many groups. A description that shows it out is
followed by another one half a second later, which must show it out, too. Others count as unseen. What was counted is
scraped, cut into the windows of the fit, counted and fitted by the fit's own parts, without Prometheus and Spark.
`watched_chance` says beside it what chance alone leaves, over many draws, and what becomes of it in other worlds.
"""

import argparse
import dataclasses
import json
import random
import time
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from bench import watched_chance
from bench.watched_chance import AWAY_S, DAYS, FACTOR, GROUPS, RATES
from heartbeat_tuner.fitting import contract
from heartbeat_tuner.fitting.models import model_estimate
from heartbeat_tuner.fitting.prometheus import counting, slices
from heartbeat_tuner.fitting.prometheus.slices import SliceWindow
from heartbeat_tuner.metrics.measured import EVICTION
from heartbeat_tuner.metrics.raw.samples import Samples, Series
from heartbeat_tuner.reconcile.group_watch import follow_ups

REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "watched-rates.json"

FIRST: Final = date(2026, 3, 1)
SESSION_S: Final = 10.0
SCRAPE_S: Final = 60.0
FEW: Final = 3
MANY: Final = 15
_DAY_S: Final = 86_400.0


@dataclasses.dataclass(frozen=True)
class TrueGroup:
    """A group: its rate a member-day, and when each of its members was evicted, seen or unseen, in Unix seconds."""

    name: str
    rate: float
    seen_s: tuple[tuple[float, ...], ...]
    unseen_s: tuple[tuple[float, ...], ...] = ()

    @property
    def events(self) -> int:
        """How many certain evictions were counted."""
        return sum(map(len, self.seen_s))


def truth(seed: int, look_every_s: float) -> list[TrueGroup]:
    """Return the groups."""
    chance, low, high = random.Random(seed), *RATES  # noqa: S311 - a simulation
    start_s = datetime.combine(FIRST, datetime.min.time(), UTC).timestamp()
    groups = []
    for number in range(GROUPS):
        rate = low * (high / low) ** chance.random()
        members = [list(_evicted(chance, rate, start_s, look_every_s)) for _ in range(chance.randint(2, 4))]
        seen, unseen = (
            tuple(tuple(at_s for at_s, is_caught in member if is_caught is wanted) for member in members)
            for wanted in (True, False)
        )
        groups.append(TrueGroup(f"group-{number}", rate, seen, unseen))
    return groups


def _evicted(chance: random.Random, rate: float, start_s: float, look_every_s: float) -> Iterator[tuple[float, bool]]:
    """Yield when a member is evicted, and whether a description shows it out of its group."""
    at_s = chance.expovariate(rate) * _DAY_S
    while at_s < DAYS * _DAY_S:
        described_s = chance.random() * look_every_s + (follow_ups.AFTER_S if look_every_s else 0.0)
        yield start_s + at_s, described_s < chance.expovariate(1 / AWAY_S)
        at_s += chance.expovariate(rate) * _DAY_S


def exported(groups: Sequence[TrueGroup], window: SliceWindow) -> tuple[list[Series], list[Series]]:
    """Return what the operator exported in a window: the counters of the pods, and what it says of the policies."""
    since_s, until_s = window.read_since.timestamp(), window.read_until.timestamp()
    times_s = array("d", [since_s + number * SCRAPE_S for number in range(int((until_s - since_s) / SCRAPE_S))])
    sessions = array("d", [SESSION_S]) * len(times_s)
    counts, policies = [], []
    for group in groups:
        labels = {"namespace": "shop", "policy": group.name}
        info = {**labels, "__name__": "heartbeat_tuner_policy_info", "group": group.name, "client": "sarama"}
        session = {**labels, "__name__": "heartbeat_tuner_policy_session_timeout_seconds", "values": "set"}
        policies += [Series(info, Samples(times_s, sessions)), Series(session, Samples(times_s, sessions))]
        own = {**labels, "__name__": "heartbeat_tuner_group_evictions_total", "group": group.name}
        for certainty, members in (("certain", group.seen_s), ("unseen", group.unseen_s)):
            for number, evicted_s in enumerate(members):
                values = array("d", [float(bisect_right(evicted_s, at_s)) for at_s in times_s])
                pod = {**own, "pod": f"{group.name}-{number}", "certainty": certainty}
                counts.append(Series(pod, Samples(times_s, values)))
    return counts, policies


def fitted(groups: Sequence[TrueGroup]) -> dict[str, tuple[float, float]]:
    """Return the rate of each group a member-day, by its model, and at most, at 95 %."""
    rows = []
    for number in range(DAYS):
        day = FIRST + timedelta(days=number)
        for window in slices.windows_of(day):
            counts, policies = exported(groups, window)
            for cell, count in counting.counts(counts, (), window, policies).items():
                rows.append({"day": day, "cluster": "main", "n": count, **dataclasses.asdict(cell)})
    last = FIRST + timedelta(days=DAYS - 1)
    now = datetime.combine(last, datetime.min.time(), UTC) + timedelta(days=1)
    table = contract.merged(pa.Table.from_pylist(rows, schema=contract.ROWS))
    rates = {}
    for model in model_estimate.models(table, on=last, fitted_at=now, job="bench"):
        rate = model.quantities[EVICTION].rate
        if rate is not None:
            rates[model.group] = (rate.mean, rate.upper)
    return rates


def figures(groups: Sequence[TrueGroup], rates: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """Return the share of groups whose fitted rate is within `FACTOR` of the truth, of those with enough events."""
    report: dict[str, Any] = {"groups": len(groups), "days": DAYS, "factor": FACTOR}
    for least in (FEW, MANY):
        some = [group for group in groups if group.events >= least]
        near = [group for group in some if 1 / FACTOR <= rates[group.name][0] / group.rate <= FACTOR]
        below = [group for group in some if group.rate <= rates[group.name][1]]
        report[f"from_{least}_events"] = {
            "groups": len(some),
            "within_factor": round(len(near) / len(some), 3),
            "upper_bound_holds": round(len(below) / len(some), 3),
        }
    return report


def main() -> None:
    """Measure, print and write the report."""
    parser = argparse.ArgumentParser(description="What a fit makes of the group watcher's counters.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--look-every", type=float, default=5.0, help="seconds between two descriptions of a group")
    parser.add_argument("--draws", type=int, default=watched_chance.DRAWS, help="of the groups, for what chance leaves")
    asked = parser.parse_args()
    began_s = time.process_time()
    groups = truth(asked.seed, asked.look_every)
    report = {"look_every_s": asked.look_every, "seed": asked.seed, **figures(groups, fitted(groups))}
    report["by_chance"] = {
        name: watched_chance.figures(world, asked.look_every, (FEW, MANY), draws=asked.draws)
        for name, world in watched_chance.WORLDS.items()
    }
    report["false_events"] = {
        name: watched_chance.false_events(world, asked.look_every, draws=asked.draws)
        for name, world in watched_chance.WITHOUT_EVICTIONS.items()
    }
    report["cpu_s"] = round(time.process_time() - began_s, 1)
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
