"""Patches of Kustomize on manifests as they were read: strategic merges and lists of JSON operations; pure.

Only what settings of consumers depend on is done as Kustomize does it: mappings are merged, lists of containers and of
their environment by name, other lists are replaced.
"""

import copy
import re
from collections.abc import Mapping
from typing import Any, Final

from heartbeat_tuner.adapters.files.manifest_yaml import ManifestError

_BY_NAME: Final = frozenset({"containers", "initContainers", "env", "volumes"})
_DIRECTIVE: Final = "$patch"
_PATTERN: Final = re.compile(r"[\w.\-]*")
"""What is understood of a name in a target: letters, and `.*` for anything."""


def is_target(target: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    """Whether a patch is for an object.

    Args:
        target: kind, name, namespace and labels, each of which may be left out.
        document: the object.

    Raises:
        ManifestError: the target selects in a way that is not understood.
    """
    metadata = _mapping(document.get("metadata"))
    fields = {"kind": document.get("kind"), "name": metadata.get("name"), "namespace": metadata.get("namespace")}
    if not all(_matches(target.get(field), value) for field, value in fields.items()):
        return False
    labels = _mapping(metadata.get("labels"))
    for term in filter(None, str(target.get("labelSelector") or "").split(",")):
        name, sign, value = term.partition("=")
        if not sign or name.endswith("!"):
            raise ManifestError(f"a patch selects by {term!r}, which is not understood: write name=value")
        if labels.get(name.strip()) != value.removeprefix("=").strip():
            return False
    return True


def _matches(pattern: Any, value: Any) -> bool:
    """Whether a name has a form; patterns are the files', so only those are used that cannot take long."""
    if pattern is None or pattern == "":
        return True
    parts = str(pattern).split(".*")
    if not all(_PATTERN.fullmatch(part) for part in parts):
        raise ManifestError(f"a patch's target {str(pattern)[:80]!r} is not understood: write a name, or .* for any")
    return re.fullmatch(".*".join(map(re.escape, parts)), str(value or "")) is not None


def merged(base: Any, patch: Any, key: str = "") -> Any:
    """Return a value with a strategic merge patch on top of it.

    Args:
        base: what stands there.
        patch: what is laid over it.
        key: under which both stand: it says whether a list is merged.
    """
    if isinstance(base, Mapping) and isinstance(patch, Mapping):
        if patch.get(_DIRECTIVE) == "replace":
            return {name: value for name, value in patch.items() if name != _DIRECTIVE}
        values = dict(base)
        for name, value in patch.items():
            if value is None:
                values.pop(name, None)
            elif name != _DIRECTIVE:
                values[name] = merged(values.get(name), value, name)
        return values
    if isinstance(patch, list) and key in _BY_NAME:
        return _by_name(base if isinstance(base, list) else [], patch)
    return patch


def _by_name(base: list[Any], patch: list[Any]) -> list[Any]:
    items = [item for item in patch if item != {_DIRECTIVE: "replace"}]
    values = {} if len(items) < len(patch) else {_name(item): item for item in base}
    for item in items:
        if isinstance(item, Mapping) and item.get(_DIRECTIVE) == "delete":
            values.pop(_name(item), None)
        else:
            values[_name(item)] = merged(values.get(_name(item)), item)
    return list(values.values())


def _name(item: Any) -> str:
    return str(item.get("name", "")) if isinstance(item, Mapping) else ""


def operated(document: Mapping[str, Any], operations: list[Any]) -> dict[str, Any]:
    """Return an object after JSON operations: add, replace and remove; those that only look are passed over.

    Raises:
        ManifestError: an operation leads to a place that is not there.
    """
    result: dict[str, Any] = copy.deepcopy(dict(document))
    for operation in operations:
        if not isinstance(operation, Mapping) or operation.get("op") not in {"add", "replace", "remove"}:
            continue
        path = str(operation.get("path", ""))
        words = [word.replace("~1", "/").replace("~0", "~") for word in path.split("/")[1:]]
        try:
            holder: Any = result
            for word in words[:-1]:
                holder = holder[_index(holder, word)]
            _operate(holder, words[-1], str(operation["op"]), copy.deepcopy(operation.get("value")))
        except (LookupError, TypeError, ValueError):
            raise ManifestError(f"a patch leads to {path[:80]!r}, which is not there") from None
    return result


def _operate(holder: Any, word: str, operation: str, value: Any) -> None:
    if operation == "remove":
        del holder[_index(holder, word)]
    elif isinstance(holder, list) and operation == "add":
        holder.insert(len(holder) if word == "-" else int(word), value)
    else:
        holder[_index(holder, word)] = value


def _index(holder: Any, word: str) -> Any:
    return int(word) if isinstance(holder, list) else word


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
