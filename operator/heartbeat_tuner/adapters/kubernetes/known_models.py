"""`ConsumerGroupModel` objects between the page that showed them and what is decided with.

A list is read every few minutes and its objects change once a day, so what was parsed of a version is kept and not
parsed again: that takes ten times as long as reading the list. Of what is new JSON text waits for its turn, a tenth of
what it takes as dictionaries.
"""

import asyncio
import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from heartbeat_tuner.api import model_documents
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.models.group_model import Fitted, Unreadable

_PARSED_AT_ONCE: Final = 50


@dataclasses.dataclass(frozen=True, slots=True)
class ListedModel:
    """An object as a list showed it.

    Attributes:
        key: its namespace and name.
        version: its uid and resource version.
        text: JSON of its spec; empty where this version was parsed before.
    """

    key: ObjectKey
    version: tuple[str, str]
    text: str


class KnownModels:
    """What was parsed of the objects that the last read kept."""

    def __init__(self) -> None:
        self._known: Mapping[ObjectKey, tuple[tuple[str, str], Fitted | Unreadable | None]] = {}

    def seen(self, document: Mapping[str, Any]) -> ListedModel:
        """Return what is held of an object until it is parsed."""
        key, metadata = model_documents.key_of(document), document["metadata"]
        version = (metadata["uid"], metadata["resourceVersion"])
        is_known = key in self._known and self._known[key][0] == version
        text = "" if is_known else json.dumps(document.get("spec"), separators=(",", ":"))
        return ListedModel(key, version, text)

    async def parsed(self, objects: Iterable[ListedModel]) -> list[Fitted | Unreadable]:
        """Return the models of objects, and forget all others."""
        known: dict[ObjectKey, tuple[tuple[str, str], Fitted | Unreadable | None]] = {}
        parsed = 0
        for seen in objects:
            known[seen.key] = self._known[seen.key] if not seen.text else (seen.version, _read(seen))
            parsed += bool(seen.text)
            if parsed % _PARSED_AT_ONCE == 0:
                await asyncio.sleep(0)  # others have a turn
        self._known = known
        return [model for _, model in known.values() if model is not None]


def _read(seen: ListedModel) -> Fitted | Unreadable | None:
    metadata = {"namespace": seen.key.namespace, "name": seen.key.name}
    return model_documents.read({"metadata": metadata, "spec": json.loads(seen.text)})
