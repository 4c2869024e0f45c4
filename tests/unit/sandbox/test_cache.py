"""Cache entries are whole or not there, and made once."""

import threading
import time
from pathlib import Path

import pytest

from sandbox import cache
from sandbox.errors import ChecksumMismatchError

_HELLO_SHA256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep away from the user's cache; its folder need not exist beforehand."""
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path / "cache"))


def _hello(folder: Path) -> None:
    (folder / "hello").write_text("hello")


def test_an_entry_is_made_once() -> None:
    """A second run finds what the first has made."""
    calls: list[Path] = []

    def make(scratch: Path) -> None:
        calls.append(scratch)
        _hello(scratch)

    for _ in range(2):
        folder = cache.entry("thing", "k1", make)
        assert (folder / "hello").read_text() == "hello"
    assert len(calls) == 1


def test_another_key_is_another_entry() -> None:
    """A changed pin must not be answered with the old build."""
    first = cache.entry("thing", cache.key("a"), _hello)
    second = cache.entry("thing", cache.key("b"), _hello)
    assert first != second


def test_a_key_depends_on_the_content_of_files_and_the_cut_of_strings(tmp_path: Path) -> None:
    """The same file name with other content is another thing, and so is "ab", "c" instead of "a", "bc"."""
    pin = tmp_path / "pin"
    pin.write_text("1")
    before = cache.key(pin)
    pin.write_text("2")
    assert cache.key(pin) != before
    assert cache.key("ab", "c") != cache.key("a", "bc")


def test_a_failed_making_leaves_nothing() -> None:
    """A half entry would be taken for a whole one by the next run."""

    def fail(scratch: Path) -> None:
        _hello(scratch)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        cache.entry("thing", "k1", fail)
    assert [path.name for path in cache.root().iterdir()] == [".thing.lock"]
    assert (cache.entry("thing", "k1", _hello) / "hello").exists()


def test_two_runs_at_once_share_the_work() -> None:
    """Two terminals must not build the same thing twice, nor see each other's half."""
    calls: list[Path] = []
    found: list[str] = []

    def slow(scratch: Path) -> None:
        calls.append(scratch)
        time.sleep(0.2)
        _hello(scratch)

    def run() -> None:
        found.append((cache.entry("thing", "k1", slow) / "hello").read_text())

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["hello"] * 3
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"a": "hello"}, None),
        ({"a": "hellO"}, "SHA-256"),
        ({}, "was not downloaded"),
        ({"a": "hello", "b": "more"}, "not pinned"),
    ],
)
def test_downloads_are_held_against_their_pins(tmp_path: Path, files: dict[str, str], problem: str | None) -> None:
    """A changed, missing or additional file is an error that names it."""
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    if problem is None:
        cache.verify_sha256(tmp_path, {"a": _HELLO_SHA256})
        return
    with pytest.raises(ChecksumMismatchError, match=problem):
        cache.verify_sha256(tmp_path, {"a": _HELLO_SHA256})
