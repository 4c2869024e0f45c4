"""The page of `report` in a real browser: no complaints, nothing loaded, readable at any size, light and dark."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from heartbeat_tuner.report import page
from sandbox import browser as browsers
from sandbox.browser import Browser
from sandbox.processes import wait_until
from tests.support import reports

pytestmark = [
    pytest.mark.timeout(300),  # the browser is installed first, where it is not there
    pytest.mark.skipif(browsers.obstacle() is not None, reason=str(browsers.obstacle())),
]

WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SMALLEST = """Math.min(...[...document.querySelectorAll('svg text')].map(
  words => parseFloat(getComputedStyle(words).fontSize) * words.getScreenCTM().a))"""
OUTSIDE = """[...document.querySelectorAll('svg text')].filter(words => {
  const [box, whole] = [words.getBoundingClientRect(), words.ownerSVGElement.getBoundingClientRect()];
  return box.left < whole.left - 1 || box.right > whole.right + 1 || box.bottom > whole.bottom + 1;
}).map(words => words.textContent)"""
PAPER = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser."""
    with Browser(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of two pages: of a fleet with a storm and its cure, and of names that mean harm."""
    folder: Path = tmp_path_factory.mktemp("pages")
    addresses = {}
    for name, data in (("fleet", reports.everything()), ("hostile", reports.hostile())):
        (folder / f"{name}.html").write_text(page.render(data))
        addresses[name] = (folder / f"{name}.html").as_uri()
    return addresses


@pytest.mark.parametrize("name", ["fleet", "hostile"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_phone_shows_it_all_without_a_complaint(
    browser: Browser, pages: dict[str, str], name: str, scheme: str
) -> None:
    """At 375 px nothing has to be moved sideways, figures can be read, and nothing but the file is asked for."""
    async with browser.tab(pages[name], width=375, scheme=scheme) as tab:
        assert await tab.evaluate(WIDER) == 0
        assert await tab.evaluate(SMALLEST) >= 8
        if name == "fleet":
            assert await tab.evaluate(OUTSIDE) == []
        assert tab.complaints == []
        assert [address for address in tab.requests if not address.startswith("data:")] == [pages[name]]


async def test_it_is_dark_where_that_is_preferred_and_light_on_paper(browser: Browser, pages: dict[str, str]) -> None:
    """The colours are not the browser's defaults only."""
    papers = []
    for scheme, medium in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
        async with browser.tab(pages["fleet"], scheme=scheme, medium=medium) as tab:
            papers.append(await tab.evaluate(PAPER))
            assert await tab.evaluate(WIDER) == 0
    assert papers == ["rgb(255, 255, 255)", "rgb(18, 23, 30)", "rgb(255, 255, 255)"]


async def test_all_of_it_is_printed(browser: Browser, pages: dict[str, str]) -> None:
    """Each group begins a page, and the chain of reasons is open."""
    async with browser.tab(pages["fleet"], medium="print") as tab:
        assert await tab.evaluate("[...document.querySelectorAll('details')].every(part => part.open)")
        printed = await tab.call("Page.printToPDF", printBackground=True)
        assert len(printed["data"]) > 50_000


async def test_names_that_mean_harm_run_nothing(browser: Browser, pages: dict[str, str]) -> None:
    """A browser finds no element of theirs, whatever a parser thinks of it."""
    async with browser.tab(pages["hostile"]) as tab:
        assert await tab.evaluate("document.querySelectorAll('script, img, iframe, [onerror]').length") == 0
        assert await tab.evaluate("document.querySelectorAll('style').length") == 1
        assert "<script>alert(1)</script>" in await tab.evaluate("document.body.innerText")
        assert tab.complaints == []


async def test_who_cannot_see_it_hears_what_figures_and_tables_say(browser: Browser, pages: dict[str, str]) -> None:
    """By the browser's own accessibility tree: figures have names, and the table stays one on a phone."""
    async with browser.tab(pages["fleet"], width=375) as tab:
        nodes = (await tab.call("Accessibility.getFullAXTree"))["nodes"]
    spoken = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]
    figures = [name for role, name in spoken if role in {"image", "img"}]
    assert len(figures) == 5 * 3 + 3
    assert all(figures)
    roles = {role for role, _ in spoken}
    assert {"table", "row", "rowheader", "columnheader", "main", "heading"} <= roles
    assert ("rowheader", "shop/payments") in spoken


def test_nothing_of_a_browser_stays(tmp_path: Path) -> None:
    """Whatever names its profile among the kernel's processes ends with it."""

    def running() -> list[bytes]:
        words = [path / "cmdline" for path in Path("/proc").iterdir() if path.name.isdigit()]
        return [line for line in map(_read, words) if str(tmp_path).encode() in line]

    with Browser(tmp_path):
        assert running()
    wait_until(lambda: not running(), part="browser", what="the end of its processes", timeout_s=20)


def _read(path: Path) -> bytes:
    """Return what a file has, or nothing where its process has ended meanwhile."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
