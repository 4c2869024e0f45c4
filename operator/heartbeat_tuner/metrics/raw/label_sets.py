"""Labels of a series that is read again and again: small, and found by their hash.

A large fleet has hundreds of thousands of series with a dozen labels each, most of them the same from cycle to cycle.
"""

import functools
import sys
from collections.abc import ItemsView, Iterator, Mapping
from typing import Any, Final

_SHAPES: Final = 1024
"""How many different sets of names are shared; an exporter has one for each of its metrics."""


class Labels(Mapping[str, str]):
    """Names and values that do not change: a third of a dictionary's memory, with names that many share.

    Args:
        labels: what they are.
    """

    __slots__ = ("__weakref__", "_hash", "_names", "_values")

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._names = _shared(tuple(sorted(labels)))
        self._values = tuple([sys.intern(str(labels[name])) for name in self._names])
        self._hash = hash((self._names, self._values))

    def __getitem__(self, name: str) -> str:
        try:
            return self._values[self._names.index(name)]
        except ValueError:
            raise KeyError(name) from None

    def get(self, key: str, default: Any = None, /) -> Any:
        """Return the value of a label, or the default; asked of every series many times in a cycle."""
        return self._values[self._names.index(key)] if key in self._names else default

    def items(self) -> ItemsView[str, str]:
        """Return names and values, as those of a dictionary: these are gone through quickly."""
        return dict(zip(self._names, self._values, strict=True)).items()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Labels):
            return self._names == other._names and self._values == other._values
        return Mapping.__eq__(self, other)


@functools.lru_cache(_SHAPES)
def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(sys.intern, names))
