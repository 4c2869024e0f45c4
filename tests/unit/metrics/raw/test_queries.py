"""Queries: one per quantity for all groups, and no tenant's name may break out of its quotes."""

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.raw import queries
from heartbeat_tuner.metrics.vocabulary import Quantity

HOSTILE = ('a"b', "a\\", 'x"} or up{a="', "a|b", ".*", "orders{1}", "a\nb", "[ab]+", "^$", "(?i)orders", "ä b-c", "")

_ESCAPES = {'"': '"', "\\": "\\", "n": "\n"}


def matcher_of(query: str, label: str) -> str:
    """Return the regular expression that Prometheus gets for `label`: the query's string, unquoted as PromQL does."""
    rest = query.partition(f'{label}=~"')[2]
    text: list[str] = []
    characters = iter(rest)
    for character in characters:
        assert character != "\n", "PromQL's strings end at the line's end"
        if character == '"':
            return "".join(text)
        text.append(_ESCAPES[next(characters)] if character == "\\" else character)
    raise AssertionError(f"the string of {label} does not end in {query}")


def ask(*namespaces: str) -> str:
    """Return the query of all heartbeats in these namespaces."""
    return queries.raw(
        ["beats_total"], namespaces=namespaces, window=timedelta(hours=1), matchers=[("api", "Heartbeat")]
    )


def test_a_query_reads_raw_samples_of_all_groups_at_once() -> None:
    """An instant query of a range selector returns true times; names are sorted so that the text is stable."""
    query = queries.raw(["b_total", "a_total"], namespaces=["shop", "bank"], window=timedelta(minutes=65))
    assert query == '{__name__=~"a_total|b_total",namespace=~"bank|shop"}[3900s]'


def test_only_what_selects_a_quantity_everywhere_is_asked_for() -> None:
    """A matcher of one exporter would hide what another one has; alone, it spares Prometheus the other requests."""
    found = known_conventions.matchers(known_conventions.of_library("kafkajs"), Quantity.HEARTBEAT_REQUESTS)
    assert found == (("api_name", "Heartbeat"),)
    assert known_conventions.matchers(known_conventions.CONVENTIONS, Quantity.HEARTBEATS) == ()
    assert known_conventions.matchers((), Quantity.HEARTBEATS) == ()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_means_itself(name: str) -> None:
    """No group id reads another's series or adds to the query."""
    pattern = matcher_of(ask(name), "namespace")
    assert re.fullmatch(pattern, name, re.DOTALL)
    others = (*HOSTILE, "orders", "a", "b", "zz")
    assert not [other for other in others if other != name and re.fullmatch(pattern, other, re.DOTALL)]


@given(st.sets(st.text(max_size=8), min_size=1, max_size=4), st.text(max_size=8))
def test_the_matcher_matches_exactly_the_given_names(names: set[str], other: str) -> None:
    """Every given name, and no other one."""
    pattern = matcher_of(ask(*names), "namespace")
    assert all(re.fullmatch(pattern, name, re.DOTALL) for name in names)
    assert bool(re.fullmatch(pattern, other, re.DOTALL)) == (other in names)


@given(st.text(max_size=8))
def test_what_follows_the_name_stays_where_it_was(name: str) -> None:
    """The query's end is its own, whatever the name."""
    assert ask(name).endswith('",api=~"Heartbeat"}[3600s]')
