"""The chart with its images by digest, and the same as one manifest for `kubectl apply`."""

import gzip
import json
import re
import subprocess
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from release.archives import Entry, tar_gz
from release.source import Source
from release.versions import semantic
from sandbox.binaries import Binaries

NAME: Final = "heartbeat-tuner"
NO_REGISTRY: Final = "no-registry-yet.invalid"
"""A reserved name, which leads nowhere: a release says where its images are."""

KUBERNETES: Final = "1.35.4"
"""What the manifest is rendered for; the chart says from which version on it is taken."""

INSTALLATION: Final[dict[str, Any]] = {
    "prometheus": {"url": "http://prometheus.monitoring:9090"},
    "kafka": {"clusters": {"main": {"bootstrapServers": "kafka.kafka:9092"}}},
}
"""What the manifest says where each cluster has addresses of its own; docs/how-to/install.md says what to replace."""

_TIMEOUT_S: Final = 120


class Image(NamedTuple):
    """An image of the chart: the section of its values that names it, and what its repository is called."""

    section: str
    repository: str


IMAGES: Final = {"operator": Image("image", NAME), "fitting": Image("fitting", f"{NAME}-fitting")}
"""By target of the Dockerfile."""


class Chart:
    """The chart of a commit, with where its images are.

    Args:
        source: the commit; the chart in its folder is changed.
        version: of the release, as Python writes it.
        registry: where the images will be, such as `registry.example/team`; empty leaves `image.repository` to be set.
        digests: of each target of the Dockerfile that was built.
    """

    def __init__(self, source: Source, version: str, registry: str, digests: Mapping[str, str]) -> None:
        self._folder = source.folder / "charts" / NAME
        self._version = version
        self._registry = registry
        self._helm = Binaries().path("helm")
        self._name_images(digests)

    def archive(self, scratch: Path) -> bytes:
        """Return the chart's archive, with the files that `helm package` selects.

        Args:
            scratch: an empty folder.
        """
        versions = (f"--version={semantic(self._version)}", f"--app-version={self._version}")
        self._run("package", str(self._folder), f"--destination={scratch}", *versions)
        (packed,) = scratch.glob("*.tgz")
        with tarfile.open(fileobj=BytesIO(gzip.decompress(packed.read_bytes()))) as tar:
            files = [(member.name, tar.extractfile(member)) for member in tar.getmembers()]
            return tar_gz(Entry(name, stream.read()) for name, stream in files if stream is not None)

    def manifest(self, scratch: Path) -> str:
        """Return what the chart installs with its defaults, in one text of YAML documents.

        Args:
            scratch: an empty folder.
        """
        values = scratch / "values.yaml"
        repository = f"{self._registry or NO_REGISTRY}/{NAME}"
        values.write_text(yaml.safe_dump({**INSTALLATION, "image": {"repository": repository}}))
        options = (f"--namespace={NAME}", f"--kube-version={KUBERNETES}", f"--values={values}")
        namespace = yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}})
        return namespace + self._run("template", NAME, str(self._folder), *options)

    def _name_images(self, digests: Mapping[str, str]) -> None:
        """Write repositories and digests into the default values, and what Artifact Hub lists into Chart.yaml."""
        values = self._folder / "values.yaml"
        text = values.read_text()
        for target, image in IMAGES.items():
            if self._registry:
                text = _filled(text, image.section, "repository", f"{self._registry}/{image.repository}")
            if target in digests:
                text = _filled(text, image.section, "digest", digests[target])
        values.write_text(text.replace(" None is published yet.", "") if self._registry else text)
        if self._registry and digests:
            about = self._folder / "Chart.yaml"
            described = yaml.safe_load(about.read_text())
            described["annotations"]["artifacthub.io/images"] = yaml.safe_dump(
                [
                    {"name": image.repository, "image": f"{self._registry}/{image.repository}@{digests[target]}"}
                    for target, image in IMAGES.items()
                    if target in digests
                ]
            )
            about.write_text(yaml.safe_dump(described, sort_keys=False))

    def _run(self, *words: str) -> str:
        done = subprocess.run([self._helm, *words], stdout=subprocess.PIPE, text=True, check=True, timeout=_TIMEOUT_S)
        return done.stdout


def _filled(values: str, section: str, key: str, value: str) -> str:
    """Return the text of values with the first empty key of a section filled in.

    Raises:
        ValueError: the section has no such key that is empty, so the chart is not what this module knows.
    """
    before, head, after = values.partition(f"\n{section}:\n")
    filled, count = re.subn(rf'(?m)^( +{key}: )""$', rf"\g<1>{json.dumps(value)}", after, count=1)
    if not count:
        raise ValueError(f"values.yaml: `{section}` has no empty `{key}` to fill in")
    return before + head + filled
