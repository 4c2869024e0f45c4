"""Does the operator last? `python -m tests.soak --hours 24`.

A simulated hour is 60 cycles of whoever leads, at an interval of a second: so much as an hour at the default interval.
All the time policies, pods, Deployments and models change (`tests.soak.churn`), and once an hour something breaks
(`tests.soak.faults`). At the end everything is edited once more, and has to be followed. Where the machine is too busy
for so many cycles in the time that there is, the run ends early and says how far it came.

What is simulated is the number of cycles, changes and faults, not the age of the metrics: the operator reads as far
back as it always does, an hour of which 66 minutes were written before it started.

Writes `build/soak.json`, and exits with status 1 if a bound was broken.
"""

import argparse
import dataclasses
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sandbox import progress
from sandbox.errors import SandboxError
from sandbox.processes import wait_until
from tests.soak import faults, verdict, vitals
from tests.soak.churn import Churn
from tests.soak.vitals import Growth, Vitals
from tests.soak.world import INTERVAL_S, World

CYCLES_OF_HOUR: Final = 60
REPORT: Final = Path(__file__).parents[2] / "build" / "soak.json"

_LOOK_EVERY_S: Final = 5.0
_DEED_EVERY_S: Final = 0.5
_SETTLED_AFTER_H: Final = 0.25
_FIRST_TIMEOUT_S: Final = 300.0
_CONVERGED_TIMEOUT_S: Final = 300.0
_SEED: Final = 24


