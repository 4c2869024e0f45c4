"""Range selectors' answers, read from their text: a fifth of the time and of the memory of reading all of it as JSON.

Hundreds of thousands of series come with the same labels in every cycle. Here an answer is cut at its series, labels
are read as JSON when their text is new, and what is between is checked to be nothing but pairs of a time and a number.
An answer of any other form goes to `prometheus_answers`, which says what is wrong with it, if anything is.
"""

import functools
import hashlib
import json
from array import array
from itertools import pairwise
from typing import Final

import numpy as np

from heartbeat_tuner.adapters.prometheus import prometheus_answers as answers
from heartbeat_tuner.metrics.raw.label_sets import Labels
from heartbeat_tuner.metrics.raw.samples import Samples, Series

_RESULT: Final = b'"result":['
_BEGIN: Final = _RESULT + b'{"metric":'
_BETWEEN: Final = b'},{"metric":'
_VALUES: Final = b',"values":'
_END: Final = b"]]}]"

_OF_NUMBERS: Final = b"0123456789.+-eEINafn"
_AROUND_NUMBERS: Final = b'[]"'

_NEXT: Final = b'"],['
"""Between two pairs."""

_KEY_BYTES: Final = 16

_LOT: Final = 1000
"""Series that are converted together; their numbers as texts take a few megabytes."""


KEEP_LABELS_ANSWERS: Final = 256
"""Answers after which labels that none of them had are forgotten, at the latest after twice as many: a cycle reads
everything with some tens of them. A weak reference to each would take twice the memory of the labels."""


class MatrixReader:
    """Reads answers; knows the labels of the series that came lately."""

    def __init__(self) -> None:
        self._known: dict[bytes, Labels] = {}
        self._known_before: dict[bytes, Labels] = {}
        self._answers = 0

    def read(self, body: bytes) -> list[Series]:
        """Return the series of a range selector's answer, as `prometheus_answers.matrix` does.

        Raises:
            Failure: the answer is partial, or no matrix.
        """
        self._answers += 1
        if self._answers % KEEP_LABELS_ANSWERS == 0:
            self._known, self._known_before = {}, self._known
        begin = body.find(_BEGIN)
        end = body.find(_END, body.rfind(_VALUES))
        if 0 <= begin < end:
            try:
                series = self._series(body[begin + len(_BEGIN) : end + 2].split(_BETWEEN))
            except (ValueError, RecursionError):
                series = []  # not as Prometheus writes it
            around = body[: begin + len(_RESULT)] + body[end + 3 :]
            if series and not answers.matrix(answers.document(around)):
                return series
        return answers.matrix(answers.document(body))

    def _series(self, texts: list[bytes]) -> list[Series]:
        """Return the series of an answer's parts.

        Raises:
            ValueError: a part has another form, or two have the same labels.
        """
        series: list[Series] = []
        for first in range(0, len(texts), _LOT):
            parts = [text.rpartition(_VALUES) for text in texts[first : first + _LOT]]
            labels = [self._labels(text) for text, _, _ in parts]
            series += map(Series, labels, _samples([pairs for _, _, pairs in parts]))
        if len({entry.labels for entry in series}) < len(series):
            raise ValueError
        return series

    def _labels(self, text: bytes) -> Labels:
        key = hashlib.blake2b(text, digest_size=_KEY_BYTES).digest()
        labels = self._known.get(key)
        if labels is None and (labels := self._known_before.get(key)) is not None:
            self._known[key] = labels
        if labels is None:
            raw = json.loads(text)
            if not isinstance(raw, dict) or not all(isinstance(value, str) for value in raw.values()):
                raise ValueError
            labels = self._known[key] = Labels(raw)
        return labels


def _samples(lists: list[bytes]) -> list[Samples]:
    """Return the samples of some series, each a list of pairs of a time and a number's text.

    All of them are checked and converted together: what is done for each series costs more than its few numbers.

    Raises:
        ValueError: one is no such list, without a blank, or its times do not rise.
    """
    counts = [pairs.count(_NEXT) + 1 for pairs in lists]
    numbers = _numbers(lists, counts)
    times_s, values = numbers[::2], numbers[1::2]
    ends = np.cumsum(counts)
    rises = np.diff(np.frombuffer(times_s)) > 0
    rises[ends[:-1] - 1] = True  # from one series to the next
    if not (rises.all() and np.isfinite(np.frombuffer(times_s)).all()):
        raise ValueError
    places = pairwise([0, *ends.tolist()])
    samples = [Samples(times_s[begin:end], values[begin:end]) for begin, end in places]
    if np.isfinite(np.frombuffer(values)).all():
        return samples
    return [Series.from_raw({}, series_samples.pairs()).samples for series_samples in samples]


def _numbers(lists: list[bytes], counts: list[int]) -> "array[float]":
    """Return times and values in turn, of one list after the other.

    Raises:
        ValueError: one is no list of so many pairs of a number and a number's text.
    """
    whole, count = b",".join(lists), sum(counts)
    # With these a number stands nowhere but where it belongs.
    if (
        not all(pairs.startswith(b"[[") and pairs.endswith(b'"]]') for pairs in lists)
        or whole.translate(None, _OF_NUMBERS) != b",".join(map(_frame, counts))
        or whole.count(b',"') != count
        or whole.count(_NEXT) != count - len(lists)
    ):
        raise ValueError
    texts = whole.translate(None, _AROUND_NUMBERS).split(b",")
    # Series of one target have the same times, and most values stay: few texts are new.
    converted = {text: float(text) for text in set(texts)}
    return array("d", map(converted.__getitem__, texts))


@functools.lru_cache
def _frame(count: int) -> bytes:
    """Return what remains of so many pairs without their numbers."""
    return b"[" + b",".join([b'[,""]'] * count) + b"]"
