"""The version, in the words of those who read it: Python, Helm and krew."""

import re
from typing import Final

_PYTHON: Final = re.compile(r"(\d+\.\d+\.\d+)(?:\.?(dev|a|b|rc)(\d+))?")


def semantic(version: str) -> str:
    """Return a version of Python's kind as Semantic Versioning writes it: `0.2.0.dev1` is `0.2.0-dev.1`.

    Raises:
        ValueError: it has parts that Semantic Versioning cannot say, such as an epoch.
    """
    match = _PYTHON.fullmatch(version)
    if match is None:
        raise ValueError(
            f"version {version!r}: a release is MAJOR.MINOR.PATCH, or that with devN, aN, bN or rcN behind it"
        )
    return match[1] if match[2] is None else f"{match[1]}-{match[2]}.{match[3]}"
