"""Which links lead nowhere."""

from pathlib import Path

import pytest

from tests.documentation import links
from tests.documentation.markdown import Page


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with two pages and a picture."""
    (tmp_path / "docs" / "img").mkdir(parents=True)
    (tmp_path / "docs" / "img" / "one.png").touch()
    (tmp_path / "docs" / "one.md").write_text("# One thing: `code`, and *more*\n\n## Again\n\n## Again\n")
    return tmp_path


def broken(text: str, checkout: Path) -> list[str]:
    """Return the problems of a page beside the others."""
    return [finding.problem for finding in links.check(Page("docs/two.md", f"# Two\n\n{text}"), checkout)]


@pytest.mark.parametrize(
    "target",
    [
        "one.md",
        "../docs/one.md",
        "img",
        "#two",
        "one.md#one-thing-code-and-more",
        "one.md#again-1",
        "https://x.example/",
    ],
)
def test_these_lead_somewhere(target: str, checkout: Path) -> None:
    """Files, folders, headings as GitHub names them, and what is not ours to check."""
    assert broken(f"[text]({target}) and ![picture](img/one.png)", checkout) == []


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("three.md", "leads to no file"),
        ("#three", "docs/two.md has no heading #three: choose one of two"),
        (
            "one.md#again-2",
            "docs/one.md has no heading #again-2: choose one of again, again-1, one-thing-code-and-more",
        ),
        ("img/two.png", "leads to no file"),
    ],
)
def test_these_do_not(target: str, problem: str, checkout: Path) -> None:
    """The finding says what there is instead."""
    (report,) = broken(f"[text]({target})", checkout)
    assert problem in report


def test_a_page_that_no_task_leads_to_is_found(checkout: Path) -> None:
    """A folder that is named stands for its pages."""
    (checkout / "docs" / "rules").mkdir()
    index = Page("docs/README.md", "[one](one.md) [rules](rules)")
    pages = [index, *(Page(path, "") for path in ("docs/one.md", "docs/rules/a.md", "docs/two.md", "README.md"))]
    assert [finding.path for finding in links.unlisted(pages, checkout)] == ["docs/two.md"]
