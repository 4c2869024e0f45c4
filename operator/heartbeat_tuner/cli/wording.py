"""How the commands write sentences for a terminal."""

import textwrap
from typing import Final

from heartbeat_tuner.clients.client import Client

WIDTH: Final = 100


def sentence(text: str, client: Client) -> str:
    """Return a text about a client as a sentence; a library whose name is written small stays so."""
    small = text.startswith(client.title) and not client.title.startswith(("a ", "the "))
    return f"{text if small else text[0].upper() + text[1:]}{'' if text.endswith('.') else '.'}"


def wrapped(text: str, indent: str, hanging: str | None = None) -> str:
    """Return the text in lines of at most `WIDTH`; `hanging` is the indent of all but the first."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def listed(terms: list[str], last: str = "and") -> str:
    """Return terms as part of a sentence: `a, b and c`."""
    return f" {last} ".join([", ".join(terms[:-1]), terms[-1]]) if len(terms) > 1 else "".join(terms)
