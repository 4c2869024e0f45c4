"""What a fit leaves behind, so that two of them can be compared."""

import json
from pathlib import Path
from typing import Any


def content(folder: Path) -> dict[str, Any]:
    """Return the history's files as bytes, and the models without who fitted them and when."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            found[str(path.relative_to(folder))] = path.read_bytes()
        elif path.suffix == ".json":
            found[str(path.relative_to(folder))] = _said(json.loads(path.read_text()))
    return found


def _said(document: dict[str, Any]) -> dict[str, Any]:
    spec = {name: value for name, value in document["spec"].items() if name not in {"fitTime", "job"}}
    return {**document, "spec": spec}
