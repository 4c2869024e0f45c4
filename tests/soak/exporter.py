"""The exporter of a soak, a process of its own: `bench.cycle_exporter` whose pods are replaced while it runs.

Which pods there are stands in a file that the churn replaces, `{"number of the subject": generation}`. Before the start
pods were replaced as often as they are after it: the hour that the operator reads has as many dead ones at all times.
"""

import argparse
import json
import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.cycle_exporter import PODS_OF_POLICY, SUBJECTS_OF_PAGE, Page, Subject, write_history
from bench.exporters import serve_pages

POLICIES_OF_NAMESPACE: Final = 20
"""A team's. For a policy that is new the hour of its namespace is read: in one namespace of all, that of all."""

REPLACED_EVERY_S: Final = 6.0
"""Some pod is replaced so often, before the start as after it: of the deeds of `tests.soak.churn` one in ten."""

_SEED: Final = 24


@dataclass(frozen=True)
class Replaced(Subject):
    """A subject whose oldest pod was replaced so many times by a new one."""

    generation: int = 0

    @property
    def namespace(self) -> str:
        """Where it all lives."""
        return f"soak-{self.number // POLICIES_OF_NAMESPACE:03}"

    @property
    def pods(self) -> list[str]:
        """The names of its pods, the oldest first."""
        return [self.pod(place) for place in range(self.generation, self.generation + PODS_OF_POLICY)]


def everybody(count: int, generations: Mapping[str, int]) -> list[Replaced]:
    """Return as many subjects with the pods that they have now."""
    return [Replaced(number, generations.get(str(number), 0)) for number in range(count)]


def write_generations(path: Path, subjects: Sequence[Replaced]) -> None:
    """Say which pods there are; a reader sees all of it or what was there before."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps({str(subject.number): subject.generation for subject in subjects if subject.generation}))
    new.replace(path)


class Past:
    """What happened before the start: one pod after the other was replaced, each of a subject that is drawn.

    Args:
        count: of the subjects.
        history_s: how long it was.
    """

    def __init__(self, count: int, history_s: float) -> None:
        chance = random.Random(_SEED)  # noqa: S311 - pods, no secrets
        self._ago_s: list[list[float]] = [[] for _ in range(count)]
        for number in range(1, int(history_s / REPLACED_EVERY_S) + 1):
            self._ago_s[chance.randrange(count)].append(number * REPLACED_EVERY_S)

    def generation(self, number: int, ago_s: float = 0.0) -> int:
        """Return how often pods of a subject had been replaced, so many seconds before the start."""
        return sum(1 for replaced_s in self._ago_s[number] if replaced_s >= ago_s)

    def generations(self) -> dict[str, int]:
        """Return the same of all at the start, as the file has it."""
        counted = ((str(number), self.generation(number)) for number in range(len(self._ago_s)))
        return {number: count for number, count in counted if count}


class Pages:
    """Pages by the file; each is made again when a pod of its subjects was replaced."""

    def __init__(self, path: Path, count: int) -> None:
        self._path = path
        self._count = count
        self._lock = threading.Lock()
        self._read_at = 0
        self._made: dict[int, tuple[Sequence[Replaced], Page]] = {}

    def body(self, first: int, at_s: float) -> bytes:
        """Return the page that begins with a subject, at a time."""
        with self._lock:
            changed_at = self._path.stat().st_mtime_ns
            if changed_at != self._read_at:
                self._take(everybody(self._count, json.loads(self._path.read_text())))
                self._read_at = changed_at
            return self._made[first][1].body(at_s)

    def _take(self, subjects: Sequence[Replaced]) -> None:
        for first in range(0, len(subjects), SUBJECTS_OF_PAGE):
            some = subjects[first : first + SUBJECTS_OF_PAGE]
            if first not in self._made or self._made[first][0] != some:
                self._made[first] = (some, Page(some))


def main() -> None:
    """Write the past to a Prometheus, then serve until the process is ended."""
    parser = argparse.ArgumentParser(description="What the consumers of a soak export.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--policies", type=int, required=True)
    parser.add_argument("--pods", type=Path, required=True, help="the file that says which pods there are")
    parser.add_argument("--history-to", type=int, required=True, help="port of a Prometheus that takes remote write")
    parser.add_argument("--history-s", type=float, required=True, help="how far back, in seconds")
    asked = parser.parse_args()
    now_s, past = time.time(), Past(asked.policies, asked.history_s)

    def pods_at(subject: Subject, time_s: float) -> Sequence[str]:
        return Replaced(subject.number, past.generation(subject.number, now_s - time_s)).pods

    write_history(
        asked.history_to,
        everybody(asked.policies, {}),
        since_s=now_s - asked.history_s,
        until_s=now_s,
        pods_at=pods_at,
    )
    pages = Pages(asked.pods, asked.policies)
    firsts = range(0, asked.policies, SUBJECTS_OF_PAGE)
    serve_pages(asked.port, [lambda at_s, first=first: pages.body(first, at_s) for first in firsts])  # type: ignore[misc]


if __name__ == "__main__":
    main()
