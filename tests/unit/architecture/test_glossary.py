"""The glossary rules out the names and words that its tables say, where they are given and written."""

import textwrap

import pytest

from tests.architecture import figures, glossary, source
from tests.architecture.glossary import GlossaryError
from tests.architecture.source import Module

PAGE = """
# Words

| term | meaning | in the code | not |
|---|---|---|---|
| failure process | What fails. | `FailureProcess` | name `HappeningNow`, function `few` |
| tail | The rare part. | `TailModel`, `tail` | |

| other | table |
|---|---|
| name `Ignored` | |

| not | say instead |
|---|---|
| parameter `of` | the noun: `group` |
| local `one`, parameter `one` | the noun |
| word `anew`, word `told of`, word `likewise.` | a sentence |
"""
GLOSSARY = glossary.parse(PAGE)


def findings(text: str, path: str = "decision/gates.py") -> list[tuple[int, str, str]]:
    """Return line, kind and name of what is ruled out in a source."""
    module = Module(path, textwrap.dedent(text).lstrip("\n"))
    return [(place.line, place.kind, place.what) for place in figures.names_and_words([module], GLOSSARY)]


def test_the_page_is_read_as_it_stands() -> None:
    """Terms, what the code calls them, and what to say instead of what is ruled out."""
    assert GLOSSARY.terms == ("failure process", "tail")
    assert GLOSSARY.in_code == ("FailureProcess", "TailModel", "tail")
    assert GLOSSARY.names[("parameter", "of")] == "the noun: group"
    assert GLOSSARY.spellings == {("happening", "now"): "FailureProcess"}
    assert "ignored" not in str(GLOSSARY).lower()


@pytest.mark.parametrize(
    ("text", "ruled_out"),
    [
        ("def gate(of, _of, *, other): ...", ["parameter of", "parameter _of"]),
        ("gate = lambda of: of", ["parameter of"]),
        ("def of(group): ...", []),
        ("def gate():\n    one = 1\n    of = 2", ["local one"]),
        ("def gate(one=1, *two): ...", ["parameter one"]),
        ("one = 1\nclass Pair:\n    one: int\n    other = [one for one in ()]", ["local one"]),
        ("def gate():\n    for one, other in (): ...\n    with two as one: ...", ["local one", "local one"]),
        ("def gate():\n    try: ...\n    except E as one: ...\n    if (one := 2): ...", ["local one", "local one"]),
        ("def gate():\n    match x:\n        case [1, *one] | {2: one}: ...\n        case one: ...", 3 * ["local one"]),
        ("def gate():\n    from x import y as one", ["local one"]),
        ("def gate():\n    return one + x.one + f(one=1)", []),
        ("def few(): ...\nfew_of_equal = few()", ["function few"]),
        ("class C:\n    def few(self): ...\n    few: int", ["function few"]),
    ],
)
def test_a_name_is_ruled_out_for_a_kind_of_thing(text: str, ruled_out: list[str]) -> None:
    """Where it is given, and not where it is used."""
    assert [f"{kind} {name}" for _, kind, name in findings(text)] == ruled_out


@pytest.mark.parametrize(
    "text",
    [
        "class HappeningNow: ...",
        "class _HappeningNow: ...",
        "class C:\n    happening_now: int",
        "HAPPENING_NOW = 1",
        "def gate(happening_nows): ...",
        "self._happening_now = 1",
    ],
)
def test_a_name_is_ruled_out_in_every_spelling(text: str) -> None:
    """A class's name is also that of its module, its constant and its variables."""
    assert len(findings(text)) == 1
    assert findings("", "decision/happening_now.py") == [(1, "module", "happening_now")]


@pytest.mark.parametrize("text", ["happening = now = 1", "class HappeningNowadays: ...", "class HappeningNowMap: ..."])
def test_other_names_stay(text: str) -> None:
    """That share a word with it."""
    assert findings(text) == []


def test_words_are_ruled_out_in_prose() -> None:
    """Docstrings, comments and messages, over the ends of lines, with the line where they begin; code is no prose."""
    text = '''
        """A module.

        It begins Anew, and is told
        of by anewer ones; likewise. And likewise so.
        """
        LIMIT = 1
        """Told  of here."""
        # what is told
        # of others
        anew = "anew"  # a key is no message
        raise ValueError(f"begin anew: {anew(1)} {x['told of']!r}"
                         " and anew")
    '''
    assert findings(text) == [
        (3, "docstring", "Anew"),
        (3, "docstring", "told of"),
        (4, "docstring", "likewise."),
        (7, "docstring", "Told of"),
        (11, "message", "anew"),
        (12, "message", "anew"),
        (8, "comment", "told of"),
    ]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("| variable `x` | y |", r"variable `x`: must be one of class, .*with a code span"),
        ("| class x | y |", r"class x: must be one of class, .*with a code span"),
        ("| class `x`, class `x` | y |", r"\('class', 'x'\) stands in the glossary more than once"),
        ("| class `x` |", r"1 cells under 2 columns"),
    ],
)
def test_a_page_that_cannot_be_read_says_where(row: str, complaint: str) -> None:
    """A typing error in a table must not let a name through."""
    with pytest.raises(GlossaryError, match=complaint):
        glossary.parse(f"| not | say instead |\n|---|---|\n{row}\n")


def test_the_project_s_own_glossary_contradicts_itself_nowhere() -> None:
    """No term's name in the code is ruled out by another row, in any kind of thing that terms are."""
    own = glossary.parse(source.glossary_page())
    assert len(own.terms) > 50
    named = [f"{name} = 1\nclass {name}: ...\ndef {name}({name}): ..." for name in own.in_code]
    for text in named:
        assert list(figures.names_and_words([Module("x.py", text)], own)) == []
