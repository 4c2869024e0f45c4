"""Models between the list that showed them and what is decided with."""

import asyncio
import gc
from typing import Any

from heartbeat_tuner.adapters.kubernetes.known_models import KnownModels
from heartbeat_tuner.api import model_documents
from heartbeat_tuner.models.group_model import Fitted, Unreadable
from heartbeat_tuner.tails.pool import TIMES_S, Pool
from tests.support import fitted


def document(group: str = "orders", *, version: str = "7", uid: str = "u", **changes: Any) -> dict[str, Any]:
    """Return an object as a list shows it."""
    found = model_documents.document_of(fitted.model(group=group, **changes))
    found["metadata"] |= {"uid": uid, "resourceVersion": version, "managedFields": [{"manager": "fit"}]}
    return found


async def read(known: KnownModels, *documents: dict[str, Any]) -> list[Fitted | Unreadable]:
    """Return what one read of these objects gives."""
    return await known.parsed([known.seen(document) for document in documents])


async def test_a_version_is_parsed_once() -> None:
    """Ten thousand models take seconds to parse, every five minutes, and change once a day."""
    known = KnownModels()
    (first,) = await read(known, document())
    assert isinstance(first, Fitted)
    assert first.model == fitted.model()
    assert known.seen(document()).text == ""
    assert (await read(known, document()))[0] is first
    for changed in (document(version="8", job="fit-2"), document(version="8", uid="another", job="fit-3")):
        (found,) = await read(known, changed)
        assert isinstance(found, Fitted)
        assert found.model.job == changed["spec"]["job"]


async def test_what_a_read_did_not_keep_is_forgotten() -> None:
    """Whoever writes models and takes them away again fills no memory."""
    known = KnownModels()
    await read(known, document("a"), document("b"))
    await read(known, document("a"))
    assert (known.seen(document("a")).text == "", known.seen(document("b")).text == "") == (True, False)


async def test_of_what_is_not_parsed_yet_only_text_is_held() -> None:
    """As dictionaries the list of a large fleet would fill 100 MiB while it is read."""
    seen = KnownModels().seen(document())
    assert all(isinstance(part, str) for part in (*seen.version, seen.text))
    assert "managedFields" not in seen.text
    assert not any(gc.is_tracked(part) for part in (seen.text, *seen.version))


async def test_what_cannot_be_read_is_said_each_time() -> None:
    """And one that names no group is none, each time."""
    odd, none = document(), document("b")
    odd["spec"]["days"] = -1
    del none["spec"]["groupId"]
    known = KnownModels()
    for _ in range(2):
        (found,) = await read(known, odd, none)
        assert isinstance(found, Unreadable)
        assert "days" in found.message


async def test_others_have_a_turn_while_many_are_parsed() -> None:
    """A probe must be answered meanwhile."""
    known, turns = KnownModels(), 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await read(known, *(document(f"group-{number}") for number in range(200)))
    counting.cancel()
    assert turns > 2


async def test_groups_of_a_kind_share_their_pool() -> None:
    """It is the largest part of a model."""
    pool = Pool(100.0, 9, TIMES_S, tuple(1.0 / (at + 1) for at in range(len(TIMES_S))), (1.0,) * len(TIMES_S))
    quantities = {"absence": fitted.quantity(pool=pool)}
    found = await read(KnownModels(), document("a", quantities=quantities), document("b", quantities=quantities))
    first, second = (item.model.quantities["absence"].pool for item in found if isinstance(item, Fitted))
    assert first == pool
    assert first is second
