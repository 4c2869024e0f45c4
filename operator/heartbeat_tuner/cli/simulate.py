"""`heartbeat-tuner simulate`: one group played out, under what is set and under something else.

What happens to it is what its model says. The play shares no line with the formulas by which values are chosen; both
stand beside each other. Seldom things want many days: in one month, chance brings none or two of them.
"""

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

from heartbeat_tuner.cli.doctor import as_document
from heartbeat_tuner.cli.group import group_case, group_options, playing
from heartbeat_tuner.cli.group.forecasts import number
from heartbeat_tuner.cli.group.group_case import Case
from heartbeat_tuner.cli.group.group_options import settings_of, tuned
from heartbeat_tuner.cli.group.option_values import assignment, flag, time
from heartbeat_tuner.cli.group.playing import GroupFigures, Scene
from heartbeat_tuner.cli.options import FiniteNumber
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.recommend import harmless, missing_object, missing_text, title
from heartbeat_tuner.cli.wording import table, wrapped
from heartbeat_tuner.decision.from_metrics import StatedFacts
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.lint.checked_settings import NAMES
from heartbeat_tuner.models.failure_profile import Profile
from heartbeat_tuner.models.group_model import Unfitted

LONGEST_DAYS = 3_650


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What to play.

    Attributes:
        profile: what happens to the group.
        now: what is set.
        then: what else is to be tried: its settings, and whether members are static; None where nothing is.
        why: where that comes from.
    """

    profile: Profile
    now: LivenessSettings
    then: tuple[LivenessSettings, bool] | None
    why: str


@click.command("simulate", short_help="Simulate a group with other values.")
@group_options.options
@click.option(
    "--to",
    "changes",
    multiple=True,
    metavar="SETTING=VALUE",
    help="Value to simulate, like session-timeout=20s. Repeatable. Default: the recommended values.",
)
@click.option("--static/--dynamic", default=None, help="Simulate members with or without a group.instance.id.")
@click.option("--rollout", is_flag=True, help="Add the cost of replacing every pod once.")
@click.option(
    "--days",
    type=FiniteNumber(0, LONGEST_DAYS, min_open=True),
    default=30.0,
    show_default=True,
    help="Days to simulate.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True, help="Seed of the random numbers."
)
def command(
    *,
    changes: tuple[str, ...],
    static: bool | None,
    rollout: bool,
    days: float,
    seed: int,
    output: str,
    **given: Any,
) -> None:
    """Simulate a consumer group event by event, with the current and with other values.

    Events follow the group's model (--models). The options are those of `recommend`. The same seed gives the same
    result.

    Exit status: 0 if it was simulated, 1 if there is no model, 2 if the command line or Prometheus cannot be used.
    """
    wanted = group_options.wanted(**given)
    tried = _tried(wanted.stated, changes)
    case = group_case.gather(wanted)
    plan = planned(case, tried, static=static)
    if plan is None:
        text = nothing(case) if output == "text" else as_document(document(case, None, [], days, seed), output)
        click.echo(text, nl=False)
        raise click.exceptions.Exit(1)
    with _progress() as progress:
        scenes = played(plan, days=days, seed=seed, rollout=rollout, progress=progress)
    if output == "text":
        click.echo(as_text(case, plan, scenes, days, seed), nl=False)
    else:
        click.echo(as_document(document(case, plan, scenes, days, seed), output), nl=False)


def planned(case: Case, tried: LivenessSettings | None, *, static: bool | None) -> Plan | None:
    """Return what to play; None if nothing is known of what happens to the group.

    Args:
        case: the group.
        tried: other values, if any are asked for.
        static: whether members then are static, if that is asked for.
    """
    if not isinstance(case.asked, Question):
        return None
    profile, now = case.asked.profile, case.stated.current.settings
    if tried is not None or static is not None:
        is_static = profile.static if static is None else static
        return Plan(profile, now, (now if tried is None else tried, is_static), "as you ask")
    target = None if case.decision is None else case.decision.target
    return Plan(profile, now, None if target is None else (target, profile.static), "as is recommended")


def played(
    plan: Plan, *, days: float, seed: int, rollout: bool, progress: Callable[[float], object] | None = None
) -> list[Scene]:
    """Return what is set played, and the other values, if there are any.

    Raises:
        UsageProblem: that would take too long.
    """
    asked = [(plan.now, plan.profile.static), *([plan.then] if plan.then else [])]
    scenes: list[Scene] = []
    for settings, static in asked:
        done = len(scenes)

        def share(of_one: float, done: int = done) -> None:
            if progress is not None:
                progress((done + of_one) / len(asked))

        profile = dataclasses.replace(plan.profile, static=static)
        scenes.append(playing.scene(profile, settings, days=days, seed=seed, rollout=rollout, progress=share))
    return scenes


def as_text(case: Case, plan: Plan, scenes: list[Scene], days: float, seed: int) -> str:
    """Return one table of it."""
    blocks = [] if case.inputs is None else [title(case)]
    rows = [("", "now", "by formula", *(("what if", "by formula") if len(scenes) > 1 else ()))]
    rows += [
        _row(NAMES[setting], [durations.show(scene.settings[setting]) for scene in scenes])
        for setting in tuned(scenes[0].settings)
    ]
    if scenes[0].static != scenes[-1].static:
        rows.append(_row("membership", ["static" if scene.static else "dynamic" for scene in scenes]))
    for name, say in _FIGURES:
        cells = [say(figures) for scene in scenes for figures in (scene.played, scene.formula)]
        if any(cell != "-" for cell in cells):
            rows.append((name, *cells))
    blocks.append("\n".join(line.rstrip() for line in table(rows, "")))
    floor = number(scenes[0].formula.floor_per_day)
    length = f"{number(days)} day{'' if days == 1 else 's'}"
    sentence = (
        f"Played for {length} with seed {seed}; stalled partition-seconds are those beside {floor} a day that no "
        f"setting can change. What is rare wants many days, like --days 365."
    )
    blocks.append(wrapped(sentence, ""))
    if len(scenes) > 1:
        blocks.append(wrapped(f"What if: {plan.why}.", ""))
    else:
        blocks.append(wrapped("Nothing else is recommended; try other values with --to session-timeout=20s.", ""))
    return "\n\n".join(blocks) + "\n"


def nothing(case: Case) -> str:
    """Return why nothing can be played."""
    blocks = [] if case.asked is None else [wrapped(f"Unknown: {harmless(_why(case))}.", "", "  ")]
    return "\n\n".join([*blocks, *missing_text(case)]) + "\n"


def document(case: Case, plan: Plan | None, scenes: list[Scene], days: float, seed: int) -> dict[str, Any]:
    """Return the same as plain values."""
    facts = case.stated
    names = ("now", "whatIf")
    return {
        "namespace": facts.namespace,
        "group": facts.group,
        "client": facts.client.name,
        "days": days,
        "seed": seed,
        "message": _why(case) if plan is None and case.asked is not None else "",
        "scenes": {
            name: {
                "settingsMilliseconds": {
                    setting.value: durations.to_ms(time) for setting, time in tuned(scene.settings).items()
                },
                "membership": "static" if scene.static else "dynamic",
                "played": _figures_object(scene.played),
                "formula": _figures_object(scene.formula),
            }
            for name, scene in zip(names, scenes, strict=False)
        },
        "missing": missing_object(case),
    }


def _why(case: Case) -> str:
    return case.asked.message if isinstance(case.asked, Unfitted) else "nothing could be read of the group"


def _optional(value: float | None, unit: str = "") -> str:
    return "-" if value is None else f"{number(value)}{unit}"


_FIGURES: tuple[tuple[str, Callable[[GroupFigures], str]], ...] = (
    ("false evictions a month", lambda group_figures: number(group_figures.evictions_per_month)),
    ("rebalances a day", lambda group_figures: number(group_figures.rebalances_per_day)),
    ("stalled partition-s a day", lambda group_figures: number(group_figures.stalled_per_day)),
    ("detection of a crash", lambda group_figures: _optional(group_figures.detection_s, " s")),
    ("stalled by a rollout, partition-s", lambda group_figures: _optional(group_figures.rollout)),
)


def _row(name: str, values: list[str]) -> tuple[str, ...]:
    return (name, *(cell for value in values for cell in (value, "")))


def _figures_object(group_figures: GroupFigures) -> dict[str, float | None]:
    return {
        "evictionsPerMonth": group_figures.evictions_per_month,
        "rebalancesPerDay": group_figures.rebalances_per_day,
        "stalledPartitionSecondsPerDay": group_figures.stalled_per_day,
        "unavoidablePartitionSecondsPerDay": group_figures.floor_per_day,
        "detectionSeconds": group_figures.detection_s,
        "rolloutPartitionSeconds": group_figures.rollout,
    }


def _tried(facts: StatedFacts, changes: tuple[str, ...]) -> LivenessSettings | None:
    """Return what is set with other values.

    Raises:
        UsageProblem: a change cannot be meant, or the library would not start with these values.
    """
    client, now, given = facts.client, facts.current.settings, {}
    for text in changes:
        setting, value = assignment(client, text, "--to")
        if setting in given:
            raise UsageProblem(f"--to: {flag(setting)} is given twice; give it once")
        given[setting] = time(value, f"--to {flag(setting)}")
    tried = settings_of(client, {**tuned(now), **given}).settings
    for where, settings in (("what is set", now), ("--to", tried)):
        broken = client.violations(settings)
        if broken:
            raise UsageProblem(f"{where}: {broken[0]}; give other values")
    return tried if changes else None


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[float], object] | None]:
    """Show how far a play is, where somebody looks at a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1000, label="playing", file=sys.stderr) as bar:
        yield lambda share: bar.update(round(1000 * share) - bar.pos)
