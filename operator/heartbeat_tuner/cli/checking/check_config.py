"""The configuration of `check` in a file: `.heartbeat-tuner.toml`, or `[tool.heartbeat-tuner]` of `pyproject.toml`.

Its keys are the command's options without dashes in front; the command line wins. `clients` says which library reads
which files, by patterns of their paths.
"""

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from heartbeat_tuner.cli.problems import UsageProblem

OWN: Final = ".heartbeat-tuner.toml"
SHARED: Final = "pyproject.toml"
_CLIENTS: Final = "clients"


def configure(context: click.Context, _: click.Parameter, value: Path | None) -> Path | None:
    """Take the options of a configuration file as defaults of the command line; click calls this first of all.

    Raises:
        UsageProblem: the file cannot be read, or has a key that is no option.
    """
    path = value if value is not None else nearest(Path.cwd())
    if path is None:
        return None
    options = _options(path)
    known = {
        name.removeprefix("--"): parameter
        for parameter in context.command.params
        for name in parameter.opts
        if name.startswith("--") and name != "--config"
    }
    defaults: dict[str, Any] = {}
    for key, setting in options.items():
        if key == _CLIENTS:
            continue
        parameter = known.get(key)
        if parameter is None or parameter.name is None:
            near = difflib.get_close_matches(key, [*known, _CLIENTS], n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UsageProblem(f"{path}: {key} is no option of check{hint}")
        defaults[parameter.name] = setting
    context.default_map = {**(context.default_map or {}), **defaults}
    context.obj = _clients(path, options.get(_CLIENTS, {}))
    return path


def nearest(folder: Path) -> Path | None:
    """Return the configuration of a folder, or of the nearest that it is in; None if there is none."""
    for place in (folder, *folder.parents):
        if (place / OWN).is_file():
            return place / OWN
        if (place / SHARED).is_file() and _options(place / SHARED):
            return place / SHARED
    return None


def _options(path: Path) -> Mapping[str, Any]:
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageProblem(f"{path} cannot be read as TOML: {error}") from error
    if path.name == SHARED:
        document = document.get("tool", {}).get("heartbeat-tuner", {})
    if not isinstance(document, dict):
        raise UsageProblem(f"{path}: tool.heartbeat-tuner is no table")
    return document


def _clients(path: Path, patterns: Any) -> dict[str, str]:
    if not isinstance(patterns, dict) or not all(isinstance(name, str) for name in patterns.values()):
        raise UsageProblem(f'{path}: {_CLIENTS} is a table of patterns, as "services/orders/*" = "kafkajs"')
    return patterns
