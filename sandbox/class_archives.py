"""Archives of the classes that a Java program loads, kept in the cache and mapped by its later starts.

Half of a start is Java loading and checking classes. An archive keeps them, loaded and checked, in a file (class data
sharing, JEP 350). Java looks itself whether the file is of this Java and of these jars, and does without where it is
not. What runs is the same. A program that is started with `writing` leaves the file when it ends.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sandbox import cache

_FILE: Final = "classes.jsa"

WRITTEN_WITHIN_S: Final = 240.0
"""For so long a program that writes an archive may take to end."""


def writing(folder: Path) -> list[str]:
    """Return the options of a Java that writes an archive into a folder at its end, and nothing else of its own."""
    return [f"-XX:ArchiveClassesAtExit={folder / _FILE}", "-Xlog:disable"]


def make(program: str, home: Path, run: Callable[[Path], None]) -> Path:
    """Return the folder of a program's archive, from the cache or written now.

    Args:
        program: its name.
        home: the folder of its jars.
        run: starts the program with `writing` of the folder that it is given, and ends it.
    """
    return cache.entry(*_entry(program, home), run)


def mapping(program: str, home: Path) -> list[str]:
    """Return the options that make a Java map a program's archive; none where it was not made."""
    archive = cache.path(*_entry(program, home)) / _FILE
    return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []


def _entry(program: str, home: Path) -> tuple[str, str]:
    """Return name and key of the cache's entry: another one for another Java, and for other jars."""
    return f"{program}-classes", cache.key(_java(), str(home), _FILE)


def _java() -> str:
    """Return which Java is on the PATH, and of when; empty where there is none."""
    found = shutil.which("java")
    if found is None:
        return ""
    program = Path(found).resolve()
    return f"{program} {program.stat().st_mtime_ns}"
