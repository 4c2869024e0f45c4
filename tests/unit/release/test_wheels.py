"""An archive has what the lock pins for its platform, whatever machine makes it; what has no wheel is named."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from release import wheels
from release.pins import Pin, distributions, pinned
from release.platforms import PLATFORMS, Platform
from release.unpacking import unpacked
from sandbox import cache
from sandbox.errors import ChecksumMismatchError, SandboxError
from tests.support.documents import CHECKOUT

LINUX = PLATFORMS["linux/arm64"]
MAC = PLATFORMS["darwin/arm64"]

FILES = ("cp311-cp311-manylinux_2_28_aarch64", "cp311-cp311-manylinux_2_28_x86_64", "cp311-cp311-macosx_11_0_arm64")


def wheel(folder: Path, tags: str, *, name: str = "fast", members: dict[str, str] | None = None) -> Path:
    """Write a wheel of version 1.0, with a module that says what it is compiled for."""
    path = folder / f"{name}-1.0-{tags}.whl"
    about = f"{name}-1.0.dist-info"
    files = members or {f"{name}/__init__.py": tags}
    metadata = {
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{about}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tags}\n",
        f"{about}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as packed:
        for place, content in {**files, **metadata}.items():
            packed.writestr(place, content)
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all that pip knows, and a cache that is empty."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path / "cache"))
    return folder


def pin(*files: Path) -> Pin:
    """Return a pin as the lock has it, with a sum of each file."""
    return Pin("fast", "1.0", tuple(hashlib.sha256(file.read_bytes()).hexdigest() for file in files))


def test_each_platform_gets_its_own_wheel_and_keeps_it_without_an_index(index: Path) -> None:
    """A release for ARM must not get what runs on the machine that makes it."""
    pins = [pin(*[wheel(index, tags) for tags in FILES])]
    assert [path.name for path in wheels.get(pins, LINUX)] == [f"fast-1.0-{FILES[0]}.whl"]
    assert [path.name for path in wheels.get(pins, MAC)] == [f"fast-1.0-{FILES[2]}.whl"]
    for file in index.iterdir():
        file.unlink()
    assert [path.name for path in wheels.get(pins, LINUX)] == [f"fast-1.0-{FILES[0]}.whl"]


def test_a_package_without_a_wheel_for_a_platform_is_named(index: Path) -> None:
    """Nothing is left out silently, and nothing is kept of what was tried."""
    pins = [pin(wheel(index, FILES[1]), wheel(index, "cp312-cp312-macosx_11_0_arm64"))]
    with pytest.raises(SandboxError, match=r"fast==1\.0 has no wheel .* for CPython 3\.11 on darwin/arm64 \("):
        wheels.get(pins, MAC)
    assert [path for path in cache.root().iterdir() if path.is_dir()] == []


def test_a_wheel_that_the_lock_does_not_have_is_not_taken(index: Path) -> None:
    """Neither from the index, nor from a cache that somebody changed."""
    first = wheel(index, FILES[0])
    pins = [pin(first)]
    (path,) = wheels.get(pins, LINUX)
    path.write_bytes(path.read_bytes() + b"changed")
    with pytest.raises(ChecksumMismatchError, match=r"no wheel of fast that is in requirements/dev\.lock; delete it"):
        wheels.get(pins, LINUX)
    path.unlink()
    with pytest.raises(ChecksumMismatchError, match="no wheel of fast"):
        wheels.get(pins, LINUX)
    with pytest.raises(SandboxError, match=r"cannot be downloaded, by pip: ERROR: THESE PACKAGES DO NOT MATCH"):
        wheels.get([Pin("fast", "1.0", ("0" * 64,))], LINUX)


def test_without_network_it_says_that_it_is_the_network(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pip itself says that no version of the package was ever made."""
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # where nothing listens
    with pytest.raises(SandboxError, match=r"pip does not reach its index, and .* does not have the wheels for linux/"):
        wheels.get([pin(wheel(index, FILES[1]))], LINUX)


