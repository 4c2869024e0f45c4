"""The documentation as a site: it builds, its links hold, and a reader's browser asks no other host."""

import json
import re
from pathlib import Path

import pytest
from mkdocs.exceptions import Abort

from tests.documentation import site

FOREIGN = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//(?P<host>[^/\">\s]+)")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    site.write(folder)
    return folder


@pytest.mark.timeout(240)  # three seconds on a quiet machine
def test_every_page_is_there_and_can_be_searched(built: Path) -> None:
    """Of the checkout's pages none is left out."""
    pages = [path for path in site.pages(site.CHECKOUT) if path.endswith(".md")]
    for path in pages:
        name = re.sub(r"README\.md$", "index.md", path)
        assert (built / name).with_suffix(".html").is_file(), path
    found = json.loads((built / "search" / "search_index.json").read_text())["docs"]
    assert any("HT102" in entry["text"] for entry in found)


@pytest.mark.timeout(240)
def test_nothing_comes_from_another_host(built: Path) -> None:
    """No font, no script, no picture: the site works without network. Mermaid would load one."""
    for page in built.rglob("*.html"):
        text = page.read_text()
        assert not FOREIGN.findall(text), page
        assert 'class="mermaid"' not in text, page


@pytest.mark.timeout(240)
def test_the_tasks_are_the_navigation(built: Path) -> None:
    """In the order of the index."""
    home = (built / "index.html").read_text()
    titles = re.findall(r"^## (.+)$", (site.CHECKOUT / site.INDEX).read_text(), re.MULTILINE)
    places = [home.index(title) for title in titles]
    assert places == sorted(places)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("link", ["[a](tutorial.md#no-such-heading)", "![a](img/none.png)"])
def test_a_broken_link_fails_the_build(link: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a checkout of two pages."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# Home\n\n[docs](docs/README.md)\n")
    (tmp_path / "docs" / "README.md").write_text(f"# Index\n\n## A task\n\n- [Tutorial](tutorial.md)\n\n{link}\n")
    (tmp_path / "docs" / "tutorial.md").write_text("# Tutorial\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Abort):
        site.write(tmp_path / "build" / "site", checkout=tmp_path)


def test_links_to_what_the_site_has_not_become_words() -> None:
    """A reader of the site has no source files; a folder's link leads to a list of its pages."""
    there = {path: Path(path) for path in ("docs/a.md", "docs/rules/b.md", "README.md")}
    shown = site.shown(
        "[b](rules/b.md#x) [rules](rules) [code](../operator/x.py) [up](../README.md)", "docs/a.md", there
    )
    assert shown == "[b](rules/b.md#x) [rules](rules/contents.md) code [up](../README.md)"
