"""What Helm makes of the chart, as objects."""

import dataclasses
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

from tests.support import yaml_texts
from tests.support.documents import CHECKOUT

CHART: Final = CHECKOUT / "charts" / "heartbeat-tuner"
VARIANTS: Final = {path.name.removesuffix("-values.yaml"): path for path in sorted((CHART / "ci").glob("*.yaml"))}
"""The shapes that are supported, each with the least or the most that can be said."""

KUBERNETES: Final = "1.35.4"
NAME: Final = "heartbeat-tuner"
"""Of release and namespace: then objects have the names of the documented manifests."""

MONITORING: Final = ("ServiceMonitor", "PrometheusRule")
"""Kinds of the Prometheus Operator."""

WITHOUT_MONITORING: Final = {"monitoring": {"serviceMonitor": {"enabled": False}, "prometheusRule": {"enabled": False}}}
"""For the sandbox's API server, which has not their definitions; test_monitoring.py judges the two without it."""

_TIMEOUT_S: Final = 60.0
_GARBAGE: Final = "off"
"""A Helm that renders ends before collecting pays: it takes 0.11 s of a core instead of 0.14 s."""

Values: TypeAlias = Mapping[str, Any]


class RefusedError(Exception):
    """Helm rendered nothing; says what Helm said."""


@dataclasses.dataclass(frozen=True)
class Rendered:
    """The objects of a release."""

    objects: Sequence[Mapping[str, Any]]

    def kinds(self) -> set[str]:
        """Return the kinds that there are."""
        return {item["kind"] for item in self.objects}

    def names(self, kind: str) -> list[str]:
        """Return the names of all objects of a kind."""
        return [item["metadata"]["name"] for item in self.objects if item["kind"] == kind]

    def one(self, kind: str, name: str = NAME) -> Any:
        """Return the one object of that kind and name."""
        (found,) = [item for item in self.objects if item["kind"] == kind and item["metadata"]["name"] == name]
        return found

    def pod(self, kind: str, name: str = NAME) -> Any:
        """Return the pod template of a Deployment or CronJob."""
        spec = self.one(kind, name)["spec"]
        return (spec["jobTemplate"]["spec"] if kind == "CronJob" else spec)["template"]

    def files(self, kind: str, name: str = NAME) -> dict[str, tuple[str, str, str]]:
        """Return the projected files of a pod: path in the volume -> kind, name and key of its source.

        Of a token of the pod's account the audience is its source's name.
        """
        (volume,) = [volume for volume in self.pod(kind, name)["spec"]["volumes"] if volume["name"] == "secrets"] or [
            None
        ]
        found: dict[str, tuple[str, str, str]] = {}
        for source in volume["projected"]["sources"] if volume else ():
            ((source_kind, what),) = source.items()
            if source_kind == "serviceAccountToken":
                found[what["path"]] = (source_kind, what["audience"], "")
                continue
            found |= {item["path"]: (source_kind, what["name"], item["key"]) for item in what["items"]}
        return found


class Helm:
    """Runs Helm on the chart.

    Args:
        program: where it is.
        folder: gets files with values.
    """

    def __init__(self, program: Path, folder: Path) -> None:
        self._program = program
        self._folder = folder

    def run(self, *words: str, values: Sequence[Path | Values] = ()) -> str:
        """Return what Helm prints.

        Args:
            words: of the command.
            values: files, or values themselves, the last before the first.

        Raises:
            RefusedError: Helm failed.
        """
        given = []
        for number, value in enumerate(values):
            path = value if isinstance(value, Path) else self._folder / f"values-{number}.yaml"
            if not isinstance(value, Path):
                path.write_text(yaml.safe_dump(value))
            given.append(f"--values={path}")
        done = subprocess.run(
            [str(self._program), *words, *given],
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
            env={**os.environ, "GOGC": _GARBAGE} if words[0] == "template" else None,
        )
        if done.returncode != 0:
            raise RefusedError(done.stdout + done.stderr)
        return done.stdout

    def render(self, *values: Path | Values, release: str = NAME, namespace: str = NAME) -> Rendered:
        """Return what a release would be made of.

        Raises:
            RefusedError: Helm refused the values.
        """
        words = ("template", release, str(CHART), f"--namespace={namespace}", f"--kube-version={KUBERNETES}")
        documents = yaml_texts.documents(self.run(*words, values=values))
        return Rendered([document for document in documents if document is not None])
