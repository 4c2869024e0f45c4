"""templates/crds: the definitions, installed and kept as said."""

from pathlib import Path

import pytest

from tests.chart.rendering import CHART, VARIANTS, Helm, Rendered
from tests.support import yaml_texts
from tests.support.documents import CHECKOUT

_KIND = "CustomResourceDefinition"
_FILES = sorted((CHECKOUT / "crds").glob("*.yaml"))


def test_the_copy_is_current() -> None:
    """The chart has the definitions of crds/, and no others (run `make docs`)."""
    copies = sorted((CHART / "files" / "crds").glob("*.yaml"))
    assert [copy.name for copy in copies] == [file.name for file in _FILES]
    assert [copy.read_text() for copy in copies] == [file.read_text() for file in _FILES]


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_they_are_rendered_whole(minimal: Rendered, path: Path) -> None:
    """Numbers, rules and all; only labels and one annotation are added."""
    wanted = yaml_texts.document(path.read_text())
    found = minimal.one(_KIND, wanted["metadata"]["name"])
    assert found["spec"] == wanted["spec"]
    assert found["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert found["metadata"]["labels"]["app.kubernetes.io/name"] == "heartbeat-tuner"


def test_they_go_with_the_release_where_that_is_wanted(helm: Helm) -> None:
    """And all policies and models with them."""
    rendered = helm.render(VARIANTS["minimal"], {"crds": {"keep": False}})
    found = [item for item in rendered.objects if item["kind"] == _KIND]
    assert len(found) == len(_FILES)
    assert all("annotations" not in item["metadata"] for item in found)


def test_they_may_be_somebody_elses(lake: Rendered) -> None:
    """Who may not install definitions, or has them installed by another hand."""
    assert _KIND not in lake.kinds()
