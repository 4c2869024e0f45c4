"""What is measured of one group on recordings of real exporters, against what the broker and the story know.

Every recording is of the same five minutes: one member stands still twice for 8.4 s, one handler takes 16.8 s, members
come and go, and the network is quiet. The recording `kubernetes` has a story of its own: a rollout, a crash, a pod that
is deleted, one that hangs. Each quantity is within tolerance of the truth, or unknown for the reason told here.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.metrics import quantities
from heartbeat_tuner.metrics.conventions import known_conventions, platform
from heartbeat_tuner.metrics.measured import Evictions, Measured, Observation, Quantities, Rebalances
from heartbeat_tuner.metrics.raw import queries, resolver
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity, Scope, ValueKind
from tests.exporters import recording
from tests.exporters.recording import Recording
from tests.exporters.replayed import Replayed
from tests.support import sources

pytestmark = pytest.mark.timeout(120)

PAUSE_S: Final = 8.4
HANDLER_S: Final = 16.8

SURELY_S: Final = 3.5
"""So much of a pause any exporter shows: a scrape of 5 s is late by the rest of it."""

NOISE_S: Final = 1.5
"""JVMs that begin on two busy cores collect garbage for so long."""

POLL_S: Final = 5.1
"""Spring polls for so long where there is nothing: a gap between two polls holds one."""

_Check = Callable[[Any, Recording, float], None]


@pytest.fixture
def source(replayed: Replayed) -> Iterator[PrometheusSource]:
    """Read the Prometheus that has all recordings."""
    with sources.reading(replayed.prometheus.url, timeout_s=30, max_answer_bytes=2**25) as found:
        yield found


def known(found: object) -> Measured:
    """Return what must be known."""
    assert isinstance(found, Measured), found
    return found


def pauses(found: object, recording: Recording, began_s: float) -> None:
    """Both pauses of the one member lie between the bounds of what is shown, and no other member was away."""
    del began_s
    (paused,) = {event["pod"] for event in recording.meta["events"] if event["event"] == "paused"}
    values = known(found).observations
    mine = max((value for value in values if value.pod == paused), key=lambda value: value.value_s)
    assert SURELY_S <= mine.value_s <= PAUSE_S + 0.3
    assert mine.at_most_s >= PAUSE_S - 0.1
    assert max((value.value_s for value in values if value.pod != paused), default=0.0) <= NOISE_S


def throttled(found: object, recording: Recording, began_s: float) -> None:
    """Every container had 0.03 cores: stops of up to a period surely, and no more of a pod that lives on.

    The pod that hung was killed: it never came back, and is no absence.
    """
    del recording, began_s
    values = known(found).observations
    assert {value.value_s <= 0.1 for value in values} == {True}
    assert max(value.value_s for value in values) > 0.05


def handler(found: object, recording: Recording, began_s: float) -> None:
    """The longest gap between polls is the long handler's, and the next one its redelivery's or a pause."""
    del began_s
    values = known(found)
    assert values.largest_s is not None
    polls_s = POLL_S if recording.meta["client"]["library"] == "spring" else 0.5
    assert HANDLER_S - 0.2 <= values.largest_s <= HANDLER_S + polls_s
    (paused,) = {event["pod"] for event in recording.meta["events"] if event["event"] == "paused"}
    assert max(observation.value_s for observation in values.observations if observation.pod == paused) >= PAUSE_S - 0.1


def quiet(found: object, recording: Recording, began_s: float) -> None:
    """Nothing was wrong with the network or the coordinator."""
    del recording, began_s
    values = known(found)
    assert values.largest_s is not None
    assert 0 < values.largest_s <= 1.0


def joins(found: object, recording: Recording, began_s: float) -> None:
    """The longest join is as long as the broker saw it, from its request to the assignment."""
    del began_s
    longest_s = max(join["took_s"] or 0.0 for pod in recording.meta["truth"]["pods"].values() for join in pod["joins"])
    values = known(found)
    assert values.largest_s == pytest.approx(longest_s, abs=0.8)


def steps(found: object, recording: Recording, began_s: float) -> None:
    """A member of the consumer protocol has no barrier: an assignment takes a beat or two."""
    del recording, began_s
    values = known(found)
    assert values.largest_s is not None
    assert values.largest_s <= 1.0


def rebalances(found: object, recording: Recording, began_s: float) -> None:
    """As many as the coordinator made generations since the first scrape; nothing tells a plan, so none is one."""
    assert isinstance(found, Rebalances), found
    assert found.planned == 0
    settled_s = found.since_s - began_s + 3 * recording.meta["settings"]["scrape_interval_s"]
    made = [rebalance for rebalance in recording.meta["truth"]["rebalances"] if rebalance["last_s"] > settled_s]
    seen = [event for event in found.events if event.until_s - began_s > settled_s]
    assert len(seen) == pytest.approx(len(made), abs=1)


def assignments(found: object, recording: Recording, began_s: float) -> None:
    """Of a rebalance of the consumer protocol each member has several steps: no fewer than the broker's epochs."""
    assert isinstance(found, Rebalances), found
    settled_s = found.since_s - began_s + 3 * recording.meta["settings"]["scrape_interval_s"]
    made = [rebalance for rebalance in recording.meta["truth"]["rebalances"] if rebalance["last_s"] > settled_s]
    seen = [event for event in found.events if event.until_s - began_s > settled_s]
    assert 0.5 * len(made) <= len(seen) <= 2 * len(made)