class Soak:
    """One run.

    Args:
        world: that runs.
        hours: simulated, that are asked for.
        minutes: after so many of real time nothing more is disturbed.
    """

    def __init__(self, world: World, hours: float, minutes: float) -> None:
        self._world = world
        self._asked_h = hours
        self._minutes = minutes
        self._hours = 0.0
        self._churn = Churn(world, seed=_SEED)
        self._looks: list[Vitals] = []
        self._faults: list[str] = []

    def run(self) -> dict[str, Any]:
        """Run it; return the report."""
        self._await(self._is_followed, "the first status of each policy", _FIRST_TIMEOUT_S)
        self._churn.begin()
        self._disturbed()
        self._world.heal()
        converged_s = self._converged()
        growths = self._growths()
        broken = verdict.complaints(growths, hours=self._hours) + self._broken_at_the_end(converged_s)
        self._churn.close()
        return self._report(growths, converged_s, broken)

    def _disturbed(self) -> None:
        """Let everything happen for so many hours."""
        due = faults.schedule(self._asked_h)
        began_s = time.monotonic()
        looked_s = ended_s = 0.0
        while self._hours < self._asked_h and (now_s := time.monotonic() - began_s) < 60 * self._minutes:
            if ended_s and now_s >= ended_s:
                self._world.heal()
                ended_s = 0.0
            if due and self._hours >= due[0].at_h and not ended_s:
                kind = due.pop(0).kind
                self._faults.append(kind.value)
                progress.say("soak", f"hour {self._hours:.1f}: {kind.value}")
                ended_s = now_s + faults.strike(self._world, kind)
            if now_s - looked_s >= _LOOK_EVERY_S:
                looked_s = now_s
                self._look()
            self._churn.step()
            time.sleep(_DEED_EVERY_S)

    def _look(self) -> None:
        """Look at both replicas; what they have done since the start says which hour it is."""
        self._world.tend()
        self._looks += self._world.looks(at_h=self._hours)
        self._hours = _cycles(self._looks) / CYCLES_OF_HOUR

    def _converged(self) -> float | None:
        """Edit all; return how long it took until all was followed and shown, None if it never was."""
        self._churn.edit_all()
        began_s = time.monotonic()
        try:
            self._await(self._is_followed, "a fresh status of each policy", _CONVERGED_TIMEOUT_S)
            self._await(self._shows_what_lives, "metrics of nothing but what lives", _CONVERGED_TIMEOUT_S)
        except SandboxError as error:
            progress.say("soak", str(error))
            return None
        return round(time.monotonic() - began_s, 1)

    def _is_followed(self) -> bool:
        self._world.tend()
        return all(
            item.get("status", {}).get("observedGeneration") == item["metadata"]["generation"]
            for item in self._churn.live().values()
        )

    def _shows_what_lives(self) -> bool:
        leader = self._world.leader()
        return bool(leader) and vitals.left_behind(self._world.page(leader), self._churn.live()) == ([], [])

    def _await(self, condition: Callable[[], bool], what: str, timeout_s: float) -> None:
        wait_until(condition, part="soak", what=what, timeout_s=timeout_s, poll_s=1.0)

    def _growths(self) -> list[Growth]:
        """Return how the process of each replica that lives at the end grew in the second half."""
        growths = []
        for user, replica in self._world.replicas.items():
            own = [look for look in self._looks if look.user == user and look.pid == replica.process.pid]
            lasting = vitals.settled(own, for_h=_SETTLED_AFTER_H)
            second = [look for look in lasting if look.at_h >= self._hours / 2]
            if len(second) >= vitals.LEAST_LOOKS:
                growths.append(vitals.growth(second))
            else:
                progress.say("soak", f"{user}: {len(second)} looks in the second half are too few to be judged")
        return growths

    def _broken_at_the_end(self, converged_s: float | None) -> list[str]:
        broken = []
        if self._hours < self._asked_h:
            broken.append(f"only {self._hours:.1f} of {self._asked_h:g} hours were done in {self._minutes:g} minutes")
        if converged_s is None:
            leader = self._world.leader()
            gone, hidden = vitals.left_behind(self._world.page(leader) if leader else None, self._churn.live())
            broken.append(f"not everything converged; gone and still shown: {gone[:5]}, not shown: {hidden[:5]}")
        for user in self._world.replicas:
            page = self._world.page(user)
            if page is not None and not page.leads and page.policies:
                broken.append(f"{user} follows and shows {len(page.policies)} policies")
        for log in self._world.logs():
            traces = log.read_text(errors="replace").count("Traceback (most recent call last)")
            if traces:
                broken.append(f"{log.stem} logged {traces} tracebacks")
        return broken

    def _report(self, growths: list[Growth], converged_s: float | None, broken: list[str]) -> dict[str, Any]:
        return {
            "ok": not broken,
            "broken": broken,
            "hours": round(self._hours, 2),
            "hours_asked": self._asked_h,
            "interval_s": INTERVAL_S,
            "cycles": _cycles(self._looks),
            "policies": len(self._world.subjects),
            "deeds": {deed.value: count for deed, count in self._churn.done.items()},
            "deeds_failed": self._churn.failed,
            "policies_deleted": len(self._churn.deleted),
            "faults": {name: self._faults.count(name) for name in sorted(set(self._faults))},
            "converged_s": converged_s,
            "second_half": [dataclasses.asdict(growth) for growth in growths],
            "machine": {
                "at": f"{datetime.now(UTC):%Y-%m-%d}",
                "cores": os.cpu_count(),
                "load": round(os.getloadavg()[1], 1),
                "python": platform.python_version(),
            },
            "looks": [_row(look) for look in self._looks],
        }


def _cycles(looks: list[Vitals]) -> int:
    """Return how many cycles the processes had finished when they were last looked at."""
    last = {look.pid: look.page.cycles for look in looks if look.page is not None}
    return sum(last.values())


def _row(look: Vitals) -> list[object]:
    """Return a look as a short list: hour, replica, process, memory, descriptors, threads, part, cycles, series."""
    page = look.page
    shown = [None] * 4 if page is None else [page.leads, page.cycles, page.own_series, page.policy_series]
    return [
        round(look.at_h, 3),
        look.user,
        look.pid,
        round(look.rss_mib, 1),
        look.descriptors,
        look.threads,
        *shown,
    ]


def main() -> None:
    """Run the soak, print what came of it, and write `build/soak.json`."""
    parser = argparse.ArgumentParser(description="Does the operator last?")
    parser.add_argument("--hours", type=float, default=24.0, help="simulated hours, of 60 cycles each")
    parser.add_argument("--minutes", type=float, default=38.0, help="of real time at most, until the changes end")
    parser.add_argument("--policies", type=int, default=500)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as run_dir, World(Path(run_dir), asked.policies) as world:
        report = Soak(world, asked.hours, asked.minutes).run()
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({name: value for name, value in report.items() if name != "looks"}, indent=1))
    if report["broken"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
