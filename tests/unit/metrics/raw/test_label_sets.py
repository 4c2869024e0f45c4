"""Labels behave like the dictionary that they were made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.metrics.raw.label_sets import Labels

dictionaries = st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=4)


@given(dictionaries, st.text(max_size=3))
def test_labels_say_what_the_dictionary_says(labels: dict[str, str], name: str) -> None:
    """Of names that are there, and of others."""
    found = Labels(labels)
    assert dict(found) == labels
    assert dict(found.items()) == labels
    assert found == labels
    assert (name in found, len(found)) == (name in labels, len(labels))
    assert found.get(name, "none") == labels.get(name, "none")
    assert found.get(name) == labels.get(name)


@given(dictionaries, dictionaries)
def test_labels_are_equal_if_the_dictionaries_are(labels: dict[str, str], other: dict[str, str]) -> None:
    """In whatever order they were said; then their hash is equal, too."""
    assert (Labels(labels) == Labels(other)) == (labels == other)
    turned = Labels(dict(reversed(labels.items())))
    assert (turned, hash(turned)) == (Labels(labels), hash(Labels(labels)))


def test_labels_refuse_a_name_that_is_missing() -> None:
    """Like a dictionary, and whatever names Hypothesis draws above."""
    with pytest.raises(KeyError, match="instance"):
        Labels({"job": "kafka"})["instance"]


def test_labels_compare_with_themselves_with_labels_and_with_dictionaries() -> None:
    """Each of the ways to compare, whatever Hypothesis draws above."""
    labels = Labels({"job": "kafka"})
    assert labels == labels  # noqa: PLR0124 - the very same object takes a way of its own
    assert labels == Labels({"job": "kafka"})
    assert labels != Labels({"job": "lag"})
    assert labels == {"job": "kafka"}
    assert labels != {"job": "lag"}


def test_a_label_set_has_as_many_labels_as_were_given() -> None:
    """And they can be gone through."""
    labels = Labels({"pod": "orders-0", "namespace": "shop"})
    assert len(labels) == len(list(labels)) == 2
