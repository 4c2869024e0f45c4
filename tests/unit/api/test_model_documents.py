"""A model's document: there and back without loss, and nothing bad gets in."""

import copy
import dataclasses
import json
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heartbeat_tuner.api import model_documents
from heartbeat_tuner.api.model_documents import ForeignSchemaError, InvalidModelError
from heartbeat_tuner.models.group_model import EarlierTail, Fitted, GroupModel, QuantityModel, Unreadable
from heartbeat_tuner.tails.model import Rejected, RejectionReason, TailModel, ThresholdSource
from heartbeat_tuner.tails.pool import Pool
from heartbeat_tuner.tails.rates import Duration, Rate
from tests.support import fitted

DNS = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")

days = st.dates(date(2020, 1, 1), date(2100, 1, 1))
moments = st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
positive = st.floats(1e-9, 1e5)


@st.composite
def tails(draw: st.DrawFn) -> TailModel:
    """Return tails as a fit gives them."""
    shape, scale = draw(st.floats(1e-6, 1)), draw(st.floats(1e-6, 1))
    return TailModel(
        threshold_s=draw(positive),
        share=draw(st.floats(1e-9, 1)),
        share_log_sd=draw(st.floats(0, 3)),
        shape=draw(st.floats(-1, 0.949)),
        log_scale=draw(st.floats(-15, 15)),
        covariance=(shape, draw(st.floats(-0.9, 0.9)) * math.sqrt(shape * scale), scale),
        fraction=draw(st.floats(1e-4, 0.05)),
        source=draw(st.sampled_from(ThresholdSource)),
        samples=draw(st.floats(0, 1e9)),
        exceedances=draw(st.floats(0, 1e9)),
        largest_s=draw(st.floats(0, 2**21)),
        anderson_darling=draw(st.floats(0, 100)),
        distance=draw(st.floats(0, 1)),
    )


positives = st.floats(1e-9, 1e9)
per_day = st.floats(1e-9, 1e3)
rates = st.tuples(per_day, per_day).map(lambda both: Rate(min(both), max(both)))
durations = st.builds(Duration, st.floats(-8, 15), st.floats(1e-3, 8), positives)
rejections = st.builds(Rejected, st.sampled_from(RejectionReason), st.text(st.characters(codec="utf-8"), max_size=80))
earlier_tails = st.builds(EarlierTail, tails(), positive, days, days, moments)


@st.composite
def pools(draw: st.DrawFn) -> Pool:
    """Return pools of one to 16 times."""
    times = sorted(draw(st.lists(st.floats(1e-3, 2**21), min_size=1, max_size=16, unique=True)))
    rates = draw(st.lists(positives, min_size=len(times), max_size=len(times)))
    spreads = draw(st.lists(st.floats(1e-3, 1e3), min_size=len(times), max_size=len(times)))
    return Pool(
        draw(st.floats(0, 1e9)),
        draw(st.integers(1, 10**6)),
        tuple(times),
        tuple(sorted(rates, reverse=True)),
        tuple(spreads),
        draw(st.none() | st.floats(0, 2**21)),
        draw(st.none() | st.lists(st.floats(1, 1e3), min_size=len(times), max_size=len(times)).map(tuple)),
    )


@st.composite
def quantities(draw: st.DrawFn) -> QuantityModel:
    """Return quantities with a tail, or without one, with a kept one or without."""
    tail = draw(tails() | rejections)
    return QuantityModel(
        values=draw(st.integers(0, 10**9)),
        member_days=draw(st.floats(0, 1e4)),
        group_days=draw(st.floats(0, 1)),
        largest_s=draw(st.none() | st.floats(0, 2**21)),
        tail=tail,
        kept=draw(st.none() | earlier_tails) if isinstance(tail, Rejected) else None,
        median_s=draw(st.none() | st.floats(0, 2**21)),
        regime_since=draw(st.none() | st.dates(date(2000, 1, 1), date(2100, 1, 1))),
        rate=draw(st.none() | rates),
        duration=draw(st.none() | durations),
        pool=draw(st.none() | pools()),
    )


