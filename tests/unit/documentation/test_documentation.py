"""Words, links and commands of all pages keep the rules (`make docs-check` lists what breaks them)."""

import pytest

from tests.documentation import checks, links
from tests.documentation.markdown import Page
from tests.support.documents import CHECKOUT

pytestmark = pytest.mark.no_cover  # reads all pages

PAGES = checks.pages(CHECKOUT)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_a_page_keeps_the_rules(page: Page) -> None:
    """Its words are plain, its sentences short, its links lead somewhere, and its commands can be typed."""
    assert [str(finding) for finding in checks.of_page(page, CHECKOUT)] == []


def test_the_index_names_every_page() -> None:
    """Somebody who has a task finds each page."""
    assert [str(finding) for finding in links.unlisted(PAGES, CHECKOUT)] == []


def test_what_users_read_outside_pages_keeps_the_rules_of_words() -> None:
    """Help, descriptions of fields, the chart and messages are as plain as the pages."""
    assert [str(finding) for finding in checks.of_texts(CHECKOUT)] == []
