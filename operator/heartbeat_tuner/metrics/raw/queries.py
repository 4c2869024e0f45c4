"""The queries that read raw samples: one per quantity, whatever it is called, for all namespaces at once.

Labels are those of a usual Kubernetes scrape configuration (`namespace`, `pod`). Matchers are ours and always carry the
policies' namespaces, so that one tenant's policy never reads another tenant's series; names that come from tenants are
quoted.
"""

import re
from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Final

NAME_LABEL: Final = "__name__"
NAMESPACE_LABEL: Final = "namespace"
POD_LABEL: Final = "pod"

SCRAPE_LABELS: Final = frozenset(
    {"job", "instance", "endpoint", "service", "prometheus", "prometheus_replica", "replica", "container", "node"}
)
"""Labels that say by whom a series was scraped, not what it is."""

_PLAIN_LABEL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def raw(
    names: Collection[str],
    *,
    namespaces: Collection[str],
    window: timedelta,
    matchers: Iterable[tuple[str, str]] = (),
    pods: Collection[str] = (),
) -> str:
    """Return the PromQL that reads the raw samples of all metrics with these names.

    An instant query of a range selector: it returns raw samples with their true times.

    Args:
        names: of the metrics.
        namespaces: where.
        window: how far back.
        matchers: further labels that select them, and their values.
        pods: whose; everybody's if empty.
    """
    exact: list[tuple[str, Collection[str]]] = [(NAME_LABEL, names), (NAMESPACE_LABEL, namespaces)]
    exact += [(label, [value]) for label, value in matchers]
    exact += [(POD_LABEL, pods)] if pods else []
    selectors = ",".join(any_of(label, map(re.escape, values)) for label, values in exact)
    return f"{{{selectors}}}[{round(window.total_seconds())}s]"


def any_of(label: str, patterns: Iterable[str]) -> str:
    """Return a matcher of a label for any of these regular expressions, quoted for PromQL."""
    return f"{label_name(label)}=~{quoted('|'.join(sorted(patterns)))}"


def label_name(label: str) -> str:
    """Return a label's name for PromQL: quoted where it is not of the kind that every Prometheus knows."""
    return label if _PLAIN_LABEL.fullmatch(label) else quoted(label)


def quoted(text: str) -> str:
    """Return a text as one string of PromQL, whatever stands in it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