@st.composite
def group_models(draw: st.DrawFn) -> GroupModel:
    """Return models as a fit gives them."""
    since, until = sorted([draw(days), draw(days)])
    return GroupModel(
        namespace="shop",
        group=draw(
            st.text(st.characters(min_codepoint=32, exclude_characters="\x7f\ufffd", codec="utf-8"), min_size=1)
        ),
        client=draw(st.sampled_from(["java", "kafkajs"])),
        cluster=draw(st.sampled_from(["", "main"])),
        schema=1,
        since=since,
        until=until,
        days=draw(st.integers(0, 28)),
        fitted_at=draw(moments),
        job="fit-1",
        quantities=draw(st.dictionaries(st.sampled_from(["absence", "pollGap", "outage"]), quantities())),
    )


@given(group_models())
def test_a_model_comes_back_as_it_went(model: GroupModel) -> None:
    """Through JSON, bit by bit."""
    assert (
        model_documents.model_of(json.loads(json.dumps(model_documents.document_of(model), allow_nan=False))) == model
    )


def test_an_object_of_an_older_version_is_read() -> None:
    """Its quantities have neither median, rate, duration nor pool: they are not known."""
    full = fitted.quantity(
        median_s=0.1, rate=Rate(0.2, 0.5), duration=Duration(3.0, 0.4, 8.0), pool=Pool(70.0, 5, (3.0,), (0.1,), (1.0,))
    )
    document = model_documents.document_of(fitted.model(quantities={"absence": full}))
    (stored,) = document["spec"]["quantities"]
    for name in ("medianSeconds", "rate", "duration", "pool"):
        del stored[name]
    assert model_documents.model_of(document) == fitted.model()


def test_numbers_that_a_server_writes_shorter_are_the_same() -> None:
    """The API server stores 42.0 as 42."""
    model = fitted.model()
    stored = json.loads(json.dumps(model_documents.document_of(model)).replace("42.0", "42").replace("14.0", "14"))
    assert model_documents.model_of(stored) == model
    assert model_documents.due(model, stored) is None


@given(st.text(min_size=1, max_size=300), st.sampled_from(["", "main", "a.b"]))
def test_every_name_is_one_that_kubernetes_bears(group: str, cluster: str) -> None:
    """Whatever a group is called; and the same one each time."""
    name = model_documents.name_of(group, cluster)
    assert DNS.fullmatch(name)
    assert len(name) <= 100
    assert name == model_documents.name_of(group, cluster)


names = st.text("aA-._0f", min_size=1, max_size=6)


@given(names, names, st.sampled_from(["", "main"]), st.sampled_from(["", "main"]))
def test_no_two_groups_share_a_name(first: str, another: str, cluster: str, other: str) -> None:
    """Also those that only what a name cannot hold tells apart."""
    assume((first, cluster) != (another, other))
    assert model_documents.name_of(first, cluster) != model_documents.name_of(another, other)


def test_a_plain_group_has_its_own_name_and_nobody_can_take_anothers() -> None:
    """A group that is called like another's hashed name gets a hash itself."""
    assert model_documents.name_of("orders.eu-1", "") == "orders.eu-1"
    hashed = model_documents.name_of("Orders", "")
    assert re.fullmatch("orders-[0-9a-f]{12}", hashed)
    assert model_documents.name_of(hashed, "") != hashed
    assert model_documents.name_of("日本", "").startswith("group-")


def spec_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return the spec of a document."""
    found: dict[str, Any] = document["spec"]
    return found


def tail_of(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the only tail of a spec."""
    found: dict[str, Any] = spec["quantities"][0]["tail"]
    return found


def tail(**fields: Any) -> Callable[[dict[str, Any]], None]:
    """Return what sets fields of the tail."""
    return lambda spec: tail_of(spec).update(fields)


def covariance(**fields: Any) -> Callable[[dict[str, Any]], None]:
    """Return what sets fields of the tail's covariance."""
    return lambda spec: tail_of(spec)["covariance"].update(fields)


def quantity(**fields: Any) -> Callable[[dict[str, Any]], None]:
    """Return what sets fields of the quantity."""
    return lambda spec: spec["quantities"][0].update(fields)


def whole(**fields: Any) -> Callable[[dict[str, Any]], None]:
    """Return what sets fields of the spec."""
    return lambda spec: spec.update(fields)


