"""How a cycle's transitions are told: one by one, or as one."""

from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ConditionStatus, ConditionType
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.reconcile.status.folding import MOST_ALONE, MOST_NAMED, Transitions
from heartbeat_tuner.reconcile.status.transitions import Announcement
from tests.support import manifests

DOWN = Announcement(
    type=ConditionType.METRICS_AVAILABLE,
    before=ConditionStatus.TRUE,
    status=ConditionStatus.FALSE,
    reason=Reason.PROMETHEUS_UNREACHABLE,
    message="Prometheus did not answer",
    warning=True,
)
BACK = Announcement(
    type=ConditionType.METRICS_AVAILABLE,
    before=ConditionStatus.FALSE,
    status=ConditionStatus.TRUE,
    reason=Reason.METRICS_FRESH,
    message="fresh",
    warning=False,
)


def happened(*counts: tuple[str, int, Announcement]) -> Transitions:
    """Return transitions of so many policies each, by namespace."""
    found = Transitions()
    for namespace, count, announcement in counts:
        for number in range(count):
            found.add(manifests.policy(f"{namespace}-orders-{number:05}", namespace=namespace), announcement)
    return found


def test_few_are_told_one_by_one() -> None:
    """Each Event is about its own policy, in its own words."""
    events = list(happened(("shop", MOST_ALONE, DOWN)).events())
    assert [body["metadata"]["name"] for body, _ in events] == [
        f"shop-orders-{index:05}" for index in range(MOST_ALONE)
    ]
    assert {announcement for _, announcement in events} == {DOWN}


def test_many_of_a_namespace_are_one_event() -> None:
    """It is about the first, says how many there are, names some, and repeats one sentence."""
    ((body, announcement),) = happened(("shop", 10_000, DOWN)).events()
    assert body["metadata"]["name"] == "shop-orders-00000"
    assert announcement.count == 10_000
    assert (announcement.reason, announcement.warning) == (DOWN.reason, True)
    assert announcement.message == (
        "10000 policies of this namespace made the same transition, to MetricsAvailable False (PrometheusUnreachable): "
        "shop-orders-00000, shop-orders-00001, shop-orders-00002, shop-orders-00003, shop-orders-00004 and 9995 more. "
        "Of shop-orders-00000: Prometheus did not answer"
    )


def test_each_namespace_is_told_of_its_own_alone() -> None:
    """Neither numbers nor names of another."""
    events = [
        (body["metadata"]["namespace"], event)
        for body, event in happened(("bank", 300, DOWN), ("shop", 21, DOWN), ("crew", 1, DOWN)).events()
    ]
    assert [(namespace, event.count) for namespace, event in events] == [("bank", 300), ("shop", 21), ("crew", 1)]
    for namespace, event in events:
        others = {"bank", "shop", "crew"} - {namespace}
        assert not any(other in event.message for other in others)


def test_different_transitions_are_not_mixed() -> None:
    """Neither another reason nor another way."""
    events = list(happened(("shop", 15, DOWN), ("shop", 15, BACK)).events())
    assert len(events) == 30


def test_the_log_folds_over_namespaces() -> None:
    """Ten thousand tenants of one policy each are one line; each of them has an Event all the same."""
    found = happened(*((f"team-{number:04}", 1, DOWN) for number in range(1_000)))
    (line,) = found.lines()
    assert (line.count, line.namespaces, len(line.policies)) == (1_000, 1_000, MOST_ALONE)
    assert line.policies[0] == "team-0000/team-0000-orders-00000"
    assert len(list(found.events())) == 1_000


def test_few_transitions_have_a_line_each() -> None:
    """Whose policies they are is what an operator wants to read."""
    lines = list(happened(("shop", 2, DOWN), ("bank", 1, DOWN), ("bank", 1, BACK)).lines())
    assert [(line.count, line.policies) for line in lines] == [
        (1, ("shop/shop-orders-00000",)),
        (1, ("shop/shop-orders-00001",)),
        (1, ("bank/bank-orders-00000",)),
        (1, ("bank/bank-orders-00000",)),
    ]


def test_a_folded_event_names_few() -> None:
    """A name may have 253 characters, and a message has 1,024."""
    ((_, announcement),) = happened(("shop", 21, DOWN)).events()
    assert announcement.message.count("shop-orders") == MOST_NAMED + 1
