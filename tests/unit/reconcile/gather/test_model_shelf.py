"""Models that are read now and then, and what that means for policies."""

import asyncio
from datetime import timedelta

import pytest
import structlog

from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.models.group_model import NO_MODEL, Fitted, Unfitted, Unreadable
from heartbeat_tuner.reconcile.gather.model_shelf import ModelShelf
from heartbeat_tuner.reconcile.policy_store import PolicyStore
from tests.support import fitted, stages, worlds
from tests.support.electors import until
from tests.support.fakes import FakeModels
from tests.support.worlds import NOW

SOON = timedelta(milliseconds=5)
FORBIDDEN = Unfitted("the operator may not list ConsumerGroupModels")


def answer_of(shelf: ModelShelf, **changes: object) -> Fitted | Unfitted:
    """Return what the shelf has for a policy of group `orders`."""
    return shelf.of(worlds.policy(**changes), now=NOW)


async def test_a_policy_gets_the_model_of_its_own_namespace_and_group() -> None:
    """Another tenant's model of a group of the same name is nothing to it."""
    theirs = Fitted("orders", fitted.model(namespace="bank"))
    shelf = ModelShelf(FakeModels([theirs, Fitted("bills", fitted.model(group="bills"))]))
    await shelf.refresh()
    assert answer_of(shelf) == NO_MODEL
    broken = Unreadable("x", "shop", "orders", "spec.x: must be y")
    for mine, found in ((fitted.fitted(), fitted.fitted()), (broken, Unfitted("spec.x: must be y"))):
        shelf = ModelShelf(FakeModels([theirs, mine]))
        await shelf.refresh()
        assert answer_of(shelf) == found


async def test_the_groups_of_policies_are_asked_for() -> None:
    """As they are at each read: what else there is may be left out."""
    store, models = PolicyStore(), FakeModels()
    shelf = ModelShelf(models, asked=store.groups)
    await shelf.refresh()
    assert models.asked == frozenset()
    metadata = {"namespace": "shop", "name": "orders", "uid": "1", "resourceVersion": "7"}
    store.put({"metadata": metadata, "spec": {"groupId": "orders"}})
    store.put({"metadata": {**metadata, "name": "odd"}, "spec": {"groupId": 7}})
    store.put({"metadata": {**metadata, "name": "empty"}})
    await shelf.refresh()
    assert models.asked == {("shop", "orders")}


async def test_before_they_are_read_there_are_none() -> None:
    """And a new leader waits until there is an answer."""
    models = FakeModels([fitted.fitted()])
    models.error = ApiServerError("away")
    shelf = ModelShelf(models, retry=SOON)
    assert answer_of(shelf) == Unfitted("no ConsumerGroupModel was read yet")
    refreshing = asyncio.create_task(shelf.refresh())
    await until(lambda: models.reads > 1)
    assert not refreshing.done()
    models.error = None
    await asyncio.wait_for(refreshing, 20)
    assert answer_of(shelf) == fitted.fitted()


@pytest.mark.parametrize("error", [ApiServerError("away"), RuntimeError("a surprise")])
async def test_a_new_leader_starts_without_models_that_are_forbidden(error: Exception) -> None:
    """That is an answer; later they may be allowed, and later still be away for a while."""
    models = FakeModels(FORBIDDEN)
    shelf, stopped = ModelShelf(models, every=SOON, retry=SOON), asyncio.Event()
    await asyncio.wait_for(shelf.refresh(), 20)
    assert answer_of(shelf) == FORBIDDEN
    reading = asyncio.create_task(shelf.run_until(stopped))
    models.stored = [fitted.fitted()]
    await until(lambda: answer_of(shelf) == fitted.fitted())
    models.error, before = error, models.reads
    await until(lambda: models.reads > before + 1)
    assert answer_of(shelf) == fitted.fitted()
    stopped.set()
    await asyncio.wait_for(reading, 20)


async def test_a_surprise_costs_the_models_and_nothing_else() -> None:
    """A new leader must not wait for a better program."""
    models = FakeModels()
    models.error = RuntimeError("a surprise")
    shelf = ModelShelf(models)
    await asyncio.wait_for(shelf.refresh(), 20)
    assert answer_of(shelf) == Unfitted("the operator failed to read ConsumerGroupModels; its log says more")


async def test_each_trouble_is_told_once() -> None:
    """Not every five minutes."""
    models = FakeModels(FORBIDDEN)
    shelf = ModelShelf(models, retry=SOON)
    with structlog.testing.capture_logs() as logs:
        await shelf.refresh()
        await shelf.refresh()
        models.stored = [fitted.fitted()]
        await shelf.refresh()
        await shelf.refresh()
        models.error = ApiServerError("away")
        refreshing = asyncio.create_task(shelf.refresh())
        await until(lambda: models.reads > 6)
        models.error = None
        await refreshing
        models.stored = FORBIDDEN
        await shelf.refresh()
    assert [line["event"] for line in logs] == [
        "no models, groups are decided on by their records alone",
        "models read",
        "models not read, trying again",
        "no models, groups are decided on by their records alone",
    ]


async def test_the_status_says_which_model_was_asked() -> None:
    """The whole cycle: name, days, and what it expects; and nothing is written again while nothing happens."""
    stage = stages.calm()
    stage.models.stored = [fitted.fitted()]
    await stage.cycle()
    report = (
        "ConsumerGroupModel orders (14 days until 2026-03-01) expects evictions a month: under 0.01 (at most 0.048) "
        "for silence at the values set; no values are compared: group orders is PreparingRebalance with 0 members and "
        "has no partitions assigned that could be counted"
    )
    assert stage.policies.status_of(stages.ORDERS)["model"] == {
        "source": "Model",
        "name": "orders",
        "days": 14,
        "until": "2026-03-01",
        "message": report,
    }
    assert stage.message("Recommended").endswith("left as it is")
    writes = stage.policies.writes
    for _ in range(5):
        await stage.cycle()
    assert stage.policies.writes == writes


async def test_a_new_model_is_told_with_its_own_date() -> None:
    """Though only numbers of the sentence differ."""
    stage = stages.calm()
    stage.models.stored = [fitted.fitted(until=fitted.UNTIL - timedelta(days=1))]
    await stage.cycle()
    stage.models.stored = [fitted.fitted()]
    await stage.cycle()
    assert "(14 days until 2026-03-01)" in stage.policies.status_of(stages.ORDERS)["model"]["message"]
    assert stage.policies.status_of(stages.ORDERS)["model"]["until"] == "2026-03-01"


async def test_a_change_that_a_model_asked_for_more_of_says_so() -> None:
    """In the recommendation, beside what the record shows."""
    stage = stages.storm(mode="Recommend", objective={"maxDetectionTime": "5m"})
    stage.models.stored = [fitted.fitted(quantities={"absence": fitted.quantity(largest_s=60.0)})]
    await stage.cycle()
    recommended = stage.policies.status_of(stages.ORDERS)["recommendation"]
    assert recommended["target"]["sessionTimeout"] == "1m25s"
    assert "ConsumerGroupModel orders (14 days until 2026-03-01) asks for 1m23s" in stage.message("Recommended")
    expected = stage.policies.status_of(stages.ORDERS)["model"]["message"]
    assert expected.endswith("for silence at those recommended")


async def test_without_a_model_the_status_rests_on_the_record() -> None:
    """And says why."""
    stage = stages.calm()
    await stage.cycle()
    report = "No fitted model: no ConsumerGroupModel names the group"
    assert stage.policies.status_of(stages.ORDERS)["model"] == {"source": "Own", "message": report}
    assert stage.message("Recommended").endswith("left as it is")
