"""Env files as `docker run --env-file` and the dotenv libraries read them: `NAME=value`, one on a line.

Only the names asked for are looked at: what else stands in the file may be a password, or a text of many lines.
"""

import re
from collections.abc import Collection
from typing import Final

from heartbeat_tuner.domain.errors import TunerError

_ASSIGNMENT: Final = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)(?P<rest>.*)", re.DOTALL)
_COMMENT: Final = re.compile(r"\s#.*")


class EnvFileError(TunerError):
    """A line that should set a variable does not."""


def assignments(text: str, names: Collection[str], *, where: str) -> dict[str, str]:
    """Return the values that the file gives to `names`; of several the last.

    Raises:
        EnvFileError: a line begins with one of the names, but sets nothing.
    """
    assignments = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _ASSIGNMENT.fullmatch(line)
        if match is None or match["name"] not in names:
            continue
        sign, value = match["rest"].strip()[:1], match["rest"].strip()[1:].strip()
        if sign != "=":
            raise EnvFileError(f"{where}, line {number}: {match['name']} has no value; write {match['name']}=30000")
        assignments[match["name"]] = _unquoted(value)
    return assignments


def _unquoted(value: str) -> str:
    if value[:1] in {"'", '"'}:
        end = value.find(value[0], 1)
        if end > 0 and (not value[end + 1 :].strip() or value[end + 1 :].lstrip().startswith("#")):
            return value[1:end]
    return _COMMENT.sub("", value).strip()