def planned(found: object, recording: Recording, began_s: float) -> None:
    """Each moment of that story is within 90 s of a pod's start: all are planned, the crash's, too."""
    assert isinstance(found, Rebalances), found
    assert found.unplanned == 0
    settled_s = found.since_s - began_s + 3 * recording.meta["settings"]["scrape_interval_s"]
    made = [rebalance for rebalance in recording.meta["truth"]["rebalances"] if rebalance["last_s"] > settled_s]
    seen = [event for event in found.events if event.until_s - began_s > settled_s]
    assert len(seen) == pytest.approx(len(made), abs=2)


def restarted(found: object, recording: Recording, began_s: float) -> None:
    """Five: three by the rollout, a deletion, and a pod that hung; scaling down replaces none."""
    del recording, began_s
    assert len(known(found).observations) == 5


def crashed(found: object, recording: Recording, began_s: float) -> None:
    """One, and it took its member away for sure: its pod came back by the same name."""
    (crash,) = known(found).observations
    pod, at_s = next((event["pod"], event["at_s"]) for event in recording.meta["events"] if event["event"] == "crashed")
    back_s = next(join["at_s"] for join in recording.meta["truth"]["pods"][pod]["joins"] if join["at_s"] > at_s)
    assert crash.pod == pod
    recorded_s = recording.meta["began_s"]
    assert _held(crash, began_s + math.floor(recorded_s + at_s) - recorded_s)  # Kubernetes says whole seconds
    assert crash.value_s <= back_s - at_s <= crash.at_most_s


def evicted(found: object, recording: Recording, began_s: float) -> None:
    """As the broker's log has them, each with no more than the member was surely silent for."""
    assert isinstance(found, Evictions), found
    true = recording.meta["truth"]["evictions"]
    assert [event.pod for event in found.events] == [removal["pod"] for removal in true]
    for event, removal in zip(found.events, true, strict=True):
        # It shows at the first scrape after the member has joined again, which may be in the next block.
        joins = recording.meta["truth"]["pods"][event.pod]["joins"]
        joined_s = next(join["at_s"] + join["took_s"] for join in joins if join["at_s"] >= removal["learnt_s"])
        shown_by_s = began_s + joined_s + recording.meta["settings"]["scrape_interval_s"]
        assert _held(event, began_s + removal["at_s"]) or _held(event, shown_by_s)
        assert 0.0 < event.value_s <= PAUSE_S


