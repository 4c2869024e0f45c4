"""Each figure counts what its definition says, on sources of a few lines."""

import textwrap

import pytest

from tests.architecture import figures, glossary, source
from tests.architecture.source import Module, Page

pytestmark = pytest.mark.no_cover  # parses the whole product

GLOSSARY = glossary.parse("| not | say instead |\n|---|---|\n| parameter `one`, local `one`, word `anew` | a noun |\n")


def module(text: str, path: str = "operator/heartbeat_tuner/decision/gates.py") -> Module:
    """Return the module of an indented source."""
    return Module(path, textwrap.dedent(text).lstrip("\n"))


def test_the_files_that_name_the_input_are_those_whose_code_does() -> None:
    """Defined, imported, used as a type, quoted as one; a docstring that speaks of it names nothing."""
    product = [
        module("class Situation: ...", "definition.py"),
        module("from somewhere import Situation", "importing.py"),
        module("def gate(situation: situations.Situation) -> None: ...", "attribute.py"),
        module('def gate(situation: "Situation") -> None: ...', "quoted.py"),
        module('"""From a Situation to a Decision."""\nOther = "Situation"', "speaking.py"),
    ]
    assert figures.input_of(product) == "Situation"
    assert figures.files_that_name(product, "Situation") == [
        "definition.py",
        "importing.py",
        "attribute.py",
        "quoted.py",
    ]


def test_the_input_is_known_under_its_new_name_too() -> None:
    """While the old one is imported somewhere still."""
    product = [module("class Situation: ..."), module("class DecisionInput: ...")]
    assert figures.input_of(product) == "DecisionInput"


def test_a_product_without_an_input_is_told_what_to_change() -> None:
    """A figure of 0 would look like the best of all."""
    with pytest.raises(figures.NoInputError, match=r"none of the classes DecisionInput, Situation.*INPUTS"):
        figures.input_of([module("class Question: ...")])


def test_a_folder_holds_its_own_files_and_not_its_init() -> None:
    """Those of folders below it count there."""
    paths = ["a/__init__.py", "a/x.py", "a/__main__.py", "a/b/__init__.py", "a/b/y.py"]
    assert figures.files_by_folder([module("", path) for path in paths]) == {"a": 2, "a/b": 1}


def test_a_function_is_as_long_as_what_it_does() -> None:
    """Decorators and the docstring are free, signature and comments are not, and an inner function counts twice."""
    lengths = figures.function_lengths(
        [
            module('''
                @decorated
                @twice
                def outer(
                    first: int,
                ) -> None:
                    """Say a lot.

                    In many lines.
                    """
                    # why
                    async def inner() -> None:
                        return
            ''')
        ]
    )
    assert [(length.name, length.lines) for length in lengths] == [("outer", 6), ("inner", 2)]


def test_a_name_is_given_twice_whoever_has_it() -> None:
    """Private classes and inner ones as well; files by their own names, `__init__` aside."""
    product = [
        module("class _Kept:\n    class Reason: ...", "a/kept.py"),
        module("class _Kept: ...\nclass Reason: ...\nclass Once: ...", "b/kept.py"),
        module("", "a/__init__.py"),
        module("", "b/__init__.py"),
    ]
    assert figures.classes_twice(product) == {
        "Reason": ["a/kept.py:2", "b/kept.py:2"],
        "_Kept": ["a/kept.py:1", "b/kept.py:1"],
    }
    assert figures.modules_twice(product) == {"kept": ["a/kept.py", "b/kept.py"]}


def test_all_figures_of_a_small_product() -> None:
    """The bounds are the ones that the names say: 40, 60 and 300 lines are not too many, one more is."""
    body = "    pass\n"
    product = [
        module("class Situation: ...\ndef just() -> None:\n" + 39 * body, "p/short.py"),
        module("def much() -> None:\n" + 59 * body + "def more() -> None:\n" + 60 * body, "p/long.py"),
        module("pass\n" * 300, "p/full.py"),
        module("pass\n" * 301, "q/fuller.py"),
        module("one = 1\nfor_all = [one for one in ()]  # anew\n", "q/words.py"),
    ]
    beside = [module("def test(_one: int) -> None:\n    one, other = 1, 2  # anew\n", "tests/few.py")]
    measured = figures.measure(product, beside, [Page("README.md", "Begin anew,\n`anew`.\n")], GLOSSARY)
    assert measured.figures == {
        "input_spread": 1,
        "files_per_folder_max": 3,
        "functions_over_40": 2,
        "functions_over_60": 1,
        "files_over_300": 1,
        "duplicate_names": 0,
        "glossary_findings": 3,
        "names_elsewhere": 2,
        "product_lines": 41 + 121 + 300 + 301 + 2,
    }
    assert [length["name"] for length in measured.details["functions_over_40"]] == ["more", "much"]
    assert measured.details["files_over_300"] == {"q/fuller.py": 301}
    assert measured.details["glossary_by_word"] == {"local one": 1, "comment anew": 1, "page anew": 1}
    assert [(place["path"], place["line"]) for place in measured.details["glossary"]] == [
        ("q/words.py", 2),
        ("q/words.py", 2),
        ("README.md", 1),
    ]
    assert [(place["path"], place["line"], place["kind"]) for place in measured.details["names_elsewhere"]] == [
        ("tests/few.py", 1, "parameter"),
        ("tests/few.py", 2, "local"),
    ]


def test_what_is_measured_is_this_checkout() -> None:
    """The product with its decision, the rooms beside it, the pages; the glossary rules words out and is not judged."""
    assert {"operator/heartbeat_tuner/decision/pipeline.py"} <= {module.path for module in source.product()}
    assert {"tests/architecture/figures.py", "bench/decide.py", "docs/reference/generate.py"} <= {
        module.path for module in source.elsewhere()
    }
    read = {page.path for page in source.pages()}
    assert {"README.md", "CHANGELOG.md", "docs/explanation/architecture.md"} <= read
    assert source.GLOSSARY not in read
