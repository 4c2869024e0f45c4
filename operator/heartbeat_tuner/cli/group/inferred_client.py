"""Which client library a group runs, where nobody says: by its exporter, as in `doctor`, or by its model."""

import dataclasses
import difflib
from pathlib import Path

from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.cli.group import prometheus_options
from heartbeat_tuner.cli.group.prometheus_options import PrometheusTarget
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.wording import listed, shown
from heartbeat_tuner.doctor import diagnosis
from heartbeat_tuner.doctor.inventory import Inventory
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.models.group_model import Fitted


@dataclasses.dataclass(frozen=True, slots=True)
class ClientChoice:
    """A library, and how it is known if nobody said it.

    Attributes:
        name: of the library; of several that are exported alike, the client that all of them run.
        why: how that is known, as a sentence without its stop; empty if somebody said it.
        inventory: what Prometheus answered, so that it is not asked again; None if none was asked.
    """

    name: str
    why: str = ""
    inventory: Inventory | None = None


def of_metrics(asked: PrometheusTarget, group: str) -> ClientChoice:
    """Return the library that the group's exporter shows.

    Args:
        asked: which Prometheus.
        group: the name of the group.

    Raises:
        UsageProblem: Prometheus could not be asked, shows no such group, or shows it as several libraries; it names
            the fix.
    """
    inventory = prometheus_options.run(asked, lambda source: prometheus_options.inventory(source, asked))
    report = diagnosis.diagnose(inventory, known_conventions.OF_GROUPS).only(group)
    if not report.groups:
        raise UsageProblem(f"--group {shown(group)}: {shown(report.findings[0].message, 300)}")
    conventions = {found_group.convention.title: found_group.convention for found_group in report.groups}
    names = {convention.libraries[0] for convention in conventions.values()}
    if len(names) > 1:
        raise UsageProblem(f"give --client: groups of this name run {listed(sorted(names))}")
    (name,) = names
    others = [library for library in known_conventions.LIBRARIES if library != name]
    alike = [library for library in others if any(library in each.libraries for each in conventions.values())]
    instead = f"; give --client {' or '.join(alike)} if it runs that" if alike else ""
    why = f"--client {name} is inferred: {listed(list(conventions))} exports it{instead}"
    return ClientChoice(name, why, inventory)


def of_models(folder: Path, group: str) -> ClientChoice:
    """Return the library that the group's models are of.

    Args:
        folder: of models.
        group: the name of the group.

    Raises:
        UsageProblem: there is no model of the group, or there are models of several libraries.
    """
    models = [fitted.model for fitted in ModelFiles(folder).read() if isinstance(fitted, Fitted)]
    names = {model.client for model in models if model.group == group}
    if not names:
        near = difflib.get_close_matches(group, {model.group for model in models}, n=1)
        hint = f"; did you mean {shown(near[0])}?" if near else ""
        raise UsageProblem(f"--group {shown(group)}: no model in {folder} is of this group{hint}")
    if len(names) > 1:
        raise UsageProblem(f"give --client: the group's models are of {listed(sorted(names))}")
    (name,) = names
    return ClientChoice(name, f"--client {name} is inferred: the group's model is of it")
