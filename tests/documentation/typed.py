"""Every command on a page can be typed: it is parsed here by what will read it, without a cluster.

Our own commands are parsed by their own click parsers; `make` and `python -m` by what there is to run. Of kubectl and
helm, verb and flags are compared with those that their pages may use, kinds and fields of ours with the definitions,
and values of the chart with its schema. Programs of others are listed, so that a misspelt one is noticed.

A block marked `shell` or `console` promises more: a test types it. So a test has to name its page.
"""

import functools
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from heartbeat_tuner.api import crd
from heartbeat_tuner.cli import cli
from heartbeat_tuner.cli.kubectl.plugin import plugin
from tests.documentation.findings import Finding
from tests.documentation.markdown import Page
from tests.documentation.shell_lines import LANGUAGES, Command, commands

OTHERS: Final = {
    *(
        "cd",
        "cosign",
        "docker",
        "done",
        "export",
        "for",
        "git",
        "kind",
        "minikube",
        "openssl",
        "pip",
        "sed",
        "sha256sum",
    ),
    *("kafka-acls", "kafka-client-metrics.sh", "kafka-configs", "kafka-consumer-groups.sh", "kustomize"),
}
"""Programs that are not ours, and words of the shell: only that they are called so is known."""

TYPED: Final = {"shell", "console"}

KUBECTL: Final = {
    *(
        "annotate",
        "apply",
        "auth",
        "create",
        "delete",
        "describe",
        "get",
        "krew",
        "kustomize",
        "label",
        "logs",
        "patch",
    ),
    *("rollout", "scale", "set", "wait"),
}
KUBECTL_FLAGS: Final = {
    *("--all-namespaces", "--clusterrole", "--dry-run", "--field-manager", "--field-selector", "--filename", "--for"),
    *(
        "--force-conflicts",
        "--from",
        "--from-file",
        "--from-literal",
        "--label-columns",
        "--manifest",
        "--archive",
        "--namespace",
        "--output",
        "--overwrite",
    ),
    *("--patch", "--role", "--selector", "--server-side", "--serviceaccount", "--show-managed-fields", "--timeout"),
    *("--type", "--wait", "--watch", "-A", "-f", "-n", "-o", "-l", "-w"),
}
HELM: Final = {"install", "rollback", "template", "uninstall", "upgrade"}
HELM_FLAGS: Final = {
    *(
        "--create-namespace",
        "--install",
        "--namespace",
        "--reuse-values",
        "--set",
        "--set-file",
        "--set-string",
        "--show-only",
    ),
    *("--timeout", "--values", "--wait"),
}

_STATUS: Final = re.compile(r"\.status\.(\w+)")
_TARGET: Final = re.compile(r"^([a-z0-9 -]+):(?!=)", re.MULTILINE)
_OURS: Final = re.compile(r"(?:^|[\s,])(consumergroup\w*|cg\w)\b")


class UnknownCommandError(Exception):
    """A command cannot be typed as it is written; the message says why, and what to do."""


def check(page: Page, checkout: Path) -> Iterator[Finding]:
    """Yield the commands of a page that cannot be typed, and a promise that no test keeps."""
    blocks = [block for block in page.code_blocks() if block.language in LANGUAGES]
    for block in blocks:
        for command in commands(block):
            try:
                parse(command, checkout)
            except UnknownCommandError as error:
                yield Finding(page.path, command.line, f"{' '.join(command.words)[:70]}: {error}")
    promised = [block.line for block in blocks if block.language in TYPED]
    if promised and page.path not in _read_by_tests(checkout):
        yield Finding(
            page.path, promised[0], "no test names this page: have one type its `shell` blocks, or mark them `sh`"
        )


def parse(command: Command, checkout: Path) -> None:
    """Parse a command as the program does that it calls.

    Raises:
        UnknownCommandError: it cannot be typed so.
    """
    program, *words = command.words
    parser = _PARSERS.get(program)
    if parser is not None:
        parser(words, checkout)
    elif program not in OTHERS:
        raise UnknownCommandError(f"{program} is no program that pages use: correct it, or add it to OTHERS")


def _own(words: Sequence[str], _checkout: Path) -> None:
    _in_group(cli, words)


def _in_group(group: click.Group, words: Sequence[str]) -> None:
    """Parse a command as one of ours does; that of a group alone asks for help."""
    name, *arguments = words
    around = click.Context(group)
    command = group if name == "--help" else group.get_command(around, name)
    if command is None:
        raise UnknownCommandError(f"there is no command {name}: choose one of {', '.join(group.list_commands(around))}")
    context = click.Context(command, info_name=name)
    try:
        given, _, order = command.make_parser(context).parse_args(list(arguments))
        for parameter in dict.fromkeys(order):
            if not isinstance(parameter.type, click.Path):  # files are on the reader's machine
                value, _source = parameter.consume_value(context, given)
                parameter.process_value(context, value)
        for parameter in command.params:
            name = parameter.name or ""
            if parameter.required and given.get(name) is None and context.lookup_default(name) is None:
                raise click.MissingParameter(ctx=context, param=parameter)
    except click.UsageError as error:
        raise UnknownCommandError(error.format_message()) from None


