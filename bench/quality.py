"""How good the tuner's values are, on fleets whose truth is known: `make bench-quality`.

Of each fleet of `bench.fleets` and for an hour, a day and two weeks of data: what metrics would have shown is drawn
(`bench.observed`), fitted as one fleet by the production fit, and each group is answered by `decision.optimize.tuning`
in one configuration, guarded. Judged are the values by the truth (`decision.cost.cost_model` on true profiles), beside
the defaults of the libraries, a rule of thumb, and an oracle that knows the truth (`bench.policies`).

J is what a group's members stand still, in partition-seconds a day, net of what no setting can change. Written are to
`build/bench/quality.json`, by fleet and window:

- `captured_share`: sum of (J of the defaults - J) over sum of (J of the defaults - J of the oracle).
- `oracle_median`, `oracle_p90`, `oracle_total`: of J / J of the oracle over the groups; the last one sum over sum.
- `rule_geomean`: geometric mean of J / J of the rule of thumb, which saw the same data. `rule_evictions_ratio`: false
  evictions of the whole fleet, over those under the rule.
- `within_objective`: of the groups that can meet the objective at all and were changed, or left with the word that
  they meet it: the share that truly does.
- `made_worse`: share of all groups with J > 1.02 J of the defaults; `made_worse_without_evidence`: the part of them
  without three evictions in their own record.
- `per_client`: the captured share by library, `per_kind` by kind of group; of those where the oracle saves 5 % or more
  of the defaults' J. What it saves of each is in `oracle_saves`.

Where no setting within bounds meets the objective, the oracle leaves the defaults. An answer counts with its target,
whether it is to be applied at once, with the next restart, or only recommended: rollouts are another question.

Some groups of each fleet are also simulated, event by event, with the defaults and with the tuned values: `simulated`
has the gross J of simulation over that of the formula.

All that is of the engine alone. What a user gets is in `shipped`: the same fleets in the hands of the operator, by its
own `decide`, hour by hour, with a policy that sets nothing but the mode Apply (`bench.as_shipped`). Nobody has watched
the groups before, and each night what metrics showed under the values then in force is fitted. After 1, 14 and 30 days
(`1d`, `14d`, `30d`) the values in force are judged, not what is recommended. Groups whose library exports too little to
be tuned by it are `refused`, and in no figure. Those of KIP-848, of Kafka Streams' protocol and share groups get S and
H at the broker, without a restart, and M in their pods; it was given the bounds of classic groups, and each consumer
has a rebalance listener. The latter two, and those of librdkafka in KIP-848, are added to the fleet for this part.

- `captured_share`, `oracle_median`, `oracle_p90`: as above, with the same oracle, whose session may be of any length.
  `captured_share_without_top5` leaves out the 5 % of the groups in which most can be saved;
  `captured_share_attainable` has an oracle within `maxDetectionTime`, or the safest values where that meets nothing;
  `captured_share_recommended` judges what is recommended, written or not.
- `within_objective`, of all and by client: of the groups that can meet the objective of evictions, with a session of
  any length, and that were changed, called Healthy, or told that the objective is met: the share that truly meets it.
- `vouched_falsely`: of the groups that were called Healthy or told a bound of evictions (at most x a month, for the
  values in force): the share where the truth is above x, or above the objective though all was called well.
  `called_well_and_is_not` is the latter alone.
- `made_worse`: share of all groups with J > 1.02 J of the defaults. `worst_ratio`: the largest J / J of the defaults.
- `changes_per_group_p95`: writes, reverts among them. `flips`: writes that bring back values which an earlier write had
  replaced, without a revert. `changed_too_often`: the share with more than four.
- `infeasible_share`: of all groups, those called Infeasible in the end; `false_infeasible`: of these, those for which
  values exist that truly meet the whole objective. `unknown_share`: those whose verdict is Unknown; `unproven_share`:
  Unproven; `called_well_share`: Healthy, or told that the objective is met.
- `per_client`, `per_kind`: the captured share where the oracle saves 10 % or more, `within_objective` and
  `vouched_falsely` of each.
- `collisions`, printed, too: how the goals of each group go together by the truth (`bench.as_shipped.collisions`).
  `within_where_owed` is `within_objective` of the groups that can meet the whole objective, detection time included,
  for up to a tenth more than the defaults' J. `worse_than_needed` is the part of `made_worse` that also costs over 2 %
  more than the cheapest values that meet its objective, where the defaults do not. Both stand beside the figures that
  they are parts of, and replace none. `frontier`: what it costs to meet objectives, by how much more a group may cost.
- `calibration`, by client, printed as a table, too: of the groups told "at most x evictions a month", the share truly
  not above x, and how many times x the others' truth is in the median; of those called well, the share that truly is.
- What was known of each group after some days is kept in `build/bench/looks`: `bench.promises` decides on it again.
- `played`: some of the groups after the last day, played out by the simulation instead of the formula; those that are
  deployed often with all their members restarted in turn.

`adverse` has the same of worlds that the formulas did not make (`bench.as_shipped.adverse`), after the last day.
"""

import argparse
import json
import os
import resource
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench import engine_alone, fleets, spreading
from bench.as_shipped import adverse, collisions, judged_figures, judgement, measuring
from bench.as_shipped.measuring import Work
from bench.as_shipped.running import Plan
from sandbox import progress

BUILD: Final = Path(__file__).parents[1] / "build" / "bench"
REPORT: Final = BUILD / "quality.json"

