"""The text of a file that somebody names: never more than a file of settings has, and only of regular files.

A file may name others (`env_file: /dev/zero`), so each is read through here.
"""

from pathlib import Path
from typing import Final

LARGEST_FILE: Final = 4 * 1024 * 1024
"""Bytes; a chart rendered with all its definitions is smaller."""


def decoded(content: bytes, name: str) -> str | None:
    """Return the text of a file's content; None where it is no text.

    Args:
        content: the bytes.
        name: of the file. Java reads `.properties` as ISO 8859-1, so these need not be UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        is_latin = name.lower().endswith(".properties") and b"\0" not in content
        return content.decode("iso-8859-1") if is_latin else None


def beside(path: Path) -> str | None:
    """Return the text of a file that another one names; None where it cannot be read, or is no file of settings."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError):
        return None
    return None if len(content) > LARGEST_FILE else decoded(content, path.name)
