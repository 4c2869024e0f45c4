"""How long restarts take members away: from the last sign of life to the first partition, as far as it can be told."""

from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics import downtime
from heartbeat_tuner.metrics.downtime import Downtime, Restart
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters

SCRAPE_S = 10.0

Found = dict[Quantity, list[Series]]


def scraped(value: float, since_s: float, until_s: float, *, pod: str = "orders-0", **labels: str) -> Series:
    """Return a series that has one value at every scrape of a time."""
    times = range(int(since_s), int(until_s), int(SCRAPE_S))
    return counters.series(((float(at_s), value) for at_s in times), pod=pod, **labels)


def working(*lives: tuple[float, float, float], pod: str = "orders-0", until_s: float = 1_000.0) -> Series:
    """Return the partitions of a member: of each life the first scrape, the first with some, and the end."""
    pairs = [
        (float(at_s), 4.0 if at_s >= assigned_s else 0.0)
        for first_s, assigned_s, end_s in lives
        for at_s in range(int(first_s), int(min(end_s, until_s)), int(SCRAPE_S))
    ]
    return counters.series(pairs, pod=pod)


def restarts(observed: Found, platform: Found) -> list[Restart]:
    """Return the restarts of what must be known."""
    found = downtime.restarts(observed, platform)
    assert isinstance(found, list), found
    return found


def partitions(*group: Series) -> Found:
    """Return what a group exports of its partitions."""
    return {Quantity.ASSIGNED_PARTITIONS: list(group)}


CRASHED = working((0.0, 20.0, 300.0), (330.0, 350.0, 2_000.0))
"""Last scraped at 290, scraped again at 330, with partitions at 350."""


def test_a_container_that_was_started_anew_is_a_restart() -> None:
    """It ended after its last scrape and before its next start; it got its partitions between two scrapes."""
    started = {
        Quantity.CONTAINER_STARTED: [scraped(-50.0, 0, 320, container="app"), scraped(320.0, 320, 990, container="app")]
    }
    (restart,) = restarts(partitions(CRASHED), started)
    assert restart == Restart("orders-0", "orders-0", 290.0, 320.0, None, Downtime(40.0, 60.0), in_place=True)


def test_a_pod_that_came_back_by_its_name_was_replaced() -> None:
    """A StatefulSet's: its container is new, and so is the pod. A pod's start long before tells nothing."""
    containers = [scraped(-50.0, 0, 320, container="app"), scraped(320.0, 320, 990, container="app")]
    for pod_started, in_place in (
        ([scraped(-60.0, 0, 320), scraped(310.0, 320, 990)], False),
        ([scraped(-60.0, 0, 990)], True),
    ):
        platform = {Quantity.CONTAINER_STARTED: containers, Quantity.POD_STARTED: pod_started}
        (restart,) = restarts(partitions(CRASHED), platform)
        assert restart.in_place is in_place


def test_kubernetes_knows_when_a_container_ended() -> None:
    """Then only the scrape that found it back leaves something open."""
    platform = {
        Quantity.CONTAINER_STARTED: [
            scraped(-50.0, 0, 320, container="app"),
            scraped(320.0, 320, 990, container="app"),
        ],
        Quantity.CONTAINER_ENDED: [scraped(297.0, 300, 990, container="app")],
        Quantity.POD_READY: [scraped(-40.0, 0, 320), scraped(341.0, 341, 990)],
    }
    (restart,) = restarts(partitions(CRASHED), platform)
    assert (restart.ended_s, restart.ready_s, restart.downtime) == (297.0, 341.0, Downtime(43.0, 53.0))


def test_a_pod_may_be_ready_in_the_second_in_which_it_began() -> None:
    """Kubernetes tells whole seconds."""
    platform = {
        Quantity.CONTAINER_STARTED: [scraped(-50.0, 0, 320), scraped(320.0, 320, 990)],
        Quantity.POD_READY: [scraped(-40.0, 0, 320), scraped(320.0, 320, 990)],
    }
    (restart,) = restarts(partitions(CRASHED), platform)
    assert restart.ready_s == 320.0


def test_a_life_that_nobody_saw_hides_no_later_restart() -> None:
    """The first container began and ended before the first scrape of its metrics."""
    started = [scraped(-50.0, 0, 100), scraped(100.0, 100, 320), scraped(320.0, 320, 990)]
    seen = working((110.0, 130.0, 300.0), (330.0, 350.0, 2_000.0))
    (restart,) = restarts(partitions(seen), {Quantity.CONTAINER_STARTED: started})
    assert (restart.ended_s, restart.started_s) == (290.0, 320.0)


def test_another_container_of_the_pod_is_not_the_consumer() -> None:
    """A proxy that crashed took nobody away; where nobody says which one the consumer is, its pod's start counts."""
    proxy = [scraped(-50.0, 0, 320, container="proxy"), scraped(320.0, 320, 990, container="proxy")]
    app = [scraped(-50.0, 0, 990, container="app")]
    platform = {Quantity.CONTAINER_STARTED: proxy + app, Quantity.POD_STARTED: [scraped(-55.0, 0, 990)]}
    assert restarts(partitions(CRASHED), platform) == []
    named = Series({**CRASHED.labels, "container": "app"}, CRASHED.samples)
    assert restarts(partitions(named), platform) == []
    assert restarts(partitions(named), {**platform, Quantity.CONTAINER_STARTED: proxy}) == []
    proxied = Series({**CRASHED.labels, "container": "proxy"}, CRASHED.samples)
    assert len(restarts(partitions(proxied), platform)) == 1


