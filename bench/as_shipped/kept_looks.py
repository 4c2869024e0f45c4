"""What the operator knew of each group at the end of a judged day, on disk: decisions can be made again in seconds.

A run keeps them in `build/bench/looks`, a file for each fleet and day. `python -m bench.promises` reads them. What a
changed decision would have written earlier is not in them: they show words and targets, not what becomes of the values.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from bench.as_shipped.judgement import Standing
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.models.failure_profile import Profile

FOLDER: Final = Path(__file__).parents[2] / "build" / "bench" / "looks"


@dataclasses.dataclass(frozen=True)
class KeptLook:
    """One group at the end of a day.

    Attributes:
        inputs: of the last decision.
        truth: what happens to the group from that day on.
        standing: what was said then, and what the truth says of the values in force.
    """

    inputs: DecisionInput
    truth: Profile
    standing: Standing


def keep(name: str, day: int, looks: Sequence[KeptLook]) -> None:
    """Write the looks of a fleet at the end of a day.

    Args:
        name: of the fleet and its seed.
        day: how many days are over.
        looks: one of each group.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    objects = np.empty(len(looks), dtype=object)
    objects[:] = looks
    np.save(FOLDER / f"{name}-{day:02}d.npy", objects, allow_pickle=True)


def read(name: str) -> dict[int, list[KeptLook]]:
    """Return the looks of a fleet by how many days were over.

    Args:
        name: of the fleet and its seed.
    """
    paths = sorted(FOLDER.glob(f"{name}-??d.npy"))
    return {int(path.stem[-3:-1]): np.load(path, allow_pickle=True).tolist() for path in paths}
