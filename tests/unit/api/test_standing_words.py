"""Which words of a status stand, within one leadership and for the next."""

import pytest

from heartbeat_tuner.api.standing_words import NOTHING_KNOWN, StandingWords, fitting
from heartbeat_tuner.api.v1alpha1.fields import MAX_MESSAGE
from heartbeat_tuner.domain.sentences import Reading, Sentence, say


def seen(count: int, pod: str = "a") -> Sentence:
    """Return what is seen of a pod."""
    return say("{count} evictions of pod {pod}", count=Reading(count), pod=pod)


def shown(*each: str, may_stand: bool = True) -> list[str]:
    """Return the text in a place after each of several sentences."""
    words, standing, texts = NOTHING_KNOWN, None, []
    for sentence in each:
        standing, words = words.told("here", standing, sentence, may_stand=may_stand)
        texts.append(standing)
    return texts


def test_a_text_stands_while_only_readings_move() -> None:
    """And follows as soon as a fact does, with the readings of then."""
    assert shown(seen(1), seen(2), seen(3, "b"), seen(4, "b")) == [seen(1), seen(1), seen(3, "b"), seen(3, "b")]


def test_a_text_follows_a_digit_of_a_fact_but_not_one_that_is_rounded_away() -> None:
    """The numbers beside it may move all the time."""
    texts = [
        say("{share:.0%} of the day, {count} times", share=share, count=Reading(count))
        for count, share in enumerate((0.121, 0.124, 0.134))
    ]
    assert shown(*texts) == [texts[0], texts[0], texts[2]]


def test_a_text_without_readings_is_compared_as_it_is() -> None:
    """A number in it is a fact like any other."""
    assert shown("1 of 3 pods", "2 of 3 pods") == ["1 of 3 pods", "2 of 3 pods"]


def test_a_text_follows_where_it_is_about_something_else() -> None:
    """Other values, another policy: its readings are news."""
    assert shown(seen(1), seen(2), may_stand=False) == [seen(1), seen(2)]


@pytest.mark.parametrize("now", [seen(2), seen(2, "b")])
def test_a_new_leader_lets_a_text_stand_once(now: str) -> None:
    """What it does not know the facts of; the second time it says what it has found out itself."""
    first, words = NOTHING_KNOWN.told("here", "1 evictions of pod a", now, may_stand=True)
    assert first == "1 evictions of pod a"
    second, words = words.told("here", first, now, may_stand=True)
    assert second == now
    assert words.told("here", second, now, may_stand=True) == (second, words)


def test_a_new_leader_tells_at_once_what_moves_by_nothing() -> None:
    """A text without readings differs only where something is different."""
    assert NOTHING_KNOWN.told("here", "0 of 3 pods", "3 of 3 pods", may_stand=True)[0] == "3 of 3 pods"


def test_a_text_that_was_not_written_does_not_stand() -> None:
    """The API server refused it, or somebody else wrote another: what is known is of another text."""
    _, words = NOTHING_KNOWN.told("here", None, seen(1), may_stand=True)
    assert words.told("here", "something else", seen(2), may_stand=True)[0] == seen(2)


def test_each_place_has_its_own_words() -> None:
    """What is said in one tells nothing of another."""
    _, words = StandingWords().told("here", None, seen(1), may_stand=True)
    assert words.told("there", seen(1), seen(2), may_stand=True)[0] == seen(1)  # a text of another leader's
    assert words.told("there", None, seen(2), may_stand=True)[0] == seen(2)


def test_a_text_is_cut_to_what_a_status_holds() -> None:
    """With a sign that there was more, and it stands like any other."""
    long = say("{count} {what}", count=Reading(1), what="x" * MAX_MESSAGE)
    assert len(fitting(long)) == MAX_MESSAGE
    assert fitting(long).endswith("…")
    first, words = NOTHING_KNOWN.told("here", None, long, may_stand=True)
    later = say("{count} {what}", count=Reading(2), what="x" * MAX_MESSAGE)
    assert words.told("here", first, later, may_stand=True)[0] == first
