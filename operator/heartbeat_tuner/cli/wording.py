"""How the commands write sentences for a terminal."""

import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Final

from heartbeat_tuner.clients.client import Client

WIDTH: Final = 100
"""Columns, where no terminal has fewer."""

_LEAST_WIDTH: Final = 40

SHOWN: Final = 40
"""Characters of a foreign word that a line shows."""


def sentence(text: str, client: Client) -> str:
    """Return a text about a client as a sentence; small names of libraries, files and keys stay small."""
    is_library = text.startswith(client.title) and not client.title.startswith(("a ", "the "))
    small = is_library or not text.split(maxsplit=1)[0].isalpha()
    return f"{text if small else text[0].upper() + text[1:]}{'' if text.endswith('.') else '.'}"


def wrapped(text: str, indent: str, hanging: str | None = None) -> str:
    """Return the text in lines of at most `width()`; `hanging` is the indent of all but the first."""
    return textwrap.fill(
        text,
        width(),
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def width() -> int:
    """Return how many columns a line may have."""
    if not sys.stdout.isatty():
        return WIDTH
    return max(_LEAST_WIDTH, min(WIDTH, shutil.get_terminal_size().columns))


def listed(terms: list[str], last: str = "and") -> str:
    """Return terms as part of a sentence: `a, b and c`."""
    return f" {last} ".join([", ".join(terms[:-1]), terms[-1]]) if len(terms) > 1 else "".join(terms)


def table(rows: Sequence[tuple[str, ...]], indent: str) -> list[str]:
    """Return rows whose columns stand below each other; the last is wrapped where it must be."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        *most, last = row
        begin = indent + "".join(f"{cell:{width}}  " for cell, width in zip(most, widths, strict=False))
        lines.append(f"{begin}{last}" if len(begin) + len(last) <= width() else wrapped(last, begin, " " * len(begin)))
    return lines


def shown(text: str, limit: int = SHOWN) -> str:
    """Return a foreign word as a terminal may show it: what could steer the terminal is escaped, and it is cut."""
    cut = "".join(_harmless(character) for character in text[: limit + 1])
    return cut if len(cut) <= limit else f"{cut[: limit - 1]}…"


def _harmless(text: str) -> str:
    return text if text.isprintable() else text.encode("unicode_escape", "backslashreplace").decode()
