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

pytestmark = [
    pytest.mark.skipif(_OBSTACLE is not None, reason=f"images: {_OBSTACLE}"),
    pytest.mark.timeout(7200),  # Spark is unpacked and compiled twice
]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """The newest commit."""
    return export(tmp_path_factory.mktemp("source"))


def test_images_have_the_same_digests_when_they_are_made_again(source: Source, tmp_path: Path) -> None:
    """Then whoever makes them can check what a registry has."""
    first, second = (images.make(source, "1.0.0", tmp_path / name) for name in ("first", "second"))
    assert first == second
    assert set(first) == {"operator", "fitting"}
    index = json.loads((tmp_path / "first" / "index.json").read_text())
    assert {entry["digest"] for entry in index["manifests"]} == set(first.values())
    for target, least, most, own in (("operator", 10, 40, "kopf"), ("fitting", 100, 300, "pyspark")):
        packages = images.debian_packages(tmp_path / "first", first[target])
        assert least < len(packages) < most, target
        bill = json.loads(bills.bill(source, bills.locked(source, images.LOCKS[target]), packages))
        addresses = [component["purl"] for component in bill["components"]]
        assert sum(address.startswith("pkg:deb/debian/") for address in addresses) == len(packages)
        assert any(address.startswith(f"pkg:pypi/{own}@") for address in addresses)