KEPT: dict[str, Any] = {
    "since": "2026-01-01",
    "until": "2026-01-02",
    "fitTime": "2026-01-03T00:00:00Z",
    "valuesPerDay": 1,
    "tail": model_documents.document_of(fitted.model())["spec"]["quantities"][0]["tail"],
}
POOL = {"days": 70.0, "groups": 5, "timesSeconds": [3.0, 4.0], "perDay": [0.2, 0.1], "spreads": [1.0, 1.0]}
BAD: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    (r"quantities.0.tail: shape must be below 1", tail(shape=1)),
    (r"quantities.0.tail.shape: nan is not a finite number", tail(shape=math.nan)),
    (r"quantities.0.tail.logScale: .*finite", tail(logScale=math.inf)),
    (r"quantities.0.tail.share: 1.5 is above the highest value, 1", tail(share=1.5)),
    (r"quantities.0.tail: thresholdSeconds and share", tail(share=0)),
    (r"quantities.0.tail: thresholdSeconds and share", tail(thresholdSeconds=0)),
    (r"quantities.0.tail.largestSeconds: -1 is below the lowest value, 0", tail(largestSeconds=-1)),
    (r"quantities.0.tail.source: ", tail(source="Heaven")),
    (r"quantities.0.tail.covariance.shape: -1 is below the lowest value", covariance(shape=-1)),
    (r"quantities.0.tail.covariance: must be a covariance", covariance(shape=0)),
    (r"quantities.0.tail.covariance: must be a covariance", covariance(shapeLogScale=1)),
    (r"quantities.0.largestSeconds: -1 is below the lowest value, 0", quantity(largestSeconds=-1)),
    (r"quantities.0.medianSeconds: -1 is below the lowest value, 0", quantity(medianSeconds=-1)),
    (r"quantities.0.rate.mean: 0 is below the lowest value, 1e-09", quantity(rate={"mean": 0, "upper": 1})),
    (r"quantities.0.rate.upper: .*finite", quantity(rate={"mean": 1, "upper": math.inf})),
    (r"quantities.0.duration: worth must be above 0", quantity(duration={"meanLog": 1, "sdLog": 1, "worth": 0})),
    (
        r"quantities.0.duration.sdLog: 0 is below the lowest value",
        quantity(duration={"meanLog": 1, "sdLog": 0, "worth": 1}),
    ),
    (r"quantities.0.pool: timesSeconds, perDay and spreads must be of one", quantity(pool=POOL | {"perDay": [1.0]})),
    (r"quantities.0.pool: timesSeconds, perDay and spreads must be of one", quantity(pool=POOL | {"spreads": [1.0]})),
    (r"quantities.0.pool.spreads.0: ", quantity(pool=POOL | {"spreads": [0.0, 1.0]})),
    (r"quantities.0.pool: timesSeconds and clumps must be of one", quantity(pool=POOL | {"clumps": [1.0]})),
    (r"quantities.0.pool.clumps.0: ", quantity(pool=POOL | {"clumps": [0.9, 1.0]})),
    (r"quantities.0.pool: timesSeconds must rise", quantity(pool=POOL | {"timesSeconds": [4.0, 4.0]})),
    (r"quantities.0.pool: timesSeconds must rise", quantity(pool=POOL | {"timesSeconds": [0.0, 4.0]})),
    (r"quantities.0.pool: perDay must fall", quantity(pool=POOL | {"perDay": [1.0, 2.0]})),
    (r"quantities.0.pool: perDay must fall", quantity(pool=POOL | {"perDay": [1.0, 0.0]})),
    (
        r"quantities.0.pool.perDay: there are more entries than the maximum, 16",
        quantity(pool=POOL | {"perDay": [1.0] * 17}),
    ),
    (r"quantities.0: must have either", quantity(tail=None)),
    (r"quantities.0: a tail is kept only", quantity(kept=KEPT)),
    (r"spec: absence stands there more than once", lambda spec: spec["quantities"].append(spec["quantities"][0])),
    (r"spec: since must not be after until", whole(until="2020-01-01")),
    (r"spec.until: .*'yesterday'", whole(until="yesterday")),
    (r"spec.fitTime: must have a time zone", whole(fitTime="2026-01-01T00:00:00")),
    (r"spec.groupId: must not hold control", whole(groupId="a\nb")),
    (r"spec.histogramSchema: ", whole(histogramSchema="one")),
    (r"spec.histogramSchema: ", whole(histogramSchema=0)),
    (r"spec.client: this field is required; add it", lambda spec: spec.pop("client")),
]