def lost_ids(found: object, recording: Recording, began_s: float) -> None:
    """Each is a removal in the broker's log; who left for want of a poll, or paused in full view, does not count."""
    del began_s
    assert isinstance(found, Evictions), found
    removed = Counter(removal["pod"] for removal in recording.meta["truth"]["evictions"])
    assert Counter(event.pod for event in found.events) <= removed
    assert all(0.0 < event.value_s <= PAUSE_S for event in found.events)


def none_evicted(found: object, recording: Recording, began_s: float) -> None:
    """The broker removed members of that story, and all of them were dead: they crashed, or hung until killed."""
    del recording, began_s
    assert isinstance(found, Evictions), found
    assert found.events == ()


def _held(observation: Observation, at_s: float) -> bool:
    return observation.block_s <= at_s < observation.block_s + 90.0


SOON: Final = "fewer than 10 blocks of 90 s"
NO_PLATFORM: Final = "install kube-state-metrics"
NO_GAP: Final = r"the longest gap between polls is not exported"
NO_MAXIMUM: Final = "the client's maxima are not exported"
NO_JOINS: Final = "completed joins are not counted"
NO_EVICTIONS: Final = "no counters of refused heartbeats, notices and joins"
NO_BEATS: Final = "no counter of accepted heartbeats is exported"
NOTHING: Final = "nothing shows absences: the group's heartbeats are not counted"

OF_THE_GROUP_WATCHER: Final = "unseen_rejoins"
NAMES: Final = tuple(name for name in Quantities.__dataclass_fields__ if name != OF_THE_GROUP_WATCHER)

_Expected = Sequence[str | _Check]

JVM: Final[_Expected] = (pauses, SOON, handler, quiet, joins, rebalances, NO_PLATFORM, NO_PLATFORM, lost_ids)
SHORT_GAPS: Final[_Expected] = (*JVM[:-1], NO_EVICTIONS)
NONE: Final[_Expected] = (
    NOTHING,
    NO_BEATS,
    NO_GAP,
    NO_MAXIMUM,
    NO_MAXIMUM,
    NO_JOINS,
    NO_PLATFORM,
    NO_PLATFORM,
    NO_EVICTIONS,
)
BEATS: Final[_Expected] = (
    pauses,
    SOON,
    NO_GAP,
    NO_MAXIMUM,
    NO_MAXIMUM,
    NO_JOINS,
    NO_PLATFORM,
    NO_PLATFORM,
    NO_EVICTIONS,
)

EXPECTED: Final[Mapping[str, _Expected]] = {
    "franz-go-kprom": NONE,
    "group-exporters-stand-in": BEATS,
    "jmx-0-default": JVM,
    "jmx-0-gauges": JVM,
    "jmx-1-bridge": JVM,
    "jmx-1-default": JVM,
    "jmx-1-gauges": JVM,
    "jmx-1-infer": JVM,
    "jmx-1-kip848": (pauses, SOON, handler, quiet, steps, assignments, NO_PLATFORM, NO_PLATFORM, NO_EVICTIONS),
    "jmx-1-streams": SHORT_GAPS,
    "jmx-1-streams-kip1071": (pauses, SOON, handler, quiet, steps, assignments, NO_PLATFORM, NO_PLATFORM, NO_EVICTIONS),
    "jmx-1-connect": NONE,
    "jmx-1-lower-case": (
        pauses,
        SOON,
        "only the mean of the gaps",
        NO_MAXIMUM,
        NO_MAXIMUM,
        rebalances,
        NO_PLATFORM,
        NO_PLATFORM,
        NO_EVICTIONS,
    ),
    "kafkajs-exporter": BEATS,
    "kafkajs-exporter-client-id": BEATS,
    "kafkajs-sandbox": (pauses, SOON, NO_GAP, NO_MAXIMUM, NO_MAXIMUM, rebalances, NO_PLATFORM, NO_PLATFORM, evicted),
    "kip714-cumulative": NONE,
    "kip714-delta": NONE,
    "klag-exporter": NONE,
    "kubernetes": (throttled, SOON, NO_GAP, NO_MAXIMUM, NO_MAXIMUM, planned, restarted, crashed, none_evicted),
    "librdkafka-allsopp-kip848-stand-in": NONE,
    "librdkafka-allsopp-stand-in": NONE,
    "librdkafka-confluent-dotnet-stand-in": NONE,
    "librdkafka-mcolomerc-stand-in": NONE,
    "micrometer-client": JVM,
    "micrometer-jmx": (pauses, NO_BEATS, NO_GAP, quiet, NO_MAXIMUM, NO_JOINS, NO_PLATFORM, NO_PLATFORM, NO_EVICTIONS),
    "node-rdkafka-prometheus": NONE,
    "otel-otlp": NONE,
    "otel-otlp-untranslated": NONE,
    "otel-otlp-utf8": NONE,
    "otel-scraped": JVM,
    "prometheus-kafka-metrics": NONE,
    "spring-observed": JVM,
    "spring-timers": JVM,
    "strimzi-reporter": SHORT_GAPS,
}
"""Recording to what is expected of each quantity: a check of what is known, or why it is not."""


