"""From days of histograms to models of groups."""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from heartbeat_tuner.fitting.contract import ContractError
from heartbeat_tuner.fitting.models import model_estimate
from heartbeat_tuner.models.group_model import GroupModel, QuantityModel
from heartbeat_tuner.tails.histogram import EDGES_S, SCHEMA, bucket_of
from heartbeat_tuner.tails.model import Rejected, RejectionReason, TailModel
from tests.support.fleet_days import TODAY, ago, fleet, of_day, table

NOW = datetime(2026, 11, 22, 1, tzinfo=UTC)


def models(rows: pa.Table) -> list[GroupModel]:
    """Return the models as of today."""
    return list(model_estimate.models(rows, on=TODAY, fitted_at=NOW, job="fit-1"))


def absences(model: GroupModel) -> QuantityModel:
    """Return the one quantity that tests have."""
    return model.quantities["absence"]


def test_a_model_says_on_what_it_rests() -> None:
    """Whose it is, its days, and how long was watched, whole days each."""
    found = models(fleet(4, groups=3))
    assert [item.group for item in found] == ["orders-0", "orders-1", "orders-2"]
    model = found[0]
    assert (model.cluster, model.namespace, model.client, model.schema) == ("", "shop", "java", SCHEMA)
    assert (model.since, model.until, model.days, model.fitted_at, model.job) == (ago(3), TODAY, 4, NOW, "fit-1")
    seen = absences(model)
    assert (seen.values, seen.member_days, seen.group_days) == (4 * 2_880, 12.0, 4.0)
    assert isinstance(seen.tail, TailModel)


def test_newer_days_tell_more() -> None:
    """Delays that became longer a week ago show in the tail; older ones only fade."""
    before, since = fleet(7, groups=4, newest=ago(7)), fleet(7, groups=4, longer=3.0)
    quantiles = []
    for rows in (pa.concat_tables([before, since]), fleet(14, groups=4, longer=3.0), fleet(14, groups=4)):
        tail = absences(models(rows)[0]).tail
        assert isinstance(tail, TailModel)
        quantiles.append(tail.quantile_s(1e-3))
    changed, long, short = quantiles
    assert changed > 0.8 * long
    assert changed > 2 * short
    assert models(pa.concat_tables([before, since]))[0].days == 14


def test_the_largest_value_never_fades() -> None:
    """It is what bounds without a shape rest on; an old one is as true as a new one."""
    old = of_day(ago(13), {"orders-0": {600: 1}})
    found = absences(models(pa.concat_tables([old, fleet(2, groups=2)]))[0])
    assert found.largest_s == EDGES_S[601]
    assert absences(models(of_day(TODAY, {"orders": {-2: 960}}))[0]).largest_s is None


def test_order_does_not_matter() -> None:
    """Of rows, of days, and of text columns that are dictionaries: the same models to the last bit."""
    rows = pa.concat_tables([fleet(5, groups=12), of_day(TODAY, {"few": {5: 3}}, cluster="eu", client="kafkajs")])
    want = models(rows)
    rng = np.random.default_rng(1)
    for _ in range(3):
        turned = rows.take(rng.permutation(rows.num_rows))
        assert models(turned) == want
        parts = [turned.slice(start, 100) for start in range(0, turned.num_rows, 100)]
        coded = [
            pa.table(
                [
                    column.combine_chunks().dictionary_encode() if column.type == pa.string() else column
                    for column in part.columns
                ],
                names=part.column_names,
            )
            for part in parts
        ]
        assert models(pa.concat_tables(coded)) == want


def test_a_rejected_tail_keeps_its_reason() -> None:
    """Nothing is told of a tail that is not known, and the group has a model all the same."""
    watched = of_day(TODAY, {"idle": {-1: 960, -2: 960}, "few": {5: 3, -1: 960, -2: 960}})
    found = {model.group: absences(model) for model in models(pa.concat_tables([fleet(1, groups=5), watched]))}
    idle, few = found["idle"].tail, found["few"].tail
    assert isinstance(idle, Rejected)
    assert idle.reason is RejectionReason.NO_VALUES
    assert isinstance(few, Rejected)
    assert few.reason is RejectionReason.TOO_FEW_VALUES
    assert (found["idle"].values, found["idle"].group_days) == (0, 1.0)


