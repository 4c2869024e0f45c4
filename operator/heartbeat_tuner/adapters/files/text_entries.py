"""Keys and values of texts that have a pair on each line: env files, properties files, Dockerfiles; and of arguments.

Only keys are looked at here; which of them matter says `lint`. A value that spreads over lines is skipped as a whole.
"""

import itertools
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Final

from heartbeat_tuner.lint.found_settings import FileEntry

_ASSIGNMENT: Final = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)\s*(?P<sign>=|:)?(?P<rest>.*)")
_COMMENT: Final = re.compile(r"\s#.*")
_PROPERTY: Final = re.compile(r"\s*(?P<key>[^\s=:#!;\[][^\s=:]*)\s*[=: ]\s*(?P<value>.*?)\s*")
_ENV: Final = re.compile(r"\s*(?:ENV|ARG)\s+(?P<rest>.+)", re.IGNORECASE)
_SYSTEM: Final = re.compile(r"-D(?P<key>[A-Za-z][A-Za-z0-9_.\-\[\]]*)=(?P<value>.*)", re.DOTALL)
_OPTION: Final = re.compile(r"--?(?P<key>[A-Za-z][A-Za-z0-9_.\-]*)(?:=(?P<value>.*))?", re.DOTALL)

JAVA_OPTIONS: Final = re.compile(r"(JAVA|JDK|JVM|KAFKA|CATALINA|SPRING)_?[A-Z_]*(OPTS|OPTIONS|ARGS)")
"""Variables that hold arguments of a Java machine."""


def env_entries(text: str) -> Iterator[FileEntry]:
    """Yield the assignments of an env file as `docker run --env-file` and the dotenv libraries read it."""
    quoted = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if quoted:
            quoted = "" if quoted in line else quoted
            continue
        match = _ASSIGNMENT.fullmatch(line)
        if match is None or line.lstrip().startswith("#"):
            continue
        if match["sign"] != "=":
            # A name alone is handed on from the shell; a colon is a slip of the pen, and sets nothing.
            yield FileEntry(match["name"], "" if match["sign"] else None, number)
            continue
        value = match["rest"].strip()
        mark = value[:1]
        if mark in {"'", '"'} and mark not in value[1:]:
            quoted = mark
            continue
        yield FileEntry(match["name"], _unquoted(value), number)


def property_entries(text: str) -> Iterator[FileEntry]:
    """Yield the pairs of a properties file, or of an INI file, whose sections are left out."""
    lines = enumerate(text.splitlines(), start=1)
    for number, line in lines:
        whole = line
        while whole.endswith("\\") and not whole.endswith("\\\\"):
            _, following = next(lines, (0, ""))
            whole = whole[:-1] + following.lstrip()
        match = _PROPERTY.fullmatch(whole)
        if match is not None:
            yield FileEntry(match["key"].replace("\\", ""), match["value"].strip("\"'"), number)


def dockerfile_entries(text: str) -> Iterator[FileEntry]:
    """Yield what a Dockerfile puts into the environment."""
    for number, line in enumerate(text.splitlines(), start=1):
        match = _ENV.fullmatch(line.rstrip("\\ "))
        rest = match["rest"] if match else line.strip().rstrip("\\ ")
        words = _split(rest)
        if match is not None and len(words) > 1 and "=" not in words[0]:
            yield FileEntry(words[0], " ".join(words[1:]), number)
        else:
            pairs = [word.partition("=") for word in words if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*=.*", word)]
            yield from (FileEntry(name, value, number) for name, _, value in pairs)


def argument_entries(arguments: Iterable[str], line: int = 0) -> Iterator[FileEntry]:
    """Yield what arguments of a program set: `-Dkey=value`, `--key=value`, `--key value`."""
    words = [word for argument in arguments for word in (_split(argument) if " " in argument else [argument])]
    for word, following in itertools.zip_longest(words, words[1:], fillvalue=""):
        if match := _SYSTEM.fullmatch(word):
            yield FileEntry(match["key"], match["value"], line)
        elif match := _OPTION.fullmatch(word):
            value = match["value"]
            if value is not None:
                yield FileEntry(match["key"], value, line)
            elif following and not following.startswith("-"):
                yield FileEntry(match["key"], following, line)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _unquoted(value: str) -> str:
    if value[:1] in {"'", '"'}:
        end = value.find(value[0], 1)
        if end > 0 and (not value[end + 1 :].strip() or value[end + 1 :].lstrip().startswith("#")):
            return value[1:end]
    if value.startswith(("'{", '"{')):
        return value[1:-1]
    return _COMMENT.sub("", value).strip()