async def measured(source: PrometheusSource, replayed: Replayed, name: str) -> Quantities:
    """Return everything that is measured of a recording's group, from its first sample to its last."""
    recording = replayed.recordings[name]
    conventions = known_conventions.of_library(recording.meta["client"]["library"]) or known_conventions.CONVENTIONS
    found: list[Series] = []
    for quantity in Quantity:
        of_it = conventions if quantity.scope is Scope.MEMBER else platform.CONVENTIONS
        if names := known_conventions.names(of_it, quantity):
            asked = queries.raw(names, namespaces=[name], window=timedelta(seconds=recording.length_s + 1))
            found += await source.instant(asked, at=datetime.fromtimestamp(replayed.ends_at_s, UTC))
    # Instants are those of the recorded minutes.
    moved_s = replayed.began_s(name) - recording.meta.get("began_s", replayed.began_s(name))
    instants = {
        name
        for convention in platform.CONVENTIONS
        for it in convention.metrics
        if it.quantity.kind is ValueKind.INSTANT
        for name in it.names
    }
    found = [_moved(item, moved_s) if item.labels["__name__"] in instants else item for item in found]
    group = (name, recording.meta["group"])
    by_convention = resolver.by_group(found, known_conventions.CONVENTIONS, {group}).get(group, {})
    _, observed = resolver.followed(by_convention, conventions)
    return quantities.measured(
        observed, resolver.by_pod(found, platform.CONVENTIONS, {(name, pod) for pod in recording.meta["pods"]})
    )


def _moved(series: Series, by_s: float) -> Series:
    return Series.from_raw(series.labels, ((at_s, value + by_s) for at_s, value in series.samples.pairs()))


def test_every_recording_has_an_expectation_of_every_quantity() -> None:
    """A new one says what can be measured of it."""
    assert sorted(EXPECTED) == recording.names()
    assert {len(expected) for expected in EXPECTED.values()} == {len(NAMES)}


@pytest.mark.parametrize("name", EXPECTED)
async def test_each_quantity_is_what_the_story_tells_or_unknown(
    source: PrometheusSource, replayed: Replayed, name: str
) -> None:
    """Whatever the exporter and wherever its blocks begin."""
    found = await measured(source, replayed, name)
    assert isinstance(getattr(found, OF_THE_GROUP_WATCHER), Unknown), "no client exports them"
    for quantity, expected in zip(NAMES, EXPECTED[name], strict=True):
        value = getattr(found, quantity)
        if isinstance(expected, str):
            assert isinstance(value, Unknown), (quantity, value)
            assert re.search(expected, value.message), (quantity, value.message)
        else:
            expected(value, replayed.recordings[name], replayed.began_s(name))
