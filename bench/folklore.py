"""What folklore costs: `make bench-folklore`.

Two tables over the hold-out fleet of `bench.fleets`, whose truth is known. Groups of the consumer protocol (KIP-848)
are left out, because their session is the broker's. Costs and evictions are those of the true profile.

*Settings by name* are changes that projects made to their consumers in public. For each: what `heartbeat-tuner check`
says of the values from the settings alone, and what they come to in all groups of that library, beside the values that
the engine computes from 14 days of metrics of each group.

*At equal false evictions* compares ways to choose a session. Each has one number that is the same for all groups of a
library. It is set so that these groups have as many false evictions a month as with the engine's values, or as few as
the way allows. What is left to compare is how soon a crash is noticed, and how long partitions stand still. M stays at
the library's default, and follows S where S is longer.

- `kafka`: one S for all, H of 3 s, as Kafka's defaults have it (S 45 s).
- `third`: one S for all, H a third of it, as most guides advise.
- `longest`: S a multiple of the longest absence that showed in the group, H a third of it.
- `phi`: an accrual failure detector (Hayashibara et al., 2004): S is the mean of the times between heartbeats plus z
  standard deviations, as for a normal law. It gets the true mean and deviation of each group, not estimates.

Results go to `build/bench/folklore.json`.
"""

import argparse
import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench import fleets, observed, policies
from bench.fleets import Group
from bench.observed import Seen
from bench.quality_figures import OBJECTIVE, Outcome
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.fitting.models import model_estimate
from heartbeat_tuner.models.failure_profile import FailureProcess, Profile, Rebalancing
from heartbeat_tuner.models.group_model import GroupModel
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import TIMES_S, Law
from sandbox import progress

REPORT: Final = Path(__file__).parents[1] / "build" / "bench" / "folklore.json"

_WINDOW: Final = "14d"
_FITTED_AT: Final = datetime(2026, 2, 1, tzinfo=UTC)
_PROCESSES: Final = 2
_HALVINGS: Final = 14
_LEAST_S, _MOST_S = 6.0, 1800.0
"""What brokers allow as a session by default."""


@dataclasses.dataclass(frozen=True)
class Named:
    """Settings that a project chose in public.

    Attributes:
        project: and its pull request.
        library: of its consumers.
        session_s: S.
        interval_s: H; None: the library's default.
        poll_limit_s: M; None: the library's default.
        why: as the change says.
    """

    project: str
    library: str
    session_s: float
    interval_s: float | None
    poll_limit_s: float | None
    why: str


NAMED: Final = (
    Named("corda-runtime-os before 3964", "java", 6, 2, 100, "the old default of the project"),
    Named("corda-runtime-os 3964", "java", 60, 20, 300, "evictions; from a book"),
    Named("fasten 69", "java", 10, 3, 700, "rebalances took too long; from two blog posts"),
    Named("strimzi guide 3912", "java", 10, 3, None, "the example of a guide"),
    Named("launchpad 469", "confluent-kafka-python", 300, None, None, "a rebalance that took 57 s"),
    Named("ros-ocp-backend 187", "confluent-kafka-python", 120, 30, None, "gaps in metrics, perhaps rebalances"),
    Named("sentry 56219", "confluent-kafka-python", 30, None, 30, "S set to M wherever M is below 45 s (here 30 s)"),
    Named("posthog 11231", "kafkajs", 15, None, None, "a health check should notice sooner"),
)

_LIBRARIES: Final = ("java", "confluent-kafka-python", "kafkajs")


@dataclasses.dataclass(frozen=True)
class Answered:
    """A group with what was seen of it, and with the engine's values."""

    group: Group
    seen: Seen
    tuned: Outcome


def settings(named: Named) -> LivenessSettings:
    """Return the named values, and the library's defaults for the rest."""
    usual = catalogue.client(named.library).defaults
    return dataclasses.replace(
        usual,
        session_timeout=timedelta(seconds=named.session_s),
        heartbeat_interval=usual.heartbeat_interval
        if named.interval_s is None
        else timedelta(seconds=named.interval_s),
        max_poll_interval=usual.max_poll_interval
        if named.poll_limit_s is None
        else timedelta(seconds=named.poll_limit_s),
    )


def checked(named: Named) -> list[str]:
    """Return the codes of what `heartbeat-tuner check` finds in the values, from errors to hints."""
    values = {"session-timeout": named.session_s, "heartbeat-interval": named.interval_s}
    values["max-poll-interval"] = named.poll_limit_s
    options = [f"--{name}={round(value * 1000)}ms" for name, value in values.items() if value is not None]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "heartbeat_tuner",
            "check",
            f"--client={named.library}",
            *options,
            "--output=json",
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    report = json.loads(done.stdout)
    return [f"{found['code']} {found['severity']}" for item in report["checked"] for found in item["findings"]]


