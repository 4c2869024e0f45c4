"""What does not fit is said in our words, whatever it is, and no secret is shown."""

from typing import Annotated, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError

from heartbeat_tuner.api.v1alpha1 import validation_words
from heartbeat_tuner.api.v1alpha1.spec_v1alpha1 import Spec
from heartbeat_tuner.settings import Settings
from heartbeat_tuner.settings.webhook_settings import WebhookSettings
from tests.support import manifests

LIBRARY_S: Final = (
    "Input ",
    "should ",
    "Extra inputs",
    "Field required",
    "valid dictionary",
    "instance of",
    "pydantic",
)
"""Words of the library's messages."""

VALUES: Final[st.SearchStrategy[object]] = st.sampled_from(
    [None, True, -1, 10**9, 2.5, float("nan"), "", "Ü b", "x" * 999, [], [[]], {}, {"x": 1}]
)

WHOLE: Final[dict[type[BaseModel], dict[str, Any]]] = {
    Settings: {
        "prometheus": {"url": "http://prometheus:9090", "tls": {}, "basicAuth": {}, "headers": {}, "maxAnswerBytes": 1},
        "kafka": {"clusters": {"main": {"bootstrapServers": "kafka:9092", "sasl": {}, "tls": {}, "grants": [{}]}}},
        "kubernetes": {"namespaces": ["shop"], "timeout": "1s"},
        "leaderElection": {"namespace": "a", "leaseName": "b", "leaseDuration": "15s"},
        "rollout": {"maxConcurrent": 5, "canaries": False},
        "http": {"address": "::1", "port": 1, "probePort": 2},
        "interval": "60s",
        "shards": 1,
    },
    WebhookSettings: {"certificate": {"names": ["a"], "secretName": "b"}, "admission": {"port": 1}, "drain": "5s"},
    Spec: {
        **manifests.STORED["spec"],
        "objective": {"maxDetectionTime": "60s", "maxFalseEvictionsPerMonth": 1},
        "bounds": {"sessionTimeout": {"min": "10s", "max": "60s"}},
        "rollout": {"windows": [{"schedule": "0 2 * * *", "duration": "3h"}], "verification": {"revert": True}},
        "suspend": False,
    },
}


@st.composite
def broken(draw: st.DrawFn) -> tuple[type[BaseModel], object]:
    """Return a model, and a document in which one place holds something else."""
    model = draw(st.sampled_from(sorted(WHOLE, key=lambda kind: kind.__name__)))

    def copy_of(section: object) -> object:
        if draw(st.integers(0, 9)) == 0 or not isinstance(section, dict | list):
            return draw(VALUES) if draw(st.integers(0, 4)) == 0 else section
        if isinstance(section, list):
            return [copy_of(entry) for entry in section]
        return {name: copy_of(value) for name, value in section.items()} | draw(st.sampled_from([{}, {"nmae": 1}]))

    return model, copy_of(WHOLE[model])


@given(broken())
def test_no_word_of_the_library_reaches_a_user(case: tuple[type[BaseModel], object]) -> None:
    """Whatever stands in a file: somebody who never heard of Python reads what is wrong with it."""
    model, document = case
    try:
        model.model_validate(document)
    except ValidationError as error:
        for fault in error.errors():
            said = validation_words.sentence(fault, model)
            assert not [words for words in LIBRARY_S if words in said], said


class _Section(BaseModel):
    model_config = {"extra": "forbid"}
    least: Annotated[float, Field(gt=0)] = 1
    hidden_token: int = 0


class _Whole(BaseModel):
    sections: list[_Section] | None = None
    by_name: dict[str, _Section] = {}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"sections": [{"least": 0}]}, "0 is too low; write a number above 0"),
        ({"sections": [{"laest": 1}]}, "there is no such field; did you mean least?"),
        (
            {"by_name": {"a": {"zzz": 1}}},
            "there is no such field; take it out; the fields here are least, hidden_token",
        ),
        ({"by_name": {"a": {"hidden_token": "s3cret"}}}, "the value is not a whole number; write digits alone"),
        ({"by_name": 7}, "7 is not a set of fields; write each as name: value"),
    ],
)
def test_value_rule_and_fix_are_named(document: object, expected: str) -> None:
    """At any depth; a value that may be a secret is not shown."""
    with pytest.raises(ValidationError) as caught:
        _Whole.model_validate(document)
    (fault,) = caught.value.errors()
    assert expected in validation_words.sentence(fault, _Whole)
