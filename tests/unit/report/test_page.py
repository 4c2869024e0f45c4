"""The page is a function of its data: whole, harmless and readable, whatever the data say."""

import json
import re
from typing import Any

import pydantic
import pytest

from heartbeat_tuner.report import page
from heartbeat_tuner.report.report_data import GroupEntry, ReportData
from tests.support import documents, reports
from tests.support.pages import parsed

OLD = sorted((documents.CHECKOUT / "tests" / "data" / "reports").glob("*.json"))
TEMPLATES = documents.CHECKOUT / "operator" / "heartbeat_tuner" / "report" / "templates"


def luminance(colour: str) -> float:
    """Return how bright a colour is, as WCAG 2 defines it."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_page_is_whole_and_loads_nothing() -> None:
    """Elements are closed, ids are unique, links and labels lead somewhere, and there is no script."""
    found = parsed(page.render(reports.everything()))
    assert (found.errors, found.loads) == ([], [])
    assert [attributes for tag, attributes in found.tags if tag == "html"] == [{"lang": "en"}]
    assert sum(tag == "h1" for tag, _ in found.tags) == 1
    figures = [attributes for tag, attributes in found.tags if tag == "svg"]
    assert len(figures) == 5 * 3 + 3
    assert all(attributes["role"] == "img" and attributes["aria-labelledby"] for attributes in figures)


def test_the_page_shows_each_group_with_all_there_is_of_it() -> None:
    """Of a storm and its cure: the change, its effect with the interval, the timelines."""
    text = parsed(page.render(reports.everything())).text
    assert "main/shop/orders Healthy" in text
    assert "set session timeout 1s → 30s, heartbeat interval 333ms → 1s, fetch wait 5s → 1s · Verified" in text
    assert "Before: 4 in 0.03 days, so 36.3 to 341 a day at 95 %." in text
    assert "After: 0 in 0.01 days, so 0 to 92 a day at 95 %." in text
    assert "The last 1h, as Prometheus shows it" in text
    assert "joins a minute, all members" in text
    assert "- name: KAFKA_SESSION_TIMEOUT_MS" in text
    assert "which values cost least" in text


def test_the_same_data_give_the_same_page() -> None:
    """Also after a way through JSON."""
    data = reports.everything()
    again = ReportData.model_validate_json(data.model_dump_json(by_alias=True))
    assert again == data
    assert page.render(again) == page.render(data) == page.render(data)


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_data_of_earlier_versions_are_still_shown(path: Any) -> None:
    """A field that comes later has a default, and none changes its meaning."""
    document = json.loads(path.read_text())
    found = parsed(page.render(ReportData.model_validate(document)))
    assert (found.errors, found.loads) == ([], [])
    for group in document["groups"]:
        assert group["group"] in found.text
        assert all(step["title"] in found.text for step in group["links"])


def test_a_group_of_which_hardly_anything_is_known_is_shown() -> None:
    """Unknown is a word, and no number."""
    entry = GroupEntry(namespace="", group="lonely", client="KafkaJS", verdict="Unknown")
    text = parsed(page.render(reports.everything().model_copy(update={"groups": (entry,)}))).text
    assert "lonely Unknown unknown - unknown KafkaJS" in text
    assert "No group is known to evict more live members than its objective allows. Of 1 nothing is known." in text


@pytest.mark.no_cover
def test_names_that_mean_harm_stay_text() -> None:
    """They stand on the page as they are, but for what cannot be printed; none of them is an element or attribute."""
    plain = parsed(page.render(reports.everything()))
    found = parsed(page.render(reports.hostile()))
    assert (found.errors, found.loads) == ([], [])
    assert {tag for tag, _ in found.tags} <= {tag for tag, _ in plain.tags}
    assert {name for _, attributes in found.tags for name in attributes} <= {
        name for _, attributes in plain.tags for name in attributes
    }
    for name in reports.NASTY[:6]:
        assert name in found.text
    assert "a\\u202eb\\x1b[2J\\x00c\\ud800d" in found.text


def test_data_that_mean_harm_by_themselves_stay_text() -> None:
    """A document is a file, which anybody may have written: the page does not rely on who made it."""
    document = json.loads(reports.everything().model_dump_json(by_alias=True))

    def poisoned(value: Any) -> Any:
        if isinstance(value, str):
            return f'{value}"><script>alert(1)</script>'
        if isinstance(value, dict):
            return {name: part if name == "made" else poisoned(part) for name, part in value.items()}
        return [poisoned(part) for part in value] if isinstance(value, list) else value

    found = parsed(page.render(ReportData.model_validate(poisoned(document))))
    assert (found.errors, found.loads) == ([], [])


def test_no_number_is_one_that_json_does_not_know() -> None:
    """A page that says `inf` or `nan` says nothing."""
    document = json.loads(reports.everything().model_dump_json(by_alias=True))
    document["groups"][0]["allowedPerMonth"] = "inf"
    with pytest.raises(pydantic.ValidationError, match="finite"):
        ReportData.model_validate(document)


def test_a_page_of_thousands_of_groups_shows_the_first_in_full() -> None:
    """It says how many, and the worst and the best are among them."""
    data = reports.everything()
    (ledger,) = [group for group in data.groups if group.group == "ledger"]
    (best,) = [group for group in data.groups if group.group == "search-index"]
    dull = GroupEntry(namespace="shop", group="dull", client="KafkaJS", verdict="Unknown")
    groups = (*[dull.model_copy(update={"group": f"dull-{number}"}) for number in range(300)], ledger, best)
    found = parsed(page.render(data.model_copy(update={"groups": groups})))
    assert found.errors == []
    assert "Details follow of 100 groups" in found.text
    sections = [attributes for tag, attributes in found.tags if attributes.get("class") == "group"]
    assert len(sections) == page.SHOWN
    assert "bank/ledger Infeasible" in found.text
    assert "shop/search-index Change" in found.text


def test_colours_can_be_told_from_what_they_stand_on() -> None:
    """WCAG AA: 4.5 for text, in light, dark and print."""
    style = (TEMPLATES / "style.css").read_text()
    schemes = [
        dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6})", block))
        for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    ]
    assert len(schemes) == 3
    for scheme in schemes:
        whole = {
            name: value if len(value) == 7 else "#" + "".join(2 * digit for digit in value[1:])
            for name, value in scheme.items()
        }
        for ink in ("ink", "quiet", "expected", "now", "new", "limit"):
            for paper in ("paper", "card"):
                bright, dark = sorted((luminance(whole[ink]), luminance(whole[paper])), reverse=True)
                assert (bright + 0.05) / (dark + 0.05) >= 4.5, (ink, paper, whole)