def answered(groups: Sequence[Group], pool: ProcessPoolExecutor) -> list[Answered]:
    """Return the groups with the values that the engine computes from 14 days of metrics."""
    seen = [
        observed.seen(group, observed.settings_of(group.truth), _WINDOW, np.random.default_rng([2, place]))
        for place, group in enumerate(groups)
    ]
    rows = observed.table(zip(groups, seen, strict=True))
    models = {
        model.group: model
        for model in model_estimate.models(rows, on=observed.LAST_DAY, fitted_at=_FITTED_AT, job="bench")
    }
    progress.say("folklore", f"{len(models)} models")
    asked = [(group.truth, models[group.name], shown) for group, shown in zip(groups, seen, strict=True)]
    tuned = list(pool.map(_tuned, asked, chunksize=5))
    progress.say("folklore", f"{len(tuned)} answers")
    return [Answered(*each) for each in zip(groups, seen, tuned, strict=True)]


def _tuned(asked: tuple[Profile, GroupModel, Seen]) -> Outcome:
    truth, model, seen = asked
    target = policies.tuned(truth, model, seen).target
    return policies.outcome(truth, observed.settings_of(truth) if target is None else target)


def figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return what values come to in a fleet.

    Returns:
        `groups`; `session_s` and `session_p90_s`: how late a crash is noticed, in the median group and in the slowest
        tenth; `evictions`: false ones a month of all groups; `above`: the share of groups with more than the objective;
        `stalled`: partition-seconds a day of all groups, net of what no setting can change.
    """
    sessions_s = [outcome.settings.session_timeout.total_seconds() for outcome in outcomes]
    most = OBJECTIVE.max_false_evictions_per_month
    return {
        "groups": len(outcomes),
        "session_s": round(float(np.median(sessions_s)), 1),
        "session_p90_s": round(float(np.quantile(sessions_s, 0.9)), 1),
        "evictions": round(sum(outcome.evictions_per_month for outcome in outcomes), 1),
        "above": round(float(np.mean([outcome.evictions_per_month > most for outcome in outcomes])), 3),
        "stalled": round(sum(outcome.net_per_day for outcome in outcomes)),
    }


def by_name(groups: Sequence[Answered]) -> list[dict[str, Any]]:
    """Return a row for each named choice, and for the defaults and the engine's values of each library."""
    rows = []
    for library in _LIBRARIES:
        some = [group for group in groups if group.group.truth.client == library]
        for named in NAMED:
            if named.library != library:
                continue
            outcomes = [policies.outcome(item.group.truth, settings(named)) for item in some]
            rows.append(dataclasses.asdict(named) | {"check": checked(named)} | figures(outcomes))
        usual = [policies.outcome(item.group.truth, observed.settings_of(item.group.truth)) for item in some]
        rows.append({"project": "the library's defaults", "library": library} | figures(usual))
        rows.append({"project": "heartbeat-tuner", "library": library} | figures([item.tuned for item in some]))
    return rows


def _values(truth: Profile, session_s: float, interval_s: float) -> LivenessSettings:
    """Return a session that brokers allow, and M where the library wants it to cover S."""
    session = timedelta(milliseconds=round(float(np.clip(session_s, _LEAST_S, _MOST_S)) * 1000))
    usual = observed.settings_of(truth)
    limit = usual.max_poll_interval
    return dataclasses.replace(
        usual,
        session_timeout=session,
        heartbeat_interval=timedelta(milliseconds=round(interval_s * 1000)),
        max_poll_interval=None if limit is None else max(limit, session),
    )


def _third(truth: Profile, session_s: float) -> LivenessSettings:
    within_s = float(np.clip(session_s, _LEAST_S, _MOST_S))
    return _values(truth, within_s, within_s / 3)


def _second_moment(law: Law) -> float:
    """Return E[X^2], in s^2: the integral of 2 x P(X > x)."""
    return float(np.trapezoid(2 * TIMES_S * law.exceedances, TIMES_S))


