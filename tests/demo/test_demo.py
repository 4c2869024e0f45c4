"""The README's first command does what the README says."""

import json
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(1800)

_CHECKOUT = Path(__file__).parents[2]


def test_the_demo_shows_a_storm_and_its_cure() -> None:
    """`make demo` ends well, and its figures are those of a storm before and of quiet after."""
    subprocess.run(["make", "demo"], cwd=_CHECKOUT, check=True)
    report = json.loads((_CHECKOUT / "build" / "demo.json").read_text())
    assert report["rebalances_per_minute"]["before"] >= 6
    assert report["rebalances_per_minute"]["after"] == 0
    assert report["observed_s"]["after"] >= 60
    assert report["beat_period_s"]["before"] > report["beat_period_s"]["after"]
    assert report["values"]["sessionTimeout"] == {"before": "1s", "after": "30s"}
    assert report["reason"] == "CadenceExceedsSession"
    shown = json.loads((_CHECKOUT / "build" / "demo-report.json").read_text())
    (group,) = shown["groups"]
    (change,) = group["changes"]
    joins = [value for value in group["timelines"][0]["lanes"][0]["values"] if value is not None]
    assert (group["group"], group["verdict"], change["kind"]) == ("orders", "Unproven", "set")
    assert max(joins) > joins[-1] == 0
    assert len(group["timelines"][0]["evictionsSeconds"]) >= 3
    assert (_CHECKOUT / "build" / "demo-report.html").read_text().count("<svg") >= 1
    assert {"boot", "storm", "cure", "quiet", "total"} <= report["seconds"].keys()
