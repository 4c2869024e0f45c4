"""Which words and lengths are found, and what is proposed."""

import pytest

from tests.documentation import wording
from tests.documentation.markdown import Page
from tests.documentation.wording import WordRules

GLOSSARY = """
## Words that no user meets

| avoid | write |
|---|---|
| `befall`, `is none` | happen to |
| `told of` | name |

## Other

| `other` | not a rule |
"""
RULES = WordRules.parse(GLOSSARY)


def found(text: str) -> list[tuple[int, str]]:
    """Return lines and problems of a page with this text."""
    return [(finding.line, finding.problem) for finding in wording.words(Page("page.md", text), RULES)]


def test_a_word_is_found_with_what_to_write_instead() -> None:
    """However it is capitalised, and over the end of a line."""
    assert found("Good.\n\nIt may Befall you.") == [(3, "'Befall': write happen to")]
    assert found("A container is\nnone.") == [(1, "'is none': write happen to")]


def test_only_whole_words_of_prose_are_found() -> None:
    """Parts of words, code, and the targets of links are left alone; cells and headings are not."""
    assert found("Befallen `befall` [link](befall.md)\n\n```sh\nbefall\n```\n") == []
    assert [line for line, _ in found("# Befall\n\n| a |\n|---|\n| befall |\n")] == [1, 5]


def test_rows_of_other_tables_are_no_rules() -> None:
    """The glossary's other tables have code spans, too."""
    assert found("An other thing") == []


def test_a_glossary_without_the_table_is_refused() -> None:
    """A check without rules would find nothing and look well."""
    with pytest.raises(ValueError, match="no table under the heading"):
        WordRules.parse("# Glossary")


def lengths(path: str, text: str) -> list[str]:
    """Return the problems with the lengths of a page."""
    return [finding.problem for finding in wording.lengths(Page(path, text))]


def test_long_sentences_are_found_by_their_average() -> None:
    """One long sentence among short ones is allowed; tables and headings count for nothing."""
    long = " ".join(["word"] * 40)
    assert lengths("page.md", f"Short one. {long.capitalize()}. Short again.") == []
    assert lengths("page.md", f"| {long} |\n|---|\n| {long} |") == []
    (problem,) = lengths("page.md", f"{long}.")
    assert problem == "40.0 words in a sentence, 25 is the limit: divide the longest, of line 1 (40)"


def test_the_readme_is_short_and_so_is_each_of_its_sentences() -> None:
    """Of other pages only the average counts."""
    long = f"Short one. Short two. {'Word ' * 31}end. Short three."
    assert lengths("page.md", long) == []
    (problem,) = lengths("README.md", long)
    assert problem.startswith("32 words, 30 is the limit")
    assert lengths("README.md", "Word.\n" * 79) == []
    (problem,) = lengths("README.md", "Word.\n" * 80)
    assert problem.startswith("80 lines, it must have fewer than 80")
