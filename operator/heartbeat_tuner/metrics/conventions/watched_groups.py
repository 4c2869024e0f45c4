"""What the operator's own group watcher counts, for consumers whose libraries export nothing that shows evictions.

It knows of evictions that the broker's descriptions of a group show, and of nothing else: no heartbeats, no joins, no
polls. So evictions are a lower bound, and no count of none is a proof of quiet.
"""

from types import MappingProxyType
from typing import Final

from heartbeat_tuner.metrics.conventions.convention import Convention, Metric
from heartbeat_tuner.metrics.vocabulary import Quantity

LIBRARIES: Final = (
    "aiokafka",
    "confluent-kafka-dotnet",
    "confluent-kafka-go",
    "confluent-kafka-javascript",
    "confluent-kafka-python",
    "franz-go",
    "kafka-go",
    "kafka-node",
    "kafka-python",
    "node-rdkafka",
    "platformatic",
    "rust-rdkafka",
    "sarama",
)
"""Those that have no counters of their own from which evictions can be read."""

WITHOUT_EXPORTER: Final = ("connect", "java", "kafkajs", "spring")
"""Those that have an exporter, and whose evictions are read here where nothing of it was seen for the whole window of a
record. Kafka Streams is not one of them: a thread that fails does not leave its group and is replaced within the
process, which looks like an eviction, again and again where one record makes every thread fail."""

_EVICTIONS: Final = ("heartbeat_tuner_group_evictions_total",)
_NOT_SCRAPED: Final = (
    "the operator exports it itself while it leads and sees members in the workload's pods; have Prometheus scrape the "
    "operator with honor_labels: true"
)

GROUP_WATCHER: Final = Convention(
    name="group-watcher",
    title="the operator's group watcher",
    libraries=LIBRARIES,
    group_label="group",
    with_labels=frozenset({"group", "certainty"}),
    passing_labels=frozenset({"policy"}),
    metrics=(
        Metric(Quantity.EVICTIONS_SEEN, _EVICTIONS, matchers=(("certainty", "certain"),)),
        Metric(Quantity.DOUBTFUL_EVICTIONS, _EVICTIONS, matchers=(("certainty", "doubtful"),)),
        Metric(Quantity.UNSEEN_REJOINS, _EVICTIONS, matchers=(("certainty", "unseen"),)),
    ),
    needed=(Quantity.EVICTIONS_SEEN, Quantity.DOUBTFUL_EVICTIONS),
    withheld=MappingProxyType(dict.fromkeys((Quantity.EVICTIONS_SEEN, Quantity.DOUBTFUL_EVICTIONS), _NOT_SCRAPED)),
)

CONVENTIONS: Final = (GROUP_WATCHER,)
