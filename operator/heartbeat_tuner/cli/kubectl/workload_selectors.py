"""A label selector of a workload, as `kubectl --selector` takes it: pure."""

from collections.abc import Mapping
from typing import Any, Final

_OPERATORS: Final = {
    "In": "{key} in ({values})",
    "NotIn": "{key} notin ({values})",
    "Exists": "{key}",
    "DoesNotExist": "!{key}",
}


def text(selector: Mapping[str, Any]) -> str:
    """Return a selector in the notation of kubectl.

    Args:
        selector: `matchLabels` and `matchExpressions`, as the API server has checked them.
    """
    labels = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    expressions = [
        _OPERATORS[rule["operator"]].format(key=rule["key"], values=",".join(rule.get("values") or ()))
        for rule in selector.get("matchExpressions") or ()
    ]
    return ",".join([*labels, *expressions])
