"""Queries: one per signal for all groups, and no tenant's name may break out of its quotes."""

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.metrics.conventions import KAFKAJS_EXPORTER
from tests.support import counters

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


def ask(*group_ids: str) -> str:
    """Return the query of the beats of these groups in namespace `shop`."""
    return KAFKAJS_EXPORTER.query(
        counters.BEAT_REQUESTS, namespaces={"shop"}, group_ids=set(group_ids), window=timedelta(hours=1)
    )


def test_a_query_reads_raw_samples_of_all_groups_at_once() -> None:
    """An instant query of a range selector returns true times; names are sorted so that the text is stable."""
    query = KAFKAJS_EXPORTER.query(
        counters.BEAT_REQUESTS, namespaces=["shop", "bank"], group_ids=["b", "a"], window=timedelta(minutes=65)
    )
    assert query == (
        'kafkajs_consumer_requests_total{namespace=~"bank|shop",group_id=~"a|b",api_name="Heartbeat"}[3900s]'
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_means_itself(name: str) -> None:
    """No group id reads another's series or adds to the query."""
    pattern = matcher_of(ask(name), "group_id")
    assert re.fullmatch(pattern, name, re.DOTALL)
    others = (*HOSTILE, "orders", "a", "b", "zz")
    assert not [other for other in others if other != name and re.fullmatch(pattern, other, re.DOTALL)]


@given(st.sets(st.text(max_size=8), min_size=1, max_size=4), st.text(max_size=8))
def test_the_matcher_matches_exactly_the_given_names(names: set[str], other: str) -> None:
    """Every given name, and no other one."""
    pattern = matcher_of(ask(*names), "group_id")
    assert all(re.fullmatch(pattern, name, re.DOTALL) for name in names)
    assert bool(re.fullmatch(pattern, other, re.DOTALL)) == (other in names)


@given(st.text(max_size=8))
def test_what_follows_the_name_stays_where_it_was(name: str) -> None:
    """The query's end is its own, whatever the name."""
    assert ask(name).endswith('",api_name="Heartbeat"}[3600s]')
