"""Reads examples out of the documentation, so that tests can run them."""

import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
QUICK_START = "docs/how-to/quick-start.md"


def code_blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of a language on a page, given by its path from the checkout."""
    text = (CHECKOUT / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