def gaps(truth: Profile) -> tuple[float, float]:
    """Return mean and standard deviation of the time between heartbeats of a member, in seconds.

    An absence makes the gap in which it begins longer by its length.
    """
    period_s = observed.period_s(truth.client, observed.settings_of(truth))
    nodes = dataclasses.replace(
        truth.node_pauses, per_day=truth.node_pauses.per_day * truth.node_members / truth.members
    )
    causes: list[tuple[float, Law]] = [
        (_per_gap(process, period_s), process.law) for process in (truth.pauses, nodes, truth.outages)
    ]
    if catalogue.client(truth.client).handler_delays_beat:
        causes.append((1.0, truth.handlers))
    mean_s = period_s + sum(share * law.mean_s for share, law in causes)
    variance: Array = np.array([share * _second_moment(law) - (share * law.mean_s) ** 2 for share, law in causes])
    return mean_s, float(np.sqrt(max(variance.sum(), 0.0)))


def _per_gap(process: FailureProcess, period_s: float) -> float:
    return min(1.0, process.per_day * period_s / observed.DAY_S)


Way = Callable[[Answered, float], LivenessSettings]
"""The values of a group, by the number that is the same for all groups of a library."""


def _phi(answered: Answered, z: float) -> LivenessSettings:
    mean_s, deviation_s = gaps(answered.group.truth)
    usual = observed.settings_of(answered.group.truth)
    return _values(answered.group.truth, mean_s + z * deviation_s, usual.heartbeat_interval.total_seconds())


def _kafka(answered: Answered, session_s: float) -> LivenessSettings:
    return _values(answered.group.truth, session_s, 3.0)


def _third_of_all(answered: Answered, session_s: float) -> LivenessSettings:
    return _third(answered.group.truth, session_s)


def _longest(answered: Answered, factor: float) -> LivenessSettings:
    return _third(answered.group.truth, factor * max(answered.seen.largest_absence_s, _LEAST_S))


WAYS: Final[Mapping[str, tuple[Way, float, float]]] = {
    "kafka": (_kafka, _LEAST_S, _MOST_S),
    "third": (_third_of_all, _LEAST_S, _MOST_S),
    "longest": (_longest, 0.2, 100.0),
    "phi": (_phi, 0.1, 10_000.0),
}
"""Ways to choose, and from where to where their number may be."""


def equal(asked: tuple[str, str, Sequence[Answered], float]) -> dict[str, Any]:
    """Return what a way comes to with as many evictions as are asked for, or with the fewest that it can have."""
    library, name, groups, evictions = asked
    way, least, most = WAYS[name]

    def tried(number: float) -> list[Outcome]:
        return [policies.outcome(group.group.truth, way(group, number)) for group in groups]

    low, high = np.log(least), np.log(most)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if sum(outcome.evictions_per_month for outcome in tried(float(np.exp(middle)))) > evictions:
            low = middle
        else:
            high = middle
    number = float(np.exp(high))
    progress.say("folklore", f"{library}, {name}: {number:.4g}")
    return {"library": library, "way": name, "number": round(number, 3)} | figures(tried(number))


def _table(rows: Sequence[Mapping[str, Any]], head: Sequence[str]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        cells = [row.get(name, "") for name in head]
        lines.append(f"| {' | '.join('; '.join(cell) if isinstance(cell, list) else str(cell) for cell in cells)} |")
    return "\n".join(lines)


FIGURES: Final = ("session_s", "session_p90_s", "evictions", "above", "stalled")


def main() -> None:
    """Measure, print both tables, and write the report."""
    parser = argparse.ArgumentParser(description="What folklore costs, on the hold-out fleet.")
    parser.add_argument("--groups", type=int, default=fleets.GROUPS, help="of the fleet")
    asked = parser.parse_args()
    groups = [
        group
        for group in fleets.fleet("holdout", asked.groups)
        if group.truth.rebalancing is not Rebalancing.CONSUMER and group.truth.client in _LIBRARIES
    ]
    with ProcessPoolExecutor(_PROCESSES, mp_context=get_context("spawn")) as pool:
        some = answered(groups, pool)
        named = by_name(some)
        print(_table(named, ("library", "project", "check", *FIGURES)), flush=True)
        rows: list[dict[str, Any]] = []
        for library in _LIBRARIES:
            alike = [item for item in some if item.group.truth.client == library]
            ours = figures([item.tuned for item in alike])
            rows += pool.map(equal, [(library, name, alike, ours["evictions"]) for name in WAYS])
            rows.append({"library": library, "way": "heartbeat-tuner"} | ours)
    print(_table(rows, ("library", "way", "number", *FIGURES)), flush=True)
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps({"groups": len(groups), "named": named, "equal": rows}, indent=1) + "\n")
    progress.say("folklore", str(REPORT))


if __name__ == "__main__":
    main()
