"""Draw the pictures of `report` that the documentation shows: `python -m tests.pictures` (that is `make pictures`).

The fleet and the curves are those of the tests' models, the storm and its cure those of a run of the demo, whose data
stand in `tests/data/reports/demo.json` (`make demo` leaves newer ones in `build/demo-report.json`). The panels of the
dashboard are of the same run, from `tests/data/panels/demo.json` (`build/demo-panels.json`).
"""

import asyncio
import tempfile
from pathlib import Path
from typing import Final

from heartbeat_tuner.report import page
from heartbeat_tuner.report.report_data import ReportData
from sandbox.browser import Browser
from tests import dashboard_picture
from tests.support import documents, reports

FOLDER: Final = documents.CHECKOUT / "docs" / "img"
DEMO: Final = documents.CHECKOUT / "tests" / "data" / "reports" / "demo.json"

PANELS: Final = documents.CHECKOUT / "tests" / "data" / "panels" / "demo.json"

_FLEET: Final = (
    ("report-fleet.png", "#fleet", 1100, "light"),
    ("report-cost.png", "#g1 .figures", 1100, "light"),
    ("report-phone.png", "#g1 .figures", 375, "dark"),
)
_DEMO: Final = (("report-storm-and-cure.png", "#g1 .timelines figure", 760, "light"),)


async def draw(browser: Browser, folder: Path) -> None:
    """Write all pictures."""
    storm = ReportData.model_validate_json(DEMO.read_bytes())
    for name, data, pictures in (("fleet", reports.everything(), _FLEET), ("demo", storm, _DEMO)):
        (folder / f"{name}.html").write_text(page.render(data))
        for picture, selector, width, scheme in pictures:
            async with browser.tab((folder / f"{name}.html").as_uri(), width=width, scheme=scheme) as tab:
                (FOLDER / picture).write_bytes(await tab.picture(selector))
    (folder / "dashboard.html").write_text(dashboard_picture.render(PANELS))
    async with browser.tab((folder / "dashboard.html").as_uri(), width=1200, scheme="light") as tab:
        (FOLDER / "dashboard.png").write_bytes(await tab.picture("main"))


def main() -> None:
    """Start the browser and draw."""
    with tempfile.TemporaryDirectory() as folder, Browser(Path(folder)) as browser:
        asyncio.run(draw(browser, Path(folder)))


if __name__ == "__main__":
    main()
