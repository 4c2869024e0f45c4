"""Sentences with their facts: what people read, what programs read, and when two say the same."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain import sentences
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.sentences import Reading, identity, join, say

MINUTE = timedelta(minutes=1)


def test_a_phrase_is_read_with_its_facts_in_their_places() -> None:
    """Durations in Go's notation, or about; all else as `str.format` has it."""
    report = say(
        "{count} of {setting} within {span}, {share:.0%}, every {beat:about} until {at:%H:%M}",
        count=3,
        setting=Setting.SESSION_TIMEOUT,
        span=timedelta(seconds=90),
        share=0.25,
        beat=Reading(timedelta(seconds=3.14)),
        at=datetime(2026, 3, 2, 12, 30, tzinfo=UTC),
    )
    assert report == "3 of sessionTimeout within 1m30s, 25%, every 3.1 s until 12:30"
    assert sentences.facts(report) == {
        "count": 3,
        "setting": "sessionTimeout",
        "span": "1m30s",
        "share": 0.25,
        "beat": "3.1 s",
        "at": "12:30",
    }


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0471, "0.047"), (1.0, "1"), (99.4, "99"), (99.6, "100"), (10_500.0, "10,000"), (373_000, "370,000")],
)
def test_a_figure_has_two_digits_and_no_exponent(number: float, text: str) -> None:
    """People read rates; the log has the number whole."""
    sentence = say("{rate:figure} a day", rate=number)
    assert sentence == f"{text} a day"
    assert sentences.facts(sentence) == {"rate": number}


@given(st.integers(), st.integers(), st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_readings_make_no_sentence_another(count: int, later: int, share: float, grown: float) -> None:
    """However far they move: they are told, and are no news."""
    before, after = (
        say("{count} evictions, {share:.0%}", count=Reading(number), share=Reading(part))
        for number, part in ((count, share), (later, grown))
    )
    assert identity(before) == identity(after)
    assert sentences.has_readings(before)


@given(st.floats(0.0, 1e6), st.floats(0.0, 1e6))
def test_facts_count_as_rounded_as_they_are_shown(amount: float, other: float) -> None:
    """Who reads the same is told the same."""
    first, second = (say("it costs {cost:.2g}", cost=cost) for cost in (amount, other))
    assert (identity(first) == identity(second)) is (first == second)


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        (say("pod {pod}", pod="a"), say("pod {pod}", pod="b")),
        (say("{count} left", count=Reading(1)), say("{count} came", count=Reading(1))),
        (say("{count} left", count=Reading(1)), say("{lost} left", lost=Reading(1))),
        (say("{count} left", count=1), say("{count} left", count=2)),
        ("no pod runs", "no pod ran"),
        (
            join(", ", (say("pod {pod}", pod="a"), say("pod {pod}", pod="b"))),
            join(", ", (say("pod {pod}", pod="b"), say("pod {pod}", pod="a"))),
        ),
        (
            say("{left} left, {came} came", left=Reading(1), came=Reading(1)),
            say("{came} left, {left} came", left=Reading(1), came=Reading(1)),
        ),
    ],
    ids=[
        "another name",
        "another phrase",
        "another reading",
        "another number",
        "another text",
        "facts in another order",
        "readings in another order",
    ],
)
def test_another_fact_or_phrase_is_another_sentence(sentence: str, other: str) -> None:
    """Whatever the readings are."""
    assert identity(sentence) != identity(other)


def test_a_sentence_in_a_sentence_keeps_its_facts() -> None:
    """So a finding with advice is told apart by the facts of both; a plain text is the fact that it is."""
    inner = say("{count} evictions within {span}", count=Reading(3), span=Reading(MINUTE))
    whole = join(". ", (say("{what}, all told", what=inner), "", "Set S"))
    assert whole == "3 evictions within 1m, all told. Set S"
    assert sentences.facts(whole) == {"count": 3, "span": "1m"}
    grown = say("{count} evictions within {span}", count=Reading(4), span=Reading(2 * MINUTE))
    assert identity(whole) == identity(join(". ", (say("{what}, all told", what=grown), "Set S")))


def test_what_is_left_empty_is_no_fact() -> None:
    """A part of a sentence that there is nothing to say of."""
    assert sentences.facts(say("well{more}", more="")) == {}
    assert sentences.facts("well") == {}
    assert not sentences.has_readings("well")
