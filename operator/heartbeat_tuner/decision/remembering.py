"""Answers that were given already.

Most groups are asked about every minute, and hardly any has changed. A question's content is its key, arrays included,
so that it does not matter whether a profile was made anew. Whoever asks keeps one of these; nothing is kept here.
"""

import hashlib
from collections import OrderedDict

import numpy as np

from heartbeat_tuner.decision import tuning
from heartbeat_tuner.decision.tuning import Answer, Question
from heartbeat_tuner.tails.law import Law
from heartbeat_tuner.tails.profile import Happening, Profile


class Remembered:
    """Answers by the content of their questions: who asks the same again gets the same at once."""

    def __init__(self, most: int) -> None:
        """Begin with none.

        Args:
            most: how many answers are kept; the one that was not asked for longest goes first.
        """
        self._most = most
        self._answers: OrderedDict[bytes, Answer] = OrderedDict()

    def answer(self, question: Question) -> Answer:
        """Return what `tuning.answer` returns."""
        key = digest(question)
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = tuning.answer(question)
            if len(self._answers) > self._most:
                self._answers.popitem(last=False)
        else:
            self._answers.move_to_end(key)
        return found


def digest(question: Question) -> bytes:
    """Return a key of a question's content, arrays included."""
    hashed = hashlib.blake2b(digest_size=16)
    _feed(hashed, question)
    return hashed.digest()


def _feed(hashed: "hashlib.blake2b", value: object) -> None:
    if isinstance(value, np.ndarray):
        hashed.update(np.ascontiguousarray(value).data)
    elif isinstance(value, Law):
        hashed.update(value.exceedances.data)  # its integrals follow from them
    elif isinstance(value, (Question, Profile, Happening)):
        for name in value.__slots__:
            _feed(hashed, getattr(value, name))
    else:
        hashed.update(repr(value).encode() + b"\0")
