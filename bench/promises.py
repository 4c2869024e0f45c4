"""How true the operator's words are, of looks that an earlier run kept: `python -m bench.promises`, a few seconds.

A run of `bench.quality --part shipped` (or `adverse`) keeps what was known of each group after some days. Here the
decisions are made again, by the code of now, and compared with the truth: for who changes what is said, or promised.
Values in force, and the models, are those of that run. Printed are for each day:

- of the groups how many have each verdict and reason, and of how many that the truth meets the objective;
- `vouched`: Healthy, or told that the objective is met, and how many truly meet it; `at most`: told any bound, and how
  many are truly not above it; `falsely`: what `bench.quality` calls `vouched_falsely`;
- with `--goals`, which groups are above their objective or made worse, and where goals collide
  (`bench.as_shipped.collisions`).
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Final

from bench.as_shipped import collisions, judged_figures, kept_looks
from bench.as_shipped.judgement import Standing, said_again
from bench.as_shipped.kept_looks import FOLDER
from heartbeat_tuner.decision.optimize.answer_cache import AnswerCache
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.reconcile.deciding import CACHED_ANSWERS

_SHOWN: Final = 160


def again(looks: Sequence[kept_looks.KeptLook]) -> list[tuple[Standing, str]]:
    """Return how each group stands by decisions of now, with what is said of it."""
    answers = AnswerCache(CACHED_ANSWERS)
    stands = []
    for look in looks:
        decision = decide(look.inputs, answer=answers.answer, expected=answers.expected, advise=answers.static_advice)
        stands.append((said_again(look.standing, decision), decision.finding.message))
    return stands


def report(day: int, standings: Sequence[Standing]) -> str:
    """Return the figures of one day as some lines."""
    lines = [f"day {day}, {len(standings)} groups"]
    words = Counter((standing.verdict.value, standing.reason) for standing in standings)
    for (verdict, reason), count in sorted(words.items()):
        within = sum(s.is_within for s in standings if (s.verdict.value, s.reason) == (verdict, reason))
        lines.append(f"  {verdict}: {reason}: {count}, truly within the objective {within}")
    vouched = [standing for standing in standings if standing.is_called_well]
    bounded = [standing for standing in standings if standing.bound is not None]
    falsely = [standing.name for standing in standings if standing.is_vouched_falsely]
    lines.append(
        f"  vouched {len(vouched)}, truly {sum(s.is_within for s in vouched)}; at most {len(bounded)}, truly "
        f"{sum(not s.is_above_bound for s in bounded)}; falsely: {', '.join(falsely) or 'none'}"
    )
    return "\n".join(lines)


def main() -> None:
    """Print the figures of a fleet that was kept."""
    parser = argparse.ArgumentParser(description="How true the operator's words are, of looks that were kept.")
    parser.add_argument("fleet", help=f"name of the files in {FOLDER.name}, such as holdout-60-own")
    parser.add_argument("--goals", action="store_true", help="show where goals collide, and what meeting them costs")
    parser.add_argument("--group", help="tell what is said of the groups whose name has this")
    asked = parser.parse_args()
    for day, looks in kept_looks.read(asked.fleet).items():
        stands = again(looks)
        print(report(day, [standing for standing, _ in stands]), flush=True)
        if asked.goals:
            of_day = [standing for standing, _ in stands]
            print(collisions.table(collisions.figures(of_day, judged_figures.vouched(of_day))), flush=True)
        for standing, words in stands:
            if asked.group is not None and asked.group in standing.name:
                said = f"{standing.verdict.value} {standing.reason}: {words[:_SHOWN]}"
                print(f"    {standing.name}, in truth {standing.outcome.evictions_per_month:.2g} a month: {said}")


if __name__ == "__main__":
    main()
