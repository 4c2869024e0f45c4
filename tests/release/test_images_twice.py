"""The images of a release are the same when they are made again, and their bills say what is in them.

Both builds use no layer of an earlier one. The base is built once: the same packages give the same base, which
`mmdebstrap` sees to.
"""

import json
from pathlib import Path

import pytest

from release import bills, images
from release.source import Source, export
from sandbox.images import obstacle

_OBSTACLE = obstacle()

Layouts = tuple[dict[str, dict[str, str]], Path]

pytestmark = [
    pytest.mark.skipif(_OBSTACLE is not None, reason=f"images: {_OBSTACLE}"),
    pytest.mark.timeout(7200),  # Spark is unpacked and compiled twice
]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """The newest commit."""
    return export(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def layouts(source: Source, tmp_path_factory: pytest.TempPathFactory) -> Layouts:
    """Two layouts, each with the digests of its images."""
    folder = tmp_path_factory.mktemp("layouts")
    return {name: images.make(source, "1.0.0", folder / name) for name in ("first", "second")}, folder


@pytest.mark.parametrize("target", ["operator", "fitting"])
def test_an_image_has_the_same_digest_when_it_is_made_again(layouts: Layouts, target: str) -> None:
    """Then whoever makes it can check what a registry has."""
    digests, _ = layouts
    assert digests["first"][target] == digests["second"][target]


@pytest.mark.parametrize(
    ("target", "least", "most", "own"), [("operator", 10, 40, "kopf"), ("fitting", 100, 300, "pyspark")]
)
def test_the_bill_lists_what_the_image_has(
    source: Source, layouts: Layouts, target: str, least: int, most: int, own: str
) -> None:
    """Debian's packages by the image's own database, Python's by the lock."""
    digests, folder = layouts
    layout = folder / "first"
    index = json.loads((layout / "index.json").read_text())
    assert digests["first"][target] in {entry["digest"] for entry in index["manifests"]}
    packages = images.debian_packages(layout, digests["first"][target])
    assert least < len(packages) < most
    bill = json.loads(bills.bill(source, bills.locked(source, images.LOCKS[target]), packages))
    addresses = [component["purl"] for component in bill["components"]]
    assert sum(address.startswith("pkg:deb/debian/") for address in addresses) == len(packages)
    assert any(address.startswith(f"pkg:pypi/{own}@") for address in addresses)
