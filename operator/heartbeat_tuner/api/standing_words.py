"""Which sentences of a status stand, while only figures in them move that move by themselves.

A status must not move while nothing happens: each write costs the API server, and who reads it would look for news. So
a sentence stays in its words as long as it says the same (`sentences.identity`): the same phrase with the same facts,
as rounded as they are shown; readings are left out. What each sentence says is remembered beside the status; a text is
never read back. Pure.

A new leader finds texts of which it does not know what they say. Those that show readings stand at its first look, so
that a change of leaders is no reason to write ten thousand statuses; when it makes a status for the second time it
tells what it has found out itself, if that reads otherwise. All other texts are compared as they are.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.api.v1alpha1.fields import MAX_MESSAGE
from heartbeat_tuner.domain import sentences
from heartbeat_tuner.domain.sentences import Identity

_UNKNOWN: Final[Identity] = ()
"""What a text says that another leader wrote."""


@dataclasses.dataclass(frozen=True, slots=True)
class StandingWords:
    """What the sentences of one status say.

    Attributes:
        known: of each place in the status, by its name: what its text says, with the text itself. As one hash, since
            there are ten thousand statuses.
    """

    known: Mapping[str, int] = dataclasses.field(default_factory=lambda: MappingProxyType({}))

    def told(self, place: str, standing: str | None, sentence: str, *, may_stand: bool) -> tuple[str, "StandingWords"]:
        """Return the text that should stand in a place, with what is then known of all.

        Args:
            place: in the status.
            standing: the text there; None where there is none.
            sentence: what is to be said.
            may_stand: whether everything is as it was that a sentence is about, but for what is in it.
        """
        says, new = sentences.identity(sentence), fitting(sentence)
        if standing is None or not may_stand or standing == new:
            return new, self._with(place, says, new)
        if place not in self.known and sentences.has_readings(sentence):
            return standing, self._with(place, _UNKNOWN, standing)
        if self.known.get(place) == hash((says, standing)):
            return standing, self
        return new, self._with(place, says, new)

    def _with(self, place: str, says: Identity, text: str) -> "StandingWords":
        return StandingWords({**self.known, place: hash((says, text))})


NOTHING_KNOWN: Final = StandingWords()
"""Of a status that another leader wrote, or nobody yet."""


def fitting(sentence: str) -> str:
    """Return the text of a sentence, cut to what a status holds: others' errors may be of any length."""
    return str(sentence) if len(sentence) <= MAX_MESSAGE else f"{sentence[: MAX_MESSAGE - 1]}…"