def test_heartbeats_stand_in_for_partitions() -> None:
    """KafkaJS' exporter does not tell partitions."""
    beats = counters.series(
        [*((float(at_s), at_s / 5) for at_s in range(0, 300, 10)), (330.0, 0.0), (340.0, 2.0), (990.0, 99.0)]
    )
    started = {Quantity.CONTAINER_STARTED: [scraped(-50.0, 0, 320), scraped(320.0, 320, 990)]}
    (restart,) = restarts({Quantity.HEARTBEATS: [beats]}, started)
    assert restart.downtime == Downtime(30.0, 50.0)


def test_a_pod_is_replaced_by_the_one_that_began_nearest_to_its_end() -> None:
    """A third pod, and one that began long before, replace nobody."""
    observed = partitions(
        working((0.0, 20.0, 300.0), pod="orders-a"),
        working((350.0, 370.0, 2_000.0), pod="orders-b"),
        working((500.0, 520.0, 2_000.0), pod="orders-c"),
        working((0.0, 20.0, 2_000.0), pod="orders-d"),
    )
    starts = {"orders-a": -60.0, "orders-b": 310.0, "orders-c": 480.0, "orders-d": -10.0}
    platform = {Quantity.POD_STARTED: [scraped(at_s, 0, 990, pod=pod) for pod, at_s in starts.items()]}
    (restart,) = restarts(observed, platform)
    assert restart == Restart("orders-a", "orders-b", 290.0, 310.0, None, Downtime(60.0, 80.0))


def test_two_replaced_pods_have_two_successors() -> None:
    """Each new pod takes one place."""
    observed = partitions(
        working((0.0, 20.0, 300.0), pod="orders-a"),
        working((0.0, 20.0, 310.0), pod="orders-b"),
        working((350.0, 370.0, 2_000.0), pod="orders-c"),
        working((360.0, 380.0, 2_000.0), pod="orders-d"),
    )
    starts = {"orders-a": -60.0, "orders-b": -60.0, "orders-c": 310.0, "orders-d": 330.0}
    platform = {Quantity.POD_STARTED: [scraped(at_s, 0, 990, pod=pod) for pod, at_s in starts.items()]}
    found = restarts(observed, platform)
    assert [(item.pod, item.successor) for item in found] == [("orders-a", "orders-c"), ("orders-b", "orders-d")]


def test_a_surge_loses_nothing() -> None:
    """The new pod works before the old one ends."""
    observed = partitions(working((0.0, 20.0, 300.0), pod="orders-a"), working((200.0, 220.0, 2_000.0), pod="orders-b"))
    platform = {
        Quantity.POD_STARTED: [scraped(-60.0, 0, 990, pod="orders-a"), scraped(190.0, 190, 990, pod="orders-b")]
    }
    (restart,) = restarts(observed, platform)
    assert restart.downtime == Downtime(0.0, 0.0)


def test_a_pod_that_nobody_replaced_was_no_restart() -> None:
    """The group was scaled down."""
    observed = partitions(working((0.0, 20.0, 300.0), pod="orders-a"), working((0.0, 20.0, 2_000.0), pod="orders-b"))
    platform = {Quantity.POD_STARTED: [scraped(-60.0, 0, 990, pod="orders-a"), scraped(-60.0, 0, 990, pod="orders-b")]}
    assert restarts(observed, platform) == []


def test_a_process_that_is_not_back_yet_has_no_downtime() -> None:
    """It began, and nobody has seen it work: that is no zero, and no time either."""
    observed = partitions(working((0.0, 20.0, 300.0), (330.0, 9_999.0, 2_000.0)))
    platform = {Quantity.CONTAINER_STARTED: [scraped(-50.0, 0, 320), scraped(320.0, 320, 990)]}
    (restart,) = restarts(observed, platform)
    assert isinstance(restart.downtime, Unknown)
    assert restart.downtime.reason is Reason.TOO_LITTLE_DATA


def test_a_restart_of_what_was_never_seen_is_not_told() -> None:
    """Kubernetes knows of starts before the first scrape; when that process ended nobody saw."""
    platform = {Quantity.CONTAINER_STARTED: [scraped(-500.0, 0, 10), scraped(-100.0, 10, 990)]}
    assert restarts(partitions(working((0.0, 20.0, 2_000.0))), platform) == []


def test_without_kube_state_metrics_restarts_are_unknown() -> None:
    """A gap in a series may be a scrape that failed."""
    found = downtime.restarts(partitions(CRASHED), {Quantity.POD_READY: [scraped(1.0, 0, 50)]})
    assert isinstance(found, Unknown)
    assert found.reason is Reason.NO_SERIES
    assert "kube-state-metrics" in found.message
