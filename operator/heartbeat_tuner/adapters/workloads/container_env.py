"""Which value an environment variable has in a container of a pod or a template, as far as that can be seen: pure.

Literal entries win over `envFrom`, later sources over earlier ones. A variable may be any, a password's too: of its
value sentences show only what looks like a duration.
"""

import json
import re
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any, Final

from heartbeat_tuner.clients.formats import LONGEST_MS, Format
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.lint import written_values

LONGEST_VALUE: Final = 256
"""Characters of a variable's value that are looked at: a duration has some ten, and tenants may write a megabyte."""

_DURATION_LIKE: Final = re.compile(r"-?[0-9.]{1,12} ?(ms|s|sec|seconds|m|min|h)?")

ConfigMaps = Mapping[str, Mapping[str, str]]
"""Data by ConfigMap name."""


class SettingUnreadableError(TunerError):
    """An environment value is no duration as the application reads it."""


def config_map_keys(container: Mapping[str, Any], names: Collection[str]) -> dict[str, frozenset[str]]:
    """Return the keys that environment variables may come from, by the name of their ConfigMap.

    Args:
        container: of a pod or a template.
        names: of the variables.
    """
    keys: dict[str, set[str]] = {}
    for entry in container.get("env", ()):
        reference = entry.get("valueFrom", {}).get("configMapKeyRef")
        if reference is not None and entry["name"] in names:
            keys.setdefault(reference["name"], set()).add(reference["key"])
    for source in container.get("envFrom", ()):
        if "configMapRef" in source:
            prefix = source.get("prefix", "")
            wanted = {name.removeprefix(prefix) for name in names if name.startswith(prefix)}
            keys.setdefault(source["configMapRef"]["name"], set()).update(wanted)
    return {name: frozenset(map_keys) for name, map_keys in keys.items()}


def duration_in(
    container: Mapping[str, Any], name: str, config_maps: ConfigMaps, form: Format = Format.MILLISECONDS
) -> timedelta | None:
    """Return the duration that environment variable `name` holds; None if nothing visible sets it.

    Args:
        container: of a pod or a template.
        name: of the variable.
        config_maps: that the value may come from.
        form: in which the application reads durations.

    Raises:
        SettingUnreadableError: it holds something else, or more milliseconds than 32 bits do.
    """
    text = value(container, name, config_maps)
    if text is None:
        return None
    remedy = "correct it, or name the right variable in spec.client.env"
    return duration(text, form, where=f"container {container['name']}", name=name, remedy=remedy)


def value(container: Mapping[str, Any], name: str, config_maps: ConfigMaps) -> str | None:
    """Return what environment variable `name` holds; None if nothing visible sets it."""
    entry = _entry(container, name)
    if entry is not None and "valueFrom" not in entry:
        # Neither a value nor a source: the variable is empty, and what envFrom has of that name is hidden.
        literal: str = entry.get("value", "")
        return literal
    if entry is not None:
        reference = entry["valueFrom"].get("configMapKeyRef", {})
        text = config_maps.get(reference.get("name"), {}).get(reference.get("key"))
        # The kubelet passes over an optional reference that leads nowhere; what envFrom has of that name is seen then.
        if text is not None or not reference.get("optional"):
            return text
    text = None
    for source in container.get("envFrom", ()):
        prefix = source.get("prefix", "")
        if "configMapRef" in source and name.startswith(prefix):
            text = config_maps.get(source["configMapRef"]["name"], {}).get(name.removeprefix(prefix), text)
    return text


def duration(text: str, form: Format, *, where: str, name: str, remedy: str) -> timedelta:
    """Return the duration that the value of an environment variable says.

    Raises:
        SettingUnreadableError: the value has another form, or is more milliseconds than 32 bits hold.
    """
    try:
        return form.parse(text)
    except ValueError:
        raise SettingUnreadableError(
            f"{where} has {name}={written_values.shown(text)}, which is no {form.value} between {form.example(1)} and "
            f"{form.example(LONGEST_MS)}; {remedy}"
        ) from None


def missing_key(container: Mapping[str, Any], name: str, config_maps: ConfigMaps) -> tuple[str, str] | None:
    """Return ConfigMap and key that `name` is to come from, if the map has no such key; the kubelet refuses that."""
    reference = (_entry(container, name) or {}).get("valueFrom", {}).get("configMapKeyRef")
    if reference is None or reference.get("optional") or reference["key"] in config_maps.get(reference["name"], ()):
        return None
    return (reference["name"], reference["key"]) if reference["name"] in config_maps else None


def is_hidden(container: Mapping[str, Any], name: str, config_maps: ConfigMaps) -> bool:
    """Whether environment variable `name` may have a value that does not stand in the manifest or `config_maps`."""
    entry = _entry(container, name)
    if entry is not None:
        reference = entry.get("valueFrom", {}).get("configMapKeyRef")
        return "valueFrom" in entry and (reference is None or reference["name"] not in config_maps)
    return value(container, name, config_maps) is None and any(
        name.startswith(source.get("prefix", ""))
        and ("configMapRef" not in source or source["configMapRef"]["name"] not in config_maps)
        for source in container.get("envFrom", ())
    )


def line(container: Mapping[str, Any], name: str) -> str | None:
    """Return the entry of environment variable `name` as a line of a manifest; None if there is none.

    Of a literal value only what looks like a duration is shown: the name may be any variable's.
    """
    entry = _entry(container, name)
    if entry is None:
        return None
    parts = [f"name: {name}"]
    if "valueFrom" in entry:
        parts.append(f"valueFrom: {_flow(entry['valueFrom'])}")
    elif _DURATION_LIKE.fullmatch(entry.get("value", "")):
        parts.append(f'value: "{entry["value"]}"')
    return f"{{{', '.join(parts)}}}"


def _flow(source: Any) -> str:
    if isinstance(source, Mapping):
        return f"{{{', '.join(f'{key}: {_flow(value)}' for key, value in source.items())}}}"
    return json.dumps(source) if isinstance(source, bool) else str(source)


def _entry(container: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    # Of several entries with one name the last is the one that the container gets.
    return next((entry for entry in reversed(container.get("env", ())) if entry["name"] == name), None)
