"""A metric to read, and the query that reads its raw samples for many groups at once.

Labels are those of a usual Kubernetes scrape configuration (`namespace`, `pod`); which label ties a series to its group
is the exporter's matter (`conventions`). Matchers are ours and always carry the policies' namespaces, so that one
tenant's policy never reads another tenant's series; names that come from tenants are quoted.
"""

import dataclasses
import re
from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Final

NAMESPACE_LABEL: Final = "namespace"
POD_LABEL: Final = "pod"

SCRAPE_LABELS: Final = frozenset(
    {"job", "instance", "endpoint", "service", "prometheus", "prometheus_replica", "replica", "container", "node"}
)
"""Labels that say by whom a series was scraped, not what it is."""


@dataclasses.dataclass(frozen=True, slots=True)
class Signal:
    """One metric.

    Attributes:
        metric: its name.
        matchers: further label values that select it.
        unit_s: what a value of 1 is in seconds, where it is a time.
    """

    metric: str
    matchers: tuple[tuple[str, str], ...] = ()
    unit_s: float = 1.0


def query(signal: Signal, *, namespaces: Collection[str], group_matcher: str, window: timedelta) -> str:
    """Return the PromQL that reads `signal`'s raw samples.

    An instant query of a range selector: it returns raw samples with their true times.

    Args:
        signal: what to read.
        namespaces: where.
        group_matcher: the matcher that selects the groups, as `any_of` makes it.
        window: how far back.
    """
    exact = [f'{label}="{value}"' for label, value in signal.matchers]
    exactly = map(re.escape, namespaces)
    matchers = [any_of(NAMESPACE_LABEL, exactly), group_matcher, *exact]
    return f"{signal.metric}{{{','.join(matchers)}}}[{round(window.total_seconds())}s]"


def any_of(label: str, patterns: Iterable[str]) -> str:
    """Return a matcher of a label for any of these regular expressions, quoted for PromQL."""
    alternatives = "|".join(sorted(patterns))
    quoted = alternatives.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{label}=~"{quoted}"'