def test_wheels_are_unpacked_as_pip_installs_them(tmp_path: Path) -> None:
    """Modules of `.data` go where the others are; programs, headers and folders go nowhere."""
    members = {
        "fast/__init__.py": "a",
        "fast/empty/": "",
        "plain.data": "b",
        "fast-1.0.data/platlib/fast/core.so": "c",
        "fast-1.0.data/purelib/other.py": "d",
        "fast-1.0.data/scripts/fast": "e",
        "fast-1.0.data/headers/fast.h": "f",
    }
    entries = unpacked([wheel(tmp_path, "py3-none-any", members=members)], "lib")
    modules = {entry.path: entry.content for entry in entries if ".dist-info" not in entry.path}
    assert modules == {
        "lib/fast/__init__.py": b"a",
        "lib/plain.data": b"b",
        "lib/fast/core.so": b"c",
        "lib/other.py": b"d",
    }
    assert {entry.mode for entry in entries} == {0o644}
    assert "lib/fast-1.0.dist-info/METADATA" in {entry.path for entry in entries}


@pytest.mark.parametrize("place", ["../outside.py", "/etc/passwd", "fast/../../outside.py"])
def test_a_wheel_that_leads_out_of_its_folder_is_refused(tmp_path: Path, place: str) -> None:
    """It would overwrite files where the archive is unpacked."""
    with pytest.raises(SandboxError, match=f"{place} leads out of the folder"):
        unpacked([wheel(tmp_path, "py3-none-any", members={place: ""})], "lib")


def test_two_wheels_with_the_same_file_are_refused(tmp_path: Path) -> None:
    """Which of both is packed would depend on their order."""
    both = [wheel(tmp_path, "py3-none-any", name=name, members={"shared.py": name}) for name in ("first", "second")]
    with pytest.raises(SandboxError, match=r"first-1\.0-py3-none-any\.whl and second-1\.0-.* both have shared\.py"):
        unpacked(both, "lib")


def test_the_lock_pins_one_version_of_each_package_for_each_platform() -> None:
    """Markers are compared with the platform and its Python, not with those of this machine."""
    lock = (CHECKOUT / "requirements" / "dev.lock").read_text()
    for platform in PLATFORMS.values():
        names = [pin.name for pin in pinned(lock, platform)]
        assert names == sorted(set(names))
        assert len(names) == len(distributions(platform.markers()))
    with pytest.raises(SandboxError, match=r"no annotated-types, .* for linux/arm64; run `make locks`"):
        pinned("click==8.0 \\\n    --hash=sha256:00\n", LINUX)
    with pytest.raises(SandboxError, match=r"click has two versions for linux/arm64"):
        pinned("click==8.0 \\\n    --hash=sha256:00\nclick==8.1 \\\n    --hash=sha256:11\n", LINUX)


@pytest.mark.parametrize(("platform", "version"), [(LINUX, "2"), (MAC, "1")])
def test_a_marker_of_the_lock_holds_on_the_platform(platform: Platform, version: str) -> None:
    """It is not compared with this machine, as pip would do."""
    lock = (CHECKOUT / "requirements" / "dev.lock").read_text().replace("\nclick==", "\nformer-click==")
    marked = (
        "click==1 ; sys_platform == 'darwin' and platform_machine == 'arm64' \\\n    --hash=sha256:00\n"
        "click==2 ; platform_system == 'Linux' and python_full_version < '3.12' \\\n    --hash=sha256:11\n"
        "click==3 ; python_full_version >= '3.12' \\\n    --hash=sha256:22\n"
    )
    (click,) = [pin for pin in pinned(lock + marked, platform) if pin.name == "click"]
    assert click.version == version
    assert click.line() == f"click=={version} --hash=sha256:{'00' if version == '1' else '11'}"
