"""The record that a write carries: there and back, and nothing read from what others wrote there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.api import applied
from heartbeat_tuner.domain.policies import Application
from tests.support import worlds

CURE = Application(worlds.settings("30s", "1s", "1s"), worlds.STORM, worlds.NOW, "workload-1", "app")
JAVA = Application(worlds.java_settings("45s"), worlds.java_settings("6s"), worlds.NOW, "workload-1")
TEXT = applied.to_annotation({"app": CURE})


def test_what_is_noted_is_read_again() -> None:
    """Each container has its own record, with all its values."""
    noted = applied.to_annotation({"app": CURE, "second": JAVA})
    assert applied.from_annotation(noted, workload_uid="workload-1") == {"app": CURE, "second": JAVA}


def test_a_time_of_another_zone_is_the_same_time() -> None:
    """Else a cooldown would be hours off."""
    (noted,) = applied.from_annotation(
        TEXT.replace("2026-03-02T12:00:00Z", "2026-03-02T17:00:00+05:00"), workload_uid="workload-1"
    ).values()
    assert noted.at == worlds.NOW
    assert applied.applied_of(noted).at == "2026-03-02T12:00:00Z"


def test_the_record_of_another_object_is_not_ours() -> None:
    """Manifests are copied with their annotations."""
    assert applied.from_annotation(TEXT, workload_uid="workload-2") == {}


@pytest.mark.parametrize(
    "text",
    [
        *(None, "", "null", "[]", "7", "{", '{"app": 1}', '{"app": {}}', "[" * 100_000),
        TEXT.replace("30s", "soon"),
        TEXT.replace("333ms", "0s"),
        TEXT.replace("2026-03-02T12:00:00Z", "yesterday"),
        TEXT.replace("2026-03-02T12:00:00Z", "2026-03-02T12:00:00"),
        TEXT.replace('"fetchWait":"1s",', ""),
        TEXT.replace("2026-03-02T12:00:00Z", "9999-12-31T23:59:59Z"),
        TEXT.replace("2026-03-02T12:00:00Z", "0001-01-01T00:00:00+14:00"),
        TEXT.replace('"sessionTimeout":"30s"', '"sessionTimeout":"30s","maxPollInterval":"5m"'),
    ],
)
def test_what_is_no_record_counts_for_nothing(text: str | None) -> None:
    """Who may edit the workload may write anything there; it costs nobody a cycle."""
    assert applied.from_annotation(text, workload_uid="workload-1") == {}


def test_one_broken_record_does_not_hide_the_other() -> None:
    """Containers are looked at one by one."""
    both = applied.to_annotation({"app": CURE, "second": JAVA}).replace("333ms", "-1s")
    assert applied.from_annotation(both, workload_uid="workload-1") == {"second": JAVA}


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5).map(str))
def test_no_text_raises(text: str) -> None:
    """A tenant's words never end a cycle."""
    applied.from_annotation(text, workload_uid="workload-1")