def test_a_model_says_what_is_usual_and_how_often_events_come() -> None:
    """Three crashes in 100 member-days, of 20 s each; a group that saw none is drawn towards them."""
    crashed = bucket_of(20.0).item()
    rows = table(
        (TODAY, "", "shop", "orders", "java", "crashDowntime", crashed, 3),
        *((TODAY, "", "shop", group, "java", "crashDowntime", -1, 96_000) for group in ("orders", "idle")),
    )
    found = {
        model.group: model.quantities["crashDowntime"]
        for model in models(pa.concat_tables([fleet(1, groups=2), rows]))
        if "crashDowntime" in model.quantities
    }
    orders, idle = found["orders"], found["idle"]
    assert orders.median_s == pytest.approx(20.0, rel=0.02)
    assert idle.median_s is None
    for item in (orders, idle):
        assert item.rate is not None
        assert item.duration is not None
        assert 0 < item.rate.mean < 0.03
        assert np.exp(item.duration.mean_log) == pytest.approx(20.0, rel=0.02)
    assert orders.rate is not None
    assert idle.rate is not None
    assert idle.rate.mean < orders.rate.mean < idle.rate.mean * 10
    delays = absences(models(fleet(1, groups=2))[0])
    assert delays.median_s is not None
    assert (delays.rate, delays.duration) == (None, None)


@pytest.mark.parametrize(
    ("first", "second", "client", "days"),
    [
        ((3, 2), (1, 0), "kafkajs", 2),
        ((3, 1), (1, 0), "kafkajs", 2),  # a rollout: both for a day
        ((1, 0), (3, 1), "java", 2),  # and back
        ((3, 0), (2, 1), "java", 4),  # tried, and taken back
        ((3, 0), (3, 0), "java", 4),  # side by side: the one with more values
    ],
)
def test_a_group_that_changed_its_client_starts_anew(
    first: tuple[int, int], second: tuple[int, int], client: str, days: int
) -> None:
    """Another library has other delays; its days alone are told."""
    rows = [of_day(ago(age), {"orders": {5: 9}}, client="java") for age in range(first[1], first[0] + 1)]
    rows += [of_day(ago(age), {"orders": {5: 1}}, client="kafkajs") for age in range(second[1], second[0] + 1)]
    (found,) = models(pa.concat_tables(rows))
    assert (found.client, found.days) == (client, days)
    assert absences(found).values == days * (9 if client == "java" else 1)


def test_groups_of_one_name_are_told_apart() -> None:
    """By cluster and namespace; models are sorted by them."""
    row = (TODAY, "eu", "shop", "orders", "java", "absence", 5, 1)
    rows = [(row[0], cluster, namespace, *row[3:]) for cluster in ("us", "eu") for namespace in ("z", "a")]
    found = models(table(*rows))
    assert [(item.cluster, item.namespace, absences(item).values) for item in found] == [
        ("eu", "a", 1),
        ("eu", "z", 1),
        ("us", "a", 1),
        ("us", "z", 1),
    ]


def test_quantities_are_fitted_apart() -> None:
    """A group has those that it has rows of."""
    rows = table(
        (TODAY, "", "shop", "orders", "java", "pollGap", 700, 2),
        (TODAY, "", "shop", "orders", "java", "absence", 5, 1),
        (TODAY, "", "shop", "bills", "java", "absence", 5, 1),
    )
    bills, orders = models(rows)
    assert list(bills.quantities) == ["absence"]
    assert {name: quantity.values for name, quantity in orders.quantities.items()} == {"absence": 1, "pollGap": 2}


def test_strata_are_clients_and_clusters() -> None:
    """What Java's groups have in common says little of a KafkaJS group whose tail is much heavier."""
    steady = fleet(3, groups=30)
    rng = np.random.default_rng(3)
    heavy = {
        f"js-{number}": {int(bucket): 1 for bucket in np.unique(rng.integers(200, 640, 300))} for number in range(30)
    }
    own = absences(models(pa.concat_tables([steady, of_day(TODAY, heavy, client="kafkajs")]))[0]).tail
    same = absences(models(pa.concat_tables([steady, of_day(TODAY, heavy, client="java")]))[0]).tail
    assert own != same


def polling(rows: pa.Table) -> pa.Table:
    """Return rows with gaps between polls of each group, so short that they show all absences."""
    groups = rows.select(["cluster", "namespace", "group", "client"]).group_by(
        ["cluster", "namespace", "group", "client"]
    )
    gaps = [
        (TODAY, group["cluster"], group["namespace"], group["group"], group["client"], "pollGap", 100, 1)
        for group in groups.aggregate([]).to_pylist()
    ]
    return pa.concat_tables([rows, table(*gaps)])


