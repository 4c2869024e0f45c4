"""What a record of a share group (KIP-932) is made of, by what its clients export.

No client shows a fencing there. Counters of heartbeats and joins show that nobody joined again, the group watcher who
was missed and came back.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.conventions.java_metrics import SHARE_CONSUMER
from heartbeat_tuner.metrics.conventions.librdkafka_metrics import COUNTERS
from heartbeat_tuner.metrics.conventions.watched_groups import GROUP_WATCHER
from heartbeat_tuner.metrics.vocabulary import Quantity

COUNTED: Final = (Quantity.HEARTBEATS, Quantity.REBALANCES)
"""What clients have to count."""


def _beside_descriptions(counters: Convention) -> Convention:
    """Return what shows a share group whose clients are exported in a convention."""
    return Convention(
        name=f"{counters.name}-described",
        title=f"the operator's group watcher, beside {counters.title}",
        libraries=counters.libraries,
        metrics=(*(counters.by_quantity[quantity] for quantity in COUNTED), *GROUP_WATCHER.metrics),
        needed=(*COUNTED, *GROUP_WATCHER.needed),
        withheld=GROUP_WATCHER.withheld,
    )


RECORDS: Final[Mapping[Convention, Convention]] = MappingProxyType(
    {counters: _beside_descriptions(counters) for counters in (COUNTERS, SHARE_CONSUMER)}
)
"""Of each convention of clients that count their heartbeats and joins there."""
