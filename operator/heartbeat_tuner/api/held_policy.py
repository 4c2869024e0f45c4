"""What is held of a `ConsumerGroupPolicy` between two looks: pure.

Thousands of them stay in memory on every replica. As the API server sends them, a third is managed fields, and as
dictionaries they take several times their text. So only what somebody reads is held: of the metadata some fields, spec
and status as JSON text, which is read again when it is asked for. A text, and a dictionary of texts alone, is also
nothing that Python's garbage collector has to walk through.
"""

import dataclasses
import functools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from heartbeat_tuner.api import group_config_notes
from heartbeat_tuner.api.v1alpha1 import installation_v1alpha1
from heartbeat_tuner.domain.shards import Installation

_OF_METADATA: Final = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
)
_METADATA: Final = "metadata"
_ANNOTATIONS: Final = "annotations"
_TEXTS: Final = ("spec", "status")

_INSTALLATIONS: Final = 64
"""Values that are held once for all policies."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class HeldPolicy(Mapping[str, Any]):
    """A policy as the API server has it, as far as it is held: `metadata`, `spec` and `status`.

    Attributes:
        metadata: the fields that are held of it; not to be changed.
        texts: JSON of `spec` and of `status`; empty for what the object does not have.
        installation: that wrote the status, as far as it says so.
    """

    metadata: Mapping[str, Any]
    texts: tuple[str, str]
    installation: Installation | None = None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "HeldPolicy":
        """Return what is held of an object; what is held already as it is."""
        if isinstance(body, HeldPolicy):
            return body
        spec, status = (json.dumps(body[name], separators=(",", ":")) if name in body else "" for name in _TEXTS)
        metadata = {name: body[_METADATA][name] for name in _OF_METADATA if name in body[_METADATA]}
        request = group_config_notes.revert_request(body)
        if request:
            metadata[_ANNOTATIONS] = {group_config_notes.REVERT_ANNOTATION: request}
        return cls(metadata, (spec, status), _installation(body.get("status")))

    @property
    def version(self) -> int:
        """Its resource version."""
        return int(self.metadata["resourceVersion"])

    def __getitem__(self, name: str) -> Any:
        """Return a part; `spec` and `status` are parsed at each call."""
        if name == _METADATA:
            return self.metadata
        text = self.texts[_TEXTS.index(name)] if name in _TEXTS else ""
        if not text:
            raise KeyError(name)
        return json.loads(text)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the parts that there are."""
        yield _METADATA
        yield from (name for name, text in zip(_TEXTS, self.texts, strict=True) if text)

    def __len__(self) -> int:
        """Return how many parts there are."""
        return sum(1 for _ in self)


def _installation(status: object) -> Installation | None:
    """Return who wrote a status; None where it names nobody, or what can be no installation."""
    noted = status.get("installation") if isinstance(status, Mapping) else None
    name, scope = (noted.get("name"), noted.get("scope")) if isinstance(noted, Mapping) else (None, None)
    if not isinstance(name, str) or re.fullmatch(installation_v1alpha1.NAME, name) is None:
        return None
    return _shared(name, str(scope))


@functools.lru_cache(_INSTALLATIONS)
def _shared(name: str, scope: str) -> Installation:
    """Return one value for all policies: there are few installations."""
    return Installation(name, names_namespaces=scope == installation_v1alpha1.NAMED_NAMESPACES)