def test_groups_that_hide_what_ended_in_an_eviction_know_that_of_others() -> None:
    """Handlers of seconds hide absences in gaps between polls; evictions that are counted hide nothing."""
    watched = {-1: 9_600, -2: 960}
    hiding = of_day(TODAY, {f"orders-{number}": {350: 20, 380: 20, **watched} for number in range(6)})
    showing = polling(hiding)
    counting = table(
        *((TODAY, "", "shop", f"orders-{number}", "java", "eviction", -1, 9_600) for number in range(6)),
    )
    pools = [absences(models(rows)[0]).pool for rows in (hiding, showing, pa.concat_tables([hiding, counting]))]
    hidden, shown, counted = pools
    assert hidden is not None
    assert hidden.hides_from_s == pytest.approx(64.0)
    assert shown == counted
    assert shown is not None
    assert shown.hides_from_s is None
    assert hidden.per_day[-1] > 10 * shown.per_day[-1]


def test_groups_of_one_kind_know_what_each_of_them_saw() -> None:
    """Of absences and outages: the same for all groups of a library on a cluster, old values in full; no poll gaps."""
    days = pa.concat_tables([fleet(4, groups=6), of_day(ago(13), {"orders-3": {450: 1}})])
    others = of_day(TODAY, {f"js-{number}": {650: 1, -1: 9_600, -2: 960} for number in range(5)}, client="kafkajs")
    unwatched = of_day(TODAY, {"js-5": {650: 1_000}}, client="kafkajs")
    few = of_day(TODAY, {f"eu-{number}": {650: 1, -1: 9_600} for number in range(4)}, cluster="eu")
    pools = {
        model.group: absences(model).pool for model in models(polling(pa.concat_tables([days, others, unwatched, few])))
    }
    java = pools["orders-0"]
    assert java is not None
    assert java == pools["orders-3"] == pools["orders-5"]
    assert java.days == pytest.approx(72.0)
    assert java.groups == 6
    assert java.per_day[java.times_s.index(256.0)] == pytest.approx(1 / 72.0)
    kafkajs = pools["js-0"]
    assert kafkajs is not None
    assert kafkajs.days == pytest.approx(50.0)
    assert kafkajs.groups == 5
    assert kafkajs.per_day[0] == pytest.approx(5 / 50.0)
    eu = pools["eu-0"]
    assert eu is not None
    assert eu.groups == 4, "few know what they saw themselves"
    assert eu.days == pytest.approx(40.0)
    for name, watched in (("outage", 20.0), ("pollGap", None)):
        rows = table(
            *(
                (ago(age), "", "shop", f"orders-{number}", "java", name, bucket, count)
                for age in range(4)
                for number in range(5)
                for bucket, count in ((500, 1), (-1, 2_880), (-2, 960))
            )
        )
        found = models(rows)[0].quantities[name].pool
        assert found is None if watched is None else found is not None and found.days == pytest.approx(watched)


def test_groups_whose_pauses_are_usually_long_are_a_kind_of_their_own() -> None:
    """A full heap freezes for longer, too; fewer than five such groups know what all of the library's saw."""
    watched = {-1: 9_600, -2: 960}
    quick = of_day(TODAY, {f"quick-{number}": {100: 1_000, 300: 1, **watched} for number in range(6)})
    slow = of_day(TODAY, {f"slow-{number}": {400: 1_000, **watched} for number in range(6)})
    pools = {model.group: absences(model).pool for model in models(polling(pa.concat_tables([quick, slow])))}
    apart = pools["quick-0"], pools["slow-0"]
    assert apart[0] is not None
    assert apart[1] is not None
    assert (apart[0].groups, apart[1].groups) == (6, 6)
    assert apart[0].per_day[0] == pytest.approx(6 / 60.0)
    assert apart[1].per_day[0] == pytest.approx(6_000 / 60.0)
    few = of_day(TODAY, {f"slow-{number}": {400: 1_000, **watched} for number in range(4)})
    together = {model.group: absences(model).pool for model in models(polling(pa.concat_tables([quick, few])))}
    assert together["slow-0"] is not None
    assert together["slow-0"].groups == 10
    assert together["quick-0"] == apart[0]


def test_nothing_gives_nothing() -> None:
    """No rows, no models."""
    assert models(table()) == []


def test_what_cannot_be_is_refused() -> None:
    """A day to come is a clock that is wrong; a count below zero is no count."""
    with pytest.raises(ValueError, match="day 2026-11-22: lies after 2026-11-21, the newest day of the fit"):
        models(of_day(ago(-1), {"orders": {5: 1}}))
    with pytest.raises(ContractError, match="column n has -1"):
        models(of_day(TODAY, {"orders": {5: -1}}))
