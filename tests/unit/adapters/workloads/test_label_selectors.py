"""A workload's selector as a parameter: no label means more than itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.adapters.workloads import manifests
from heartbeat_tuner.domain.errors import ApiServerError

TEXTS = st.text("aZ0-._/,=!() \n", max_size=8) | st.text(max_size=5)


@given(st.dictionaries(TEXTS, TEXTS, max_size=3), TEXTS, st.lists(TEXTS, max_size=3))
def test_a_selector_has_as_many_terms_as_it_was_given_or_is_refused(
    labels: dict[str, str], key: str, values: list[str]
) -> None:
    """Commas, brackets and signs never come from a label."""
    expressions = [{"key": key, "operator": "In", "values": values}, {"key": key, "operator": "DoesNotExist"}]
    try:
        found = manifests.label_selector({"matchLabels": labels, "matchExpressions": expressions})
    except ApiServerError:
        return
    plain = [f"{name}={value}" for name, value in labels.items()]
    assert found.split(",")[: len(plain)] == plain
    assert found.endswith(f"{key} in ({','.join(values)}),!{key}")
    assert found.count("(") == found.count(")") == 1
    assert found.count("=") == len(labels)


@pytest.mark.parametrize("label", ["a,b", "a=b", "a)", "!a", "a b", "-a"])
def test_what_could_mean_something_is_refused(label: str) -> None:
    """In any of its places."""
    for selector in (
        {"matchLabels": {label: "x"}},
        {"matchLabels": {"x": label}},
        {"matchExpressions": [{"key": label, "operator": "Exists"}]},
        {"matchExpressions": [{"key": "x", "operator": "NotIn", "values": [label]}]},
    ):
        with pytest.raises(ApiServerError, match="is no label"):
            manifests.label_selector(selector)
