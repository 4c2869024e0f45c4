"""Make the sample model that ships with the command line, so that people can try it without a Prometheus.

The group is one of the synthetic fleet of `bench.fleets`. What metrics would have shown of 20 of its groups in 14 days
is drawn and fitted, as a fit would; the model of one of them is written. `python -m bench.sample_model` makes it again.
"""

import dataclasses
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np

from bench import fleets, observed
from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.cli.group.sample_group import FOLDER, SAMPLE
from heartbeat_tuner.fitting.models import model_estimate
from heartbeat_tuner.models.group_model import GroupModel

FLEET: Final = "fleet"
GROUPS: Final = 20
CHOSEN: Final = "fleet-0010"
"""A group of the Java consumer with clean pauses: 5 members, 5 partitions, eager rebalances."""

_SEED: Final = 25


def model() -> GroupModel:
    """Return the model: of group `orders` in namespace `shop`, of no cluster."""
    groups = fleets.fleet(FLEET, GROUPS)
    seen = [
        observed.seen(group, observed.settings_of(group.truth), "14d", np.random.default_rng([_SEED, place]))
        for place, group in enumerate(groups)
    ]
    rows = observed.table(zip(groups, seen, strict=True))
    fitted_at = datetime.combine(observed.LAST_DAY, datetime.min.time(), UTC) + timedelta(hours=26)
    made = model_estimate.models(rows, on=observed.LAST_DAY, fitted_at=fitted_at, job="sample")
    (chosen,) = (each for each in made if each.group == CHOSEN)
    return dataclasses.replace(chosen, namespace="shop", group="orders", cluster="")


def main() -> None:
    """Write the file where the package has it."""
    with tempfile.TemporaryDirectory() as folder:  # a fit leaves its lock beside what it writes
        ModelFiles(Path(folder)).write([model()])
        shutil.copy(Path(folder) / SAMPLE.relative_to(FOLDER), SAMPLE)
    print(SAMPLE)


if __name__ == "__main__":
    main()
