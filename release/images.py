"""The images in one folder of OCI's image layout, and what is in them.

A layout is what `skopeo copy`, `crane push` and `oras` send to a registry; digests stay the same there.
"""

import json
import tarfile
from pathlib import Path
from typing import Any, Final, cast

from release.bills import DebianPackage, installed
from release.chart import IMAGES
from release.source import Source
from sandbox.images import buildah, recipes

LOCKS: Final = {"operator": "runtime.lock", "fitting": "fit.lock"}
"""What each target of the Dockerfile installs."""

_STATUS: Final = "var/lib/dpkg/status"


def make(source: Source, version: str, layout: Path) -> dict[str, str]:
    """Build the images of a commit into a layout; return the digest of each target.

    Raises:
        PrerequisiteMissingError: not run as root, or no Debian system.
        SandboxError: a build failed; the message carries the end of what it said.
    """
    for target, image in IMAGES.items():
        called = f"localhost/release/{image.repository}:{version}"
        recipes.build_release(target, source.folder, called, source.epoch_s)
        buildah.write_layout(called, layout, f"{image.repository}:{version}")
    names = {f"{image.repository}:{version}": target for target, image in IMAGES.items()}
    return {
        names[entry["annotations"]["org.opencontainers.image.ref.name"]]: entry["digest"]
        for entry in _index(layout)["manifests"]
    }


def debian_packages(layout: Path, digest: str) -> list[DebianPackage]:
    """Return the Debian packages that an image says it has.

    Args:
        layout: the folder.
        digest: of the image's manifest.
    """
    manifest = json.loads(_blob(layout, digest).read_text())
    for layer in reversed(manifest["layers"]):
        with tarfile.open(_blob(layout, layer["digest"])) as tar:
            if _STATUS in tar.getnames():
                stream = tar.extractfile(_STATUS)
                return installed(stream.read().decode() if stream else "")
    return []


def _index(layout: Path) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads((layout / "index.json").read_text()))


def _blob(layout: Path, digest: str) -> Path:
    algorithm, _, digits = digest.partition(":")
    return layout / "blobs" / algorithm / digits
