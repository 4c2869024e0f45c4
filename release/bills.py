"""Software bills of materials in CycloneDX: what each file of a release is made of, from the locks.

cyclonedx-py reads the Python packages. What Debian adds to an image is read from the package database that the image
carries, since no lock has it.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from packaging.utils import canonicalize_name

from release.integrity import digest
from release.pins import Pin, entries
from release.source import Source

SPECIFICATION: Final = "1.6"
_TIMEOUT_S: Final = 120
_INSTALLED: Final = "install ok installed"


class DebianPackage(NamedTuple):
    """A Debian package of an image."""

    name: str
    version: str
    architecture: str


def locked(source: Source, lock: str, names: Iterable[str] | None = None) -> str:
    """Return a lock's text, or those of its packages that are named.

    Args:
        source: the commit.
        lock: the lock's name, such as `runtime.lock`.
        names: of packages, in any spelling that pip takes; None for all.
    """
    text = (source.folder / "requirements" / lock).read_text()
    if names is None:
        return text
    wanted = {canonicalize_name(name) for name in names}
    return "\n".join(entry for entry in entries(text) if re.split(r"[=\[; ]", entry)[0] in wanted) + "\n"


def installed(status: str) -> list[DebianPackage]:
    """Return what dpkg's database says is installed.

    Args:
        status: the text of `var/lib/dpkg/status`.
    """
    found = []
    for paragraph in status.strip().split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Architecture|Status): (.*)$", paragraph, re.MULTILINE))
        if fields.get("Status") == _INSTALLED:
            found.append(DebianPackage(fields["Package"], fields["Version"], fields["Architecture"]))
    return sorted(found)


def bill(source: Source, requirements: str, debian: Iterable[DebianPackage] = ()) -> str:
    """Return the bill of materials in JSON, valid by CycloneDX's schema.

    Args:
        source: the commit; its pyproject.toml describes what the bill is of.
        requirements: the Python packages, as a lock writes them.
        debian: the Debian packages.

    Raises:
        subprocess.CalledProcessError: cyclonedx-py cannot read the requirements, or its result is not valid.
    """
    done = subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-m", "cyclonedx_py", "requirements", "-"),
            *("--pyproject", str(source.folder / "pyproject.toml"), "--spec-version", SPECIFICATION),
            *("--output-reproducible", "--validate"),
        ],
        input=requirements,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=_TIMEOUT_S,
    )
    document: dict[str, Any] = json.loads(done.stdout)
    for component in document["components"]:
        component.pop("description", None)  # the lines of the lock once more
    document["components"] += [_component(package) for package in debian]
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def of_wheels(core: str, name: str, wheels: Iterable[tuple[Pin, Path]]) -> str:
    """Return the bill of an archive that is the core with wheels.

    Args:
        core: the core's own bill.
        name: of the archive.
        wheels: each package with the wheel that was unpacked.
    """
    document: dict[str, Any] = json.loads(core)
    root = {**document["metadata"]["component"], "name": name}
    document["metadata"]["component"] = root
    document["components"] = [_wheel(pin, path) for pin, path in wheels]
    document["dependencies"] = [
        {"ref": root["bom-ref"], "dependsOn": [component["bom-ref"] for component in document["components"]]}
    ]
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def _wheel(pin: Pin, path: Path) -> dict[str, Any]:
    """Return a wheel as CycloneDX writes it: the one file of many that its version has."""
    address = f"pkg:pypi/{pin.name}@{pin.version}?file_name={quote(path.name)}"
    return {
        "type": "library",
        "bom-ref": address,
        "name": pin.name,
        "version": pin.version,
        "purl": address,
        "hashes": [{"alg": "SHA-256", "content": digest(path)}],
    }


def _component(package: DebianPackage) -> dict[str, str]:
    """Return a Debian package as CycloneDX writes it, named by its package URL."""
    address = f"pkg:deb/debian/{quote(package.name)}@{quote(package.version)}?arch={package.architecture}"
    return {
        "type": "library",
        "bom-ref": address,
        "name": package.name,
        "version": package.version,
        "purl": address,
    }
