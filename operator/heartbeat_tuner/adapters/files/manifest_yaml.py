"""YAML that is anybody's: nothing in it may cost more than its size promises, or fail otherwise than by a sentence.

Nested aliases, deep nesting, numbers that take the square of their length to compute. What is text and what is not
follows kubectl, which reads something between YAML 1.1 and 1.2: dates, and numbers to the base 60, are text; y is not.
"""

import dataclasses
import re
from typing import Any, Final

import yaml

from heartbeat_tuner.domain.errors import TunerError

MOST_NODES: Final = 200_000
"""Of one file, aliases counted as what they stand for; about a second of reading, and far beyond a rendered chart."""

DEEPEST: Final = 60
"""Levels of nesting; a pod's env is at level 10."""

_TAGS: Final = "tag:yaml.org,2002:"
_PLAIN_TEXT: Final = f"{_TAGS}str"
_LETTER: Final = re.compile(r"[yYnN]\Z")
_KEPT: Final = {f"{_TAGS}null", f"{_TAGS}bool", f"{_TAGS}merge"}
_WHOLE: Final = re.compile(r"[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)\Z")
_BROKEN: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?\Z")
_NO_DIGITS: Final = re.compile(r"[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")


class ManifestError(TunerError):
    """A file that cannot be read as manifests; the message says where."""


@dataclasses.dataclass(frozen=True, slots=True)
class UnquotedNumber:
    """A number without quotes, as it is written: no manifest's reader asks which it is, only that it is no text."""

    written: str

    def __str__(self) -> str:
        return self.written


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # the C one is 10 times faster
    """Builds what `documents` promises."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the name and the type are PyYAML's
        first: [(tag, pattern) for tag, pattern in known if tag in _KEPT]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    bool_values = {**yaml.SafeLoader.bool_values, "y": True, "n": False}  # noqa: RUF012 - as above


for _pattern in (_WHOLE, _BROKEN, _NO_DIGITS):
    _Loader.add_implicit_resolver(f"{_TAGS}float", _pattern, list("-+.0123456789"))
_Loader.add_implicit_resolver(f"{_TAGS}bool", _LETTER, list("yYnN"))
_Loader.add_constructor(f"{_TAGS}float", lambda _, node: UnquotedNumber(node.value))


def documents(text: str, file: str) -> list[Any]:
    """Return the documents of a text, built of mappings, lists, texts, truth values, None and `UnquotedNumber`s.

    Raises:
        ManifestError: it is no YAML, or would cost more than its size promises; the message names file and line.
    """
    try:
        _refuse_costly(text, file)
        return list(yaml.load_all(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        # Not the error's own text: it may repeat the line, and that may hold a password.
        at = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ManifestError(f"{file}{at} is no YAML: {error.problem}; templates have to be rendered first") from error
    except yaml.YAMLError as error:
        raise ManifestError(f"{file} is no YAML: it holds a character that none may") from error


def _refuse_costly(text: str, file: str) -> None:
    """Walk through the file's events, of which there are no more than it has characters, before anything is built.

    Raises:
        ManifestError: what it stands for is too much, or too deep, or has types of its own.
    """
    nodes = 0
    open_at: list[tuple[str | None, int]] = []
    anchors: dict[str | None, int] = {}
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.DocumentStartEvent):
            anchors = {}
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise ManifestError(f"{_line(file, event)} has an alias (*) for nothing that is complete before it")
            nodes += anchors[event.anchor]
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            nodes += 1
            if event.tag not in {None, "!", _PLAIN_TEXT}:
                raise ManifestError(f"{_line(file, event)} has a tag (!), which manifests do not need")
            if isinstance(event, yaml.ScalarEvent):
                anchors[event.anchor] = 1
            else:
                open_at.append((event.anchor, nodes))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, since = open_at.pop()
            anchors[anchor] = nodes - since + 1
        if nodes > MOST_NODES or len(open_at) > DEEPEST:
            raise ManifestError(
                f"{file} is more than is read: at most {MOST_NODES} values, aliases counted as what they stand for, "
                f"and {DEEPEST} levels"
            )


def _line(file: str, event: yaml.Event) -> str:
    return f"{file}, line {event.start_mark.line + 1}" if event.start_mark else file
