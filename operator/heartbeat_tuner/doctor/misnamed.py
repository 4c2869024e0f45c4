"""Series that may be of consumers, but under labels or names that no exporter of these has: what to map them by."""

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

from heartbeat_tuner.doctor import discovery, fixes
from heartbeat_tuner.doctor.fixes import Fix
from heartbeat_tuner.metrics.conventions import custom
from heartbeat_tuner.metrics.raw import queries
from heartbeat_tuner.metrics.raw.samples import Series

_USUAL: Final = {custom.NAMESPACE: queries.NAMESPACE_LABEL, custom.POD: queries.POD_LABEL}

_ALIASES: Final = {
    custom.NAMESPACE: re.compile(r"(kubernetes|k8s|kube|exported|pod)[_.-]namespace([_.-]name)?", re.IGNORECASE),
    custom.POD: re.compile(r"((kubernetes|k8s|kube|exported)[_.-]pod([_.-]name)?|pod[_.-]?name)", re.IGNORECASE),
    custom.GROUP: re.compile(r"((kafka|consumer)[_.-]?)?group([_.-]?id)?", re.IGNORECASE),
    custom.CLIENT: re.compile(r"(kafka[_.-]?)?client([_.-]?id)?", re.IGNORECASE),
}
"""What people call labels that are not called as usual."""


@dataclasses.dataclass(slots=True)
class Puzzles:
    """What could not be tied to a group, by the job that scrapes it.

    Attributes:
        without_place: by the labels that are missing, for each job, the fix.
        without_group: the client ids that name no group, by namespace and job.
        with_other_labels: for each job, a metric and the fix.
    """

    without_place: dict[tuple[str, ...], dict[str, Fix]] = dataclasses.field(default_factory=dict)
    without_group: dict[tuple[str, str], set[str]] = dataclasses.field(default_factory=dict)
    with_other_labels: dict[str, tuple[str, Fix]] = dataclasses.field(default_factory=dict)

    def place(self, labels: Mapping[str, str]) -> None:
        """Note a consumer whose namespace or pod is not told."""
        missing = tuple(label for label in _USUAL.values() if not labels.get(label))
        if missing:
            wanted = [carried for carried, label in _USUAL.items() if label in missing]
            mapped = _labels(labels, wanted)
            fix = _map(labels=mapped) if mapped.keys() == set(wanted) else fixes.NO_PLACE
            self.without_place.setdefault(missing, {})[labels.get(discovery.JOB_LABEL, "")] = fix

    def no_group(self, labels: Mapping[str, str], client: str) -> None:
        """Note a consumer whose group cannot be read."""
        place = labels.get(queries.NAMESPACE_LABEL, ""), labels.get(discovery.JOB_LABEL, "")
        self.without_group.setdefault(place, set()).add(client)

    def unknown_labels(self, labels: Mapping[str, str]) -> None:
        """Note a series with a known name, and labels that are no exporter's."""
        name, job = labels.get(queries.NAME_LABEL, ""), labels.get(discovery.JOB_LABEL, "")
        mapped = _labels(labels, (custom.GROUP, custom.CLIENT))
        fix = _map(labels=mapped) if mapped else Fix("keep the label of the client or the group; no rule may drop it")
        self.with_other_labels.setdefault(job, (name, fix))


def by_place(strangers: Iterable[Series]) -> dict[tuple[str, str], dict[str, Mapping[str, str]]]:
    """Return the labels of an example by name, for each namespace and job."""
    examples: dict[tuple[str, str], dict[str, Mapping[str, str]]] = {}
    for stranger in strangers:
        place = stranger.labels.get(queries.NAMESPACE_LABEL, ""), stranger.labels.get(discovery.JOB_LABEL, "")
        examples.setdefault(place, {})[stranger.labels.get(queries.NAME_LABEL, "")] = stranger.labels
    return examples


def mapping(examples: Mapping[str, Mapping[str, str]]) -> Fix:
    """Return the part of a policy that makes unknown names known: what each is likely to be, by its name's end."""
    guesses = [(name, quantity) for name in sorted(examples) if (quantity := discovery.likely(name)) is not None]
    names: dict[str, str] = {}
    for name, quantity in guesses:
        names.setdefault(quantity.camel, name)
    first = examples[min(examples)]
    return _map(names=names, labels=_labels(first, _ALIASES))


def _labels(labels: Mapping[str, str], carried: Iterable[str]) -> dict[str, str]:
    """Return which label carries what, of those that are not there under the usual name."""
    likeliest = {}
    for meaning in carried:
        if labels.get(_USUAL.get(meaning, "")):
            continue
        likely = sorted(label for label, value in labels.items() if value and _ALIASES[meaning].fullmatch(label))
        if likely:
            likeliest[meaning] = likely[0]
    return likeliest


def _map(*, names: Mapping[str, str] | None = None, labels: Mapping[str, str] | None = None) -> Fix:
    lines = ["spec:", "  metrics:"]
    for section, entries in (("names", names), ("labels", labels)):
        if entries:
            # JSON's strings are YAML's, whatever stands in them.
            lines += [f"    {section}:", *(f"      {key}: {json.dumps(value)}" for key, value in entries.items())]
    return Fix("say in the policy what they are, after a look at whether they are", "yaml", "\n".join(lines) + "\n")
