"""What a soak concludes from its looks at the replicas."""

import pytest

from bench.cycle_exporter import PODS_OF_POLICY
from tests.soak import faults, verdict, vitals
from tests.soak.exporter import REPLACED_EVERY_S, Past, Replaced
from tests.soak.faults import Fault
from tests.soak.vitals import Page, Vitals

PAGE = """# HELP heartbeat_tuner_leader How many shards this replica leads.
# TYPE heartbeat_tuner_leader gauge
heartbeat_tuner_leader 1.0
heartbeat_tuner_cycle_duration_seconds_count 17.0
heartbeat_tuner_policies{verdict="Healthy"} 2.0
heartbeat_tuner_policy_decision{namespace="shop",policy="orders",verdict="Healthy",reason="Healthy"} 1
heartbeat_tuner_policy_model_used{namespace="shop",policy="mails"} 0
heartbeat_tuner_group_members{namespace="shop",policy="mails",group="mails",where="inside"} 3
"""


def look(at_h: float, rss_mib: float = 100.0, **changes: object) -> Vitals:
    """Return a look at a leader."""
    page = Page(bool(changes.get("leads", True)), 1, int(str(changes.get("own_series", 90))), 0, frozenset())
    return Vitals(
        at_h,
        "operator-a",
        int(str(changes.get("pid", 7))),
        rss_mib,
        int(str(changes.get("descriptors", 20))),
        int(str(changes.get("threads", 5))),
        page,
    )


def test_a_page_is_read_for_its_policies() -> None:
    """A series of a policy counts as one, whatever its family; what has no policy is apart."""
    page = Page.parsed(PAGE)
    assert page == Page(True, 17, 3, 3, frozenset({("shop", "orders"), ("shop", "mails")}))
    assert Page.parsed("") is None


def test_policies_that_are_gone_and_still_shown_are_named() -> None:
    """And those that live and are not shown: both are wrong at the end."""
    page = Page.parsed(PAGE)
    assert vitals.left_behind(page, {("shop", "orders"), ("shop", "new")}) == ([("shop", "mails")], [("shop", "new")])


def test_a_slope_is_that_of_both_parts_and_not_the_step_between_them() -> None:
    """A replica that leads in the last half has more to hold, which is no leak; growth in either part is one."""
    steady = [look(hour, 100 + 80 * (hour >= 6), leads=hour >= 6) for hour in range(12)]
    leaking = [look(hour, 100 + 2 * hour + 80 * (hour >= 6), leads=hour >= 6) for hour in range(12)]

    assert vitals.growth(steady).rss_mib_per_hour == pytest.approx(0)
    assert vitals.growth(leaking).rss_mib_per_hour == pytest.approx(2)
    assert verdict.complaints([vitals.growth(steady)], hours=24) == []
    assert verdict.complaints([vitals.growth(leaking)], hours=24) == [
        "operator-a (process 7) grew by 2 MiB of memory an hour; at most 1 are allowed"
    ]


def test_memory_is_not_judged_by_a_short_run() -> None:
    """What fills in the first minutes is no leak."""
    filling = vitals.growth([look(hour / 10, 100 + hour) for hour in range(10)])
    assert verdict.complaints([filling], hours=3) == []


@pytest.mark.parametrize("what", ["descriptors", "threads", "own_series"])
def test_what_must_stay_flat_is_named_when_it_rises(what: str) -> None:
    """A spike while a source is away is no rise; one more with each hour is."""
    spike = vitals.growth([look(hour, **{what: 50 if hour == 11 else 5}) for hour in range(12)])
    rising = vitals.growth([look(hour, **{what: 5 + hour}) for hour in range(12)])
    assert verdict.complaints([spike], hours=24) == []
    (sentence,) = verdict.complaints([rising], hours=24)
    assert "grew by 6 " in sentence


@pytest.mark.parametrize(
    ("what", "levels"),
    [
        # Each restart of the API server closes connections, which come again with what is asked.
        ("descriptors", [46, 46, 28, 31, 46, 28, 46, 46, 46, 28, 46, 46]),
        # A client is made again after an outage of the broker, and a look meets it without its threads.
        ("threads", [16, 16, 12, 16, 16, 16, 16, 16, 16, 16, 16, 16]),
    ],
)
def test_what_comes_and_goes_is_no_leak(what: str, levels: list[int]) -> None:
    """It lifts the median or the least; another one that stays each hour lifts both."""
    steady = vitals.growth([look(hour, **{what: level}) for hour, level in enumerate(levels)])
    leaking = vitals.growth([look(hour, **{what: level + 2 * hour}) for hour, level in enumerate(levels)])
    assert verdict.complaints([steady], hours=24) == []
    assert len(verdict.complaints([leaking], hours=24)) == 1


def test_a_new_leader_counts_when_it_has_read_what_there_is() -> None:
    """Looks just after a change of parts are left out, and those at which nothing was shown."""
    looks = [look(hour / 10, leads=hour >= 5) for hour in range(10)]
    lasting = vitals.settled(looks, for_h=0.19)
    assert [item.at_h for item in lasting] == [0.2, 0.3, 0.4, 0.7, 0.8, 0.9]


def test_growth_of_two_processes_is_not_computed() -> None:
    """A process that was killed took its leak along."""
    with pytest.raises(ValueError, match="show no growth"):
        vitals.growth([look(hour, pid=hour) for hour in range(12)])


@pytest.mark.parametrize("hours", [12.0, 24.0])
def test_all_faults_come_and_no_process_dies_late(hours: float) -> None:
    """A kill late in a run would end what is measured."""
    due = faults.schedule(hours)
    assert {item.kind for item in due} == set(Fault)
    assert all(item.at_h < hours / 2 for item in due if item.kind is Fault.KILL)
    assert any(item.at_h > hours / 2 for item in due if item.kind is Fault.CUT)


def test_a_replaced_pod_takes_the_place_of_the_oldest() -> None:
    """The others keep their names, or three pods would be replaced at once."""
    before, after = Replaced(3, 4), Replaced(3, 5)
    assert len(after.pods) == PODS_OF_POLICY
    assert after.pods[:-1] == before.pods[1:]
    assert after.pods[-1] not in before.pods


def test_before_the_start_pods_were_replaced_one_after_the_other() -> None:
    """Else dead ones would only begin to fill the hour that is read, and memory would rise for that."""
    past = Past(20, 3_900)
    now = past.generations()
    assert sum(now.values()) == 3_900 / REPLACED_EVERY_S
    before = [sum(past.generation(number, ago_s) for number in range(20)) for ago_s in (3_901, 1_950, 0)]
    assert before == [0, 326, 650]
    names = [Replaced(3, past.generation(3, ago_s)).pods for ago_s in (3_901, 0)]
    assert names[0][0].endswith("-00000")
    assert names[1] == Replaced(3, now["3"]).pods