_PROCESSES: Final = 2
_PLAYED: Final = 30
"""Groups of each fleet, each with three settings."""


def measure_shipped(pool: ProcessPoolExecutor, works: Sequence[Work]) -> dict[str, Any]:
    """Return the figures of fleets in the operator's hands, by name."""
    found: dict[str, Any] = {}
    for work, done in zip(works, pool.map(measuring.shipped, works), strict=True):
        chosen = np.unique(np.linspace(0, len(done.plays) - 1, _PLAYED).astype(int)).tolist()
        some = [done.plays[place] for place in chosen]
        asked = [(truth, values, deployed) for truth, deployed, three in some for values in three]
        plays = spreading.each(pool, f"{work.name} as shipped: simulation", judgement.played, asked)
        threes = [(plays[place], plays[place + 1], plays[place + 2]) for place in range(0, len(plays), 3)]
        found[work.name] = {
            **done.by_day,
            "groups": done.lines,
            "played": measuring.played(threes),
            "worst": done.stories,
        }
    return found


def measure_adverse(pool: ProcessPoolExecutor, works: Sequence[Work]) -> dict[str, Any]:
    """Return the figures of adverse worlds after the last day, by name."""
    return {
        work.name: {**done.by_day[f"{work.plan.days}d"], "groups": done.lines}
        for work, done in zip(works, pool.map(measuring.adverse, works), strict=True)
    }


def print_calibration(shipped: Mapping[str, Any]) -> None:
    """Print how true the promises to each client family are, after each span."""
    for name, found in shipped.items():
        by_day = {
            day: figures for day, figures in found.items() if isinstance(figures, dict) and "calibration" in figures
        }
        print(f"{name}, how true promises are:\n{judged_figures.calibration_table(by_day)}", flush=True)


def print_collisions(shipped: Mapping[str, Any], days: int) -> None:
    """Print which groups fall short after the last day, and where goals collide."""
    for name, found in shipped.items():
        print(f"{name}, where goals collide:\n{collisions.table(found[f'{days}d']['collisions'])}", flush=True)


def print_worst(shipped: Mapping[str, Any]) -> None:
    """Print the stories of the worst groups of each fleet."""
    for name, found in shipped.items():
        for chosen_by, stories in found["worst"].items():
            for place, story in enumerate(stories, 1):
                print(f"{name}, worst {chosen_by}, {place}: {story}", flush=True)


PARTS: Final = ("engine", "shipped", "adverse")


def main() -> None:
    """Measure, say how it goes, and write the report and the plot."""
    parser = argparse.ArgumentParser(description="How good the tuner's values are, on fleets whose truth is known.")
    parser.add_argument("fleets", nargs="*", choices=[[], *fleets.NAMES], help="all of them by default")
    parser.add_argument("--groups", type=int, default=fleets.GROUPS, help="of each fleet")
    parser.add_argument("--days", type=int, default=30, help="in the operator's hands")
    parser.add_argument("--history", type=int, default=0, help="days of metrics before that")
    parser.add_argument("--seed", type=int, help="of other fleets by the same rules")
    parser.add_argument("--part", action="append", choices=PARTS, help="all of them by default")
    parser.add_argument("--world", action="append", choices=sorted(adverse.WORLDS), help="all of them by default")
    parser.add_argument("--client", default="", help="as shipped: only the groups of one library, such as java-kip848")
    parser.add_argument("--in-namespace", type=int, default=0, help="as shipped: groups in each namespace, else in one")
    parser.add_argument("--worst", type=int, default=0, help="tell the story of so many groups")
    asked = parser.parse_args()
    names, parts = asked.fleets or fleets.NAMES, asked.part or PARTS
    plan = Plan(asked.days, asked.history, seed=asked.seed or 1)
    began = time.monotonic()
    report: dict[str, Any] = {}
    with ProcessPoolExecutor(_PROCESSES, mp_context=get_context("spawn")) as pool:
        if "engine" in parts:
            report |= {name: engine_alone.measure(name, pool, asked.groups) for name in names}
        if "shipped" in parts:
            works = [
                Work(name, asked.groups, plan, asked.seed, asked.worst, asked.client, asked.in_namespace)
                for name in names
            ]
            report["shipped"] = measure_shipped(pool, works)
            print_calibration(report["shipped"])
            print_collisions(report["shipped"], plan.days)
            print_worst(report["shipped"])
        if "adverse" in parts:
            size = min(asked.groups, adverse.GROUPS)
            works = [Work(name, size, plan, asked.seed) for name in asked.world or adverse.WORLDS]
            report["adverse"] = measure_adverse(pool, works)
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    report |= {
        "groups": asked.groups,
        "asked": vars(asked),
        "cores": os.cpu_count(),
        "took_s": round(time.monotonic() - began, 1),
        "processor_s": round(sum(usage.ru_utime + usage.ru_stime for usage in used), 1),
    }
    BUILD.mkdir(parents=True, exist_ok=True)
    earlier = json.loads(REPORT.read_text()) if asked.part and REPORT.exists() else {}
    REPORT.write_text(json.dumps(earlier | report, indent=1) + "\n")
    if "engine" in parts:
        for name in names:
            (BUILD / f"quality-{name}.svg").write_text(engine_alone.plot(name, report[name]["14d"]["groups"]))
    progress.say("quality", f"{REPORT} after {report['took_s']:.0f} s, {report['processor_s']:.0f} s of a processor")


if __name__ == "__main__":
    main()