def _make(words: Sequence[str], checkout: Path) -> None:
    text = (checkout / "Makefile").read_text()
    targets = {name for names in _TARGET.findall(text) for name in names.split()}
    for word in words:
        name, equals, _ = word.partition("=")
        if equals and f"$({name})" not in text and f"$(if $({name})" not in text and f"$(or $({name})" not in text:
            raise UnknownCommandError(f"the Makefile reads no variable {name}: take it out")
        if not equals and word not in targets:
            raise UnknownCommandError(f"the Makefile has no target {word}: correct it")


def _python(words: Sequence[str], checkout: Path) -> None:
    if words[:1] != ["-m"] and not (checkout / words[0]).is_file():
        raise UnknownCommandError(f"there is no file {words[0]}: correct the path")
    if words[:1] == ["-m"]:
        path = checkout / words[1].replace(".", "/")
        if not (path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()):
            raise UnknownCommandError(f"there is no module {words[1]}: correct its name")


def _kubectl(words: Sequence[str], checkout: Path) -> None:
    if words[:1] == ["heartbeat-tuner"]:
        _in_group(plugin, words[1:])
        return
    _known(words, KUBECTL, KUBECTL_FLAGS)
    for file in _values(words, "--filename", "-f"):
        if "/" in file and not (checkout / file).exists():
            raise UnknownCommandError(f"there is no file {file}: correct the path")
    rest = " ".join(words)
    kinds = {crd.POLICY.plural, crd.POLICY.short, crd.MODEL.plural, crd.MODEL.short}
    for kind in _OURS.findall(rest):
        if kind not in kinds:
            raise UnknownCommandError(f"there is no kind {kind}: choose one of {', '.join(sorted(kinds))}")
    if _OURS.search(rest):
        fields = _status_fields()
        for field in _STATUS.findall(rest):
            if field not in fields:
                raise UnknownCommandError(f"no status has the field {field}: choose one of {', '.join(fields)}")


def _helm(words: Sequence[str], checkout: Path) -> None:
    _known(words, HELM, HELM_FLAGS)
    for word in words:
        if word.startswith("charts/") and not (checkout / word / "Chart.yaml").is_file():
            raise UnknownCommandError(f"there is no chart {word}: correct the path")
    schema = json.loads((checkout / "charts" / "heartbeat-tuner" / "values.schema.json").read_text())
    for setting in _values(words, "--set", "--set-string", "--set-file"):
        _schema_has(schema, setting.partition("=")[0])


def _schema_has(schema: Mapping[str, Any], path: str) -> None:
    place: Mapping[str, Any] = schema
    for name in path.split("."):
        if "$ref" in place:
            place = schema["$defs"][place["$ref"].removeprefix("#/$defs/")]
        known = place.get("properties", {})
        further = place.get("additionalProperties", "properties" not in place)
        if name not in known and further is False:
            raise UnknownCommandError(f"the chart has no value {path}: choose one of {', '.join(sorted(known))}")
        place = known.get(name) or (further if isinstance(further, Mapping) else {})


def _known(words: Sequence[str], verbs: set[str], flags: set[str]) -> None:
    verb = _after_namespace(words)[:1]
    if not verb or verb[0] not in verbs:
        raise UnknownCommandError(f"{' '.join(verb)} is no verb that pages use: choose of {', '.join(sorted(verbs))}")
    for word in words:
        flag = word.partition("=")[0]
        if flag.startswith("-") and len(flag) > 1 and flag not in flags:
            raise UnknownCommandError(f"{flag} is no flag that pages use: correct it, or add it to the list")


def _after_namespace(words: Sequence[str]) -> Sequence[str]:
    """Return the words without a namespace before the verb, which kubectl takes there, too."""
    return words[2:] if words[:1] and words[0] in {"-n", "--namespace"} else words


def _values(words: Sequence[str], *flags: str) -> list[str]:
    """Return what these flags are given, behind `=` or as the next word."""
    given = [word.partition("=")[2] for word in words if "=" in word and word.partition("=")[0] in flags]
    return given + [after for word, after in itertools.pairwise(words) if word in flags]


@functools.lru_cache(maxsize=1)
def _status_fields() -> tuple[str, ...]:
    schema = crd.manifest(crd.POLICY)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return tuple(sorted(schema["properties"]["status"]["properties"]))


@functools.lru_cache(maxsize=1)
def _read_by_tests(checkout: Path) -> str:
    """Return the source of all tests in which the path of a page may stand."""
    tests = [path for path in (checkout / "tests").rglob("*.py") if "documentation" not in path.parts]
    return "\n".join(path.read_text() for path in tests)


_PARSERS: Final[Mapping[str, Callable[[Sequence[str], Path], None]]] = {
    "heartbeat-tuner": _own,
    "helm": _helm,
    "kubectl": _kubectl,
    "make": _make,
    "python": _python,
}
