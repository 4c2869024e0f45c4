"""The rules of all roles, in the chart and by hand: each says which code needs it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.chart import documented
from tests.chart.rendering import CHART
from tests.support.documents import CHECKOUT

CODE: Final = CHECKOUT / "operator" / "heartbeat_tuner"
PAGES: Final = [CHECKOUT / path for path in (documented.WEBHOOK, documented.FIT, documented.OPERATOR_ROLE)]
TEMPLATES: Final = [path for path in CHART.glob("templates/**/*") if path.is_file() and "verbs: [" in path.read_text()]

_RULE: Final = re.compile(r"^ *- apiGroups: ", re.MULTILINE)
_MODULE: Final = re.compile(r"[a-z_]+/[a-z_/]+\.py")


def rules(path: Path) -> Iterator[str]:
    """Yield the text of each rule of a role in a file."""
    for text in _RULE.split(path.read_text())[1:]:
        yield text[: text.index("verbs:")] + text[text.index("verbs:") :].splitlines()[0]


@pytest.mark.parametrize("path", [*PAGES, *TEMPLATES], ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_each_rule_names_the_code_that_needs_it(path: Path) -> None:
    """By modules that are there."""
    found = list(rules(path))
    assert found
    for rule in found:
        modules = _MODULE.findall(rule.rpartition("#")[2])
        assert modules, rule
        assert [module for module in modules if not (CODE / module).exists()] == [], rule