@pytest.mark.parametrize(("sentence", "spoil"), BAD)
def test_a_bad_document_is_told_with_field_rule_value_and_fix(
    sentence: str, spoil: Callable[[dict[str, Any]], Any]
) -> None:
    """Nothing of it is used."""
    document = model_documents.document_of(fitted.model())
    spoil(document["spec"])
    with pytest.raises(InvalidModelError, match=sentence) as refused:
        model_documents.model_of(document)
    assert str(refused.value).startswith("ConsumerGroupModel shop/orders cannot be used: spec")
    assert str(refused.value).endswith(". Delete it, and the next fit writes it again")
    assert not isinstance(refused.value, ForeignSchemaError)


def test_what_is_no_object_at_all_is_told_too() -> None:
    """The file may have been anything."""
    nothing: tuple[Any, ...] = (None, [], "spec")
    for spec in nothing:
        with pytest.raises(InvalidModelError, match="spec"):
            model_documents.model_of({"metadata": {"namespace": "shop", "name": "orders"}, "spec": spec})


def test_another_schema_is_foreign_not_wrong() -> None:
    """Its numbers are not even looked at."""
    document = model_documents.document_of(fitted.model(schema=2))
    tail_of(document["spec"])["shape"] = "of things to come"
    with pytest.raises(ForeignSchemaError, match="histogram schema 2, and this version reads 1"):
        model_documents.model_of(document)


def test_a_model_with_bad_numbers_is_not_written() -> None:
    """The fit is not trusted either."""
    for spoiled in ({"share": math.nan}, {"shape": 1.2}, {"covariance": (1.0, 2.0, 1.0)}):
        model = fitted.model(quantities={"absence": fitted.quantity(tail=fitted.tail(**spoiled))})
        with pytest.raises(InvalidModelError, match=r"model of group shop/orders: spec.quantities.0.tail"):
            model_documents.document_of(model)
    with pytest.raises(InvalidModelError, match=r"namespace '../x' is no name"):
        model_documents.document_of(fitted.model(namespace="../x"))


def test_only_what_a_model_says_makes_it_different() -> None:
    """Another run that says the same is nothing to write."""
    model = fitted.model()
    stored = model_documents.document_of(model)
    later = dataclasses.replace(model, fitted_at=model.fitted_at + timedelta(days=1), job="fit-2")
    assert model_documents.due(later, stored) is None
    assert model_documents.due(dataclasses.replace(later, days=13), stored) is not None
    assert model_documents.due(model, None) == stored


def test_a_stored_model_that_cannot_be_read_is_replaced() -> None:
    """Whatever somebody wrote there."""
    model, stored = fitted.model(), copy.deepcopy(model_documents.document_of(fitted.model()))
    tail_of(spec_of(stored))["shape"] = 3
    assert model_documents.due(model, stored) == model_documents.document_of(model)


def test_a_rejected_tail_is_written_with_the_last_good_one() -> None:
    """Once and again: what is kept stays the same, so there is nothing to write."""
    bad = fitted.model(quantities={"absence": fitted.quantity(tail=Rejected(RejectionReason.BAD_FIT, "9.1" * 2000))})
    first = model_documents.due(bad, model_documents.document_of(fitted.model()))
    assert first is not None
    quantity = first["spec"]["quantities"][0]
    assert quantity["rejected"]["reason"] == "BadFit"
    assert quantity["kept"]["until"] == "2026-03-01"
    assert (first["spec"]["fitted"], first["spec"]["rejected"]) == (0, 1)
    assert model_documents.due(bad, first) is None


def test_a_reason_of_another_version_is_told_in_its_word() -> None:
    """A newer fit may know more reasons."""
    document = model_documents.document_of(
        fitted.model(quantities={"absence": fitted.quantity(tail=Rejected(RejectionReason.NO_TAIL, "all alike"))})
    )
    document["spec"]["quantities"][0]["rejected"]["reason"] = "Unheard"
    assert model_documents.model_of(document).quantities["absence"].tail == Rejected(
        RejectionReason.BAD_FIT, "Unheard: all alike"
    )


def test_what_was_read_is_a_model_or_says_whose_it_is() -> None:
    """What says neither is nobody's."""
    document = model_documents.document_of(fitted.model())
    assert model_documents.read(document) == Fitted("orders", fitted.model())
    tail_of(document["spec"])["shape"] = 1
    found = model_documents.read(document)
    assert isinstance(found, Unreadable)
    assert (found.namespace, found.group, found.name) == ("shop", "orders", "orders")
    assert "shape must be below 1" in found.message
    assert model_documents.read({"metadata": {"namespace": "shop", "name": "x"}, "spec": {}}) is None
    assert model_documents.read({"metadata": {"namespace": "shop", "name": "x"}}) is None
