"""What users read outside pages: `--help`, descriptions of definitions, the chart's comments and notes, messages."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

from heartbeat_tuner.api import crd
from heartbeat_tuner.cli import cli
from heartbeat_tuner.cli.kubectl.plugin import plugin
from tests.architecture import prose, source

_TEMPLATE: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)


@dataclasses.dataclass(frozen=True, slots=True)
class ShownText:
    """A text that a user reads.

    Attributes:
        path: of the file, or of the command or field whose text it is.
        line: where it begins; 0 where it has no file of its own.
        text: the text.
    """

    path: str
    line: int
    text: str


def texts(checkout: Path) -> Iterator[ShownText]:
    """Yield all of them."""
    yield from helps()
    for kind in crd.KINDS:
        yield from descriptions(kind.name, crd.manifest(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    yield from chart(checkout)
    yield from messages(checkout)


def helps() -> Iterator[ShownText]:
    """Yield the help of each command and of each of its options."""
    for group in (cli, plugin):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield ShownText(f"{name} --help", 0, command.help or "")
            for parameter in command.params:
                if isinstance(parameter, click.Option):
                    yield ShownText(f"{name} --help, {parameter.opts[0]}", 0, parameter.help or "")


def descriptions(path: str, schema: Mapping[str, Any]) -> Iterator[ShownText]:
    """Yield what `kubectl explain` says of a field and those below it, and what its rules answer."""
    yield ShownText(path, 0, schema.get("description", ""))
    for rule in schema.get("x-kubernetes-validations", ()):
        yield ShownText(f"{path}, rule", 0, rule.get("message") or rule["messageExpression"])
    for name, child in schema.get("properties", {}).items():
        yield from descriptions(f"{path}.{name}", child)
    if "items" in schema:
        yield from descriptions(f"{path}[]", schema["items"])


def chart(checkout: Path) -> Iterator[ShownText]:
    """Yield the comments of the chart's values, and its notes."""
    folder = checkout / "charts" / "heartbeat-tuner"
    comments = [
        line.strip().lstrip("# -") if line.lstrip().startswith("#") else ""
        for line in (folder / "values.yaml").read_text().splitlines()
    ]
    yield ShownText("charts/heartbeat-tuner/values.yaml", 1, "\n".join(comments))
    notes = _TEMPLATE.sub(lambda match: "\n" * match[0].count("\n"), (folder / "templates" / "NOTES.txt").read_text())
    yield ShownText("charts/heartbeat-tuner/templates/NOTES.txt", 1, notes)


def messages(checkout: Path) -> Iterator[ShownText]:
    """Yield the literals of the product that are sentences."""
    for module in source.product(checkout):
        for where, line, text in prose.passages(module):
            if where == "message":
                yield ShownText(module.path, line, text)
