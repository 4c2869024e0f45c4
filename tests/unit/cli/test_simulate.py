"""What `simulate` plays, what it refuses, and what stands beside it."""

import dataclasses
from pathlib import Path

import pytest

from heartbeat_tuner.cli import simulate
from heartbeat_tuner.cli.group import playing
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.models.group_model import Unfitted
from tests.support import cases, profiles, worlds
from tests.unit.cli.group.test_group_options import GROUP, fresh, run, said, written

DEPLOYS = profiles.calm(crashes=profiles.often(2.0, 20.0, 0.3), surge=True, restarts=profiles.often(0.2, 15.0, 0.3))


def test_a_shorter_session_is_played_beside_what_is_set() -> None:
    """Crashes are noticed sooner, in the play as in the formula."""
    now = playing.scene(DEPLOYS, worlds.java_settings(), days=20, seed=1, rollout=False)
    then = playing.scene(DEPLOYS, worlds.java_settings(session="20s"), days=20, seed=1, rollout=False)
    for item, session_s in ((now, 45.0), (then, 20.0)):
        assert item.formula.detection_s == pytest.approx(session_s - 1.5, abs=0.1)
        assert item.played.detection_s == pytest.approx(item.formula.detection_s, rel=0.1)
        assert item.played.stalled_per_day == pytest.approx(item.formula.stalled_per_day, rel=0.3)
    assert then.played.stalled_per_day < now.played.stalled_per_day
    assert now.played.rollout is None


def test_a_rollout_is_played_alone() -> None:
    """What it costs is none of the crashes' doing."""
    scene = playing.scene(DEPLOYS, worlds.java_settings(), days=1, seed=3, rollout=True)
    calm = dataclasses.replace(DEPLOYS, crashes=profiles.NEVER)
    assert playing.scene(calm, worlds.java_settings(), days=1, seed=3, rollout=True).played.rollout == pytest.approx(
        scene.played.rollout
    )
    assert scene.played.rollout == pytest.approx(scene.formula.rollout, rel=0.35)


def test_what_a_rollout_takes_to_play_is_counted() -> None:
    """Forty days of it, with all slow handlers: a group whose one day is cheap may be too large for that."""
    busy = dataclasses.replace(DEPLOYS, members=300, slow_handlers=profiles.often(1_000.0, 1.0, 0.3))
    with pytest.raises(UsageProblem, match="play a smaller group"):
        playing.scene(busy, worlds.java_settings(), days=0.1, seed=1, rollout=True)


def test_what_is_recommended_is_played_unless_something_is_asked() -> None:
    """Static ids alone leave the values as they are."""
    case = cases.by_model()
    assert case.decision is not None
    plan = simulate.planned(case, None, static=None)
    assert plan is not None
    assert plan.then == (case.decision.target, False)
    static = simulate.planned(case, None, static=True)
    assert static is not None
    assert static.then == (worlds.java_settings(), True)
    asked = simulate.planned(case, worlds.java_settings(session="20s"), static=None)
    assert asked is not None
    assert asked.then == (worlds.java_settings(session="20s"), False)
    assert simulate.planned(cases.by_model(model=Unfitted("none")), None, static=None) is None


def test_a_play_tells_how_far_it_is() -> None:
    """Of both scenes together, from begin to end, never backwards."""
    plan = simulate.planned(cases.by_model(), worlds.java_settings(session="20s"), static=True)
    assert plan is not None
    shares: list[float] = []
    simulate.played(plan, days=1, seed=1, rollout=False, progress=shares.append)
    assert shares == sorted(shares)
    assert (len(shares), shares[-1]) == (200, 1.0)


def test_the_same_seed_gives_the_same_play() -> None:
    """However often it is told on the way."""
    first, second = (playing.scene(DEPLOYS, worlds.java_settings(), days=5, seed=7, rollout=False) for _ in range(2))
    scene = playing.scene(DEPLOYS, worlds.java_settings(), days=5, seed=7, rollout=False, progress=lambda _share: None)
    assert first == second == scene


@pytest.mark.parametrize("members", [10_000, 300])
def test_what_would_take_too_long_is_refused_with_what_would_not(members: int) -> None:
    """A group that is large, and how long it may be played."""
    many = dataclasses.replace(DEPLOYS, members=members, partitions=members, pauses=profiles.often(960.0, 0.2, 0.5))
    with pytest.raises(UsageProblem, match=rf"--days 3650: {members} members .* million are played at most") as caught:
        playing.scene(many, worlds.java_settings(), days=3650, seed=1, rollout=False)
    longest = float(str(caught.value).rpartition("--days ")[2]) if "choose at most" in str(caught.value) else None
    assert longest is None or 0.01 <= longest < 3650


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--to", "session-timeout"), "--to 'session-timeout': write it like session-timeout=20s"),
        (("--to", "sesion-timeout=20s"), "did you mean session-timeout=20s? the Java consumer has fetch-wait"),
        (("--to", "session-timeout=20"), "--to session-timeout: add a unit, like 20ms, 20s or 20m: '20' has none"),
        (("--to", "session-timeout=20s", "--to", "session-timeout=30s"), "session-timeout is given twice"),
        (("--to", "session-timeout=2s"), "--to: the Java consumer refuses to start with a heartbeat interval (3s)"),
        (("--session-timeout", "2s"), "what is set: the Java consumer refuses to start"),
        (("--days", "0"), "'--days': 0.0 is not in the range 0<x<=3650"),
        (("--days", "nan"), "nan is no number"),
        (("--seed", "-1"), "'--seed': -1 is not in the range"),
        (("--members", "10000"), "million are played at most; choose at most --days 0."),
    ],
)
def test_what_cannot_be_played_is_refused(options: tuple[str, ...], words: str, tmp_path: Path) -> None:
    """One sentence, status 2, and nothing is played."""
    result = run("simulate", *GROUP, "--models", str(written(tmp_path, [fresh()])), *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in said(result)


def test_the_document_has_both_scenes_with_their_units() -> None:
    """For programs."""
    case = cases.by_model()
    plan = simulate.planned(case, worlds.java_settings(session="20s"), static=True)
    assert plan is not None
    found = simulate.document(case, plan, simulate.played(plan, days=1, seed=1, rollout=False), 1, 1)
    now, then = found["scenes"]["now"], found["scenes"]["whatIf"]
    assert (now["membership"], then["membership"]) == ("dynamic", "static")
    assert then["settingsMilliseconds"]["sessionTimeout"] == 20_000
    assert set(now["played"]) == set(then["formula"]) >= {"evictionsPerMonth", "detectionSeconds"}
