"""`docs/lab.md`: what the laboratory found, for people who choose a client or doubt a card.

Written from what `lab.json` holds, the words of `preface.md`, and `disagreements.yaml`, where each entry says where a
reference was wrong. Pure but for those two files.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Beater, Client, Hung, StaticIdSupport
from heartbeat_tuner.domain import durations
from tests.lab.verdicts import LETTERS

PREFACE: Final = Path(__file__).with_name("preface.md")
DISAGREEMENTS: Final = Path(__file__).with_name("disagreements.yaml")

_LETTER_OF: Final = MappingProxyType({setting.value: letter for letter, setting in LETTERS.items()})

_BEATERS: Final = MappingProxyType(
    {Beater.THREAD: "own thread", Beater.EVENT_LOOP: "event loop", Beater.FETCH_LOOP: "**fetch loop**"}
)
_STATIC: Final = MappingProxyType(
    {
        StaticIdSupport.NONE: "no",
        StaticIdSupport.WORKS: "yes",
        StaticIdSupport.GUARDED: "yes",
        StaticIdSupport.STEALS: "yes; twins fight",
        StaticIdSupport.LEAVES: "**leaves all the same**",
    }
)

Row = Mapping[str, Any]


def page(document: Mapping[str, Any]) -> str:
    """Return the page from what `lab.json` holds."""
    rows: Sequence[Row] = document["rows"]
    clients = [catalogue.client(name) for name in dict.fromkeys(row["client"] for row in rows)]
    parts = [
        PREFACE.read_text().rstrip(),
        _comparison(clients, rows),
        _disagreements(yaml.safe_load(DISAGREEMENTS.read_text())),
        *(_section(client, [row for row in rows if row["client"] == client.name]) for client in clients),
    ]
    if document["skipped"]:
        parts.append(
            "\n".join(["## Not tried", "", *(f"- `{item['client']}`: {item['why']}" for item in document["skipped"])])
        )
    return "\n\n".join(parts) + "\n"


def _comparison(clients: Sequence[Client], rows: Sequence[Row]) -> str:
    """Return the table for who chooses a client: one line each, from measurements where there are any."""
    columns: Sequence[tuple[str, Callable[[Client, Mapping[str, Row]], str]]] = (
        ("client", lambda client, _: f"[{client.name}](#{client.name})"),
        ("beats from", lambda client, _: _BEATERS[client.beater]),
        ("a beat every, at defaults", lambda client, found: _at_defaults(client, found.get("idle, defaults"))),
        ("handlers wait 2 s", lambda _, found: _every(found.get("handlers wait 2 s"))),
        ("handlers compute 2 s", _computing),
        ("answers take 1.5 s", lambda _, found: _every(found.get("answers take 1.5 s, H 1 s"))),
        ("connection cut for 2 s", lambda _, found: _cut(found)),
        ("a hung handler is noticed", _hung),
        ("closed: leaves", lambda _, found: _noticed(found.get("closed"))),
        ("static membership", lambda client, _: _STATIC[client.static_membership]),
    )
    lines = ["## At a glance", "", _line([title for title, _ in columns]), _line(["---"] * len(columns))]
    for client in clients:
        found = {row["experiment"]: row for row in rows if row["client"] == client.name}
        lines.append(_line([cell(client, found) for _, cell in columns]))
    return "\n".join(lines)


def _at_defaults(client: Client, row: Row | None) -> str:
    """Return the period, and H if it is another."""
    if row is None:
        return "-"
    asked = client.defaults.heartbeat_interval
    measured = row["measured_median_s"]
    cell = _every(row)
    far = measured is not None and measured > 1.1 * asked.total_seconds()
    return f"**{cell}** (H {durations.show(asked)})" if far else cell


def _every(row: Row | None) -> str:
    if row is None:
        return "-"
    return "no beat" if row["measured_median_s"] is None else f"{row['measured_median_s']:.1f} s"


def _computing(client: Client, found: Mapping[str, Row]) -> str:
    """Return what becomes of the beat, of members whose event loop is kept until they are removed, too."""
    crowded = found.get("handlers keep the processor 2 s, eight messages at once")
    if client.beater is Beater.EVENT_LOOP:
        return "-" if crowded is None else f"**removed** after {_every(crowded)}"
    return _every(found.get("handlers keep the processor 2 s, one at a time"))


def _cut(found: Mapping[str, Row]) -> str:
    """Return whether a member whose connection was cut had to join again: the report counts rebalances by name."""
    row = next((item for name, item in found.items() if name.startswith("the connection is cut")), None)
    if row is None:
        return "-"
    if row["measured_median_s"] is not None:
        return "**removed**"
    return "goes on" if row["experiment"].endswith("(rebalances: 0)") else "joins again"


def _noticed(row: Row | None) -> str:
    if row is None:
        return "-"
    return "**never**" if row["measured_median_s"] is None else f"after {row['measured_median_s']:.1f} s"


def _hung(client: Client, found: Mapping[str, Row]) -> str:
    """Return when, and that leaders decide of KafkaJS whether it is at all."""
    cell = _noticed(found.get("a handler hangs", found.get("the herder hangs")))
    return f"{cell}, or **never**" if client.hung is Hung.PLACEMENT and cell != "-" else cell


def _disagreements(entries: Sequence[Mapping[str, str]]) -> str:
    lines = [
        "## Where the references were wrong",
        "",
        "What sources or an earlier measurement said, and what was seen here; the cards say what was seen.",
        "",
        _line(["client", "was said", "was seen"]),
        _line(["---"] * 3),
        *(_line([entry["client"], entry["said"], entry["seen"]]) for entry in entries),
    ]
    return "\n".join(lines)


def _section(client: Client, rows: Sequence[Row]) -> str:
    """Return all measurements of one client: beats and ends, then settings."""
    tried = [row for row in rows if row["experiment"].startswith("settings: ")]
    lines = [
        f"## {client.name}",
        "",
        (
            f"{client.title[0].upper()}{client.title[1:]} {client.measured} beats {client.how}. Its card is in "
            f"[clients](reference/clients.md#{client.name})."
        ),
    ]
    for title, those in (
        ("experiment", [row for row in rows if row not in tried]),
        ("settings: what came of them", tried),
    ):
        if not those:
            continue
        lines += ["", _line([title, "with", "predicted s", "measured s", "longest s", "as predicted"])]
        lines += [_line(["---"] * 6)]
        lines += [
            _line(
                [
                    row["experiment"].removeprefix("settings: "),
                    ", ".join(f"{_LETTER_OF[name]} {value}" for name, value in row["settings"].items()),
                    *_figures(row),
                    ("yes" if row["ok"] else "**no**") + (", the second time" if row["reruns"] and row["ok"] else ""),
                ]
            )
            for row in those
        ]
    return "\n".join(lines)


def _figures(row: Row) -> tuple[str, str, str]:
    """Return what was predicted, the median and the longest; of trials of settings without a beat, nothing."""
    low, high, median, longest = (
        row[key] for key in ("predicted_low_s", "predicted_high_s", "measured_median_s", "measured_max_s")
    )
    none = "-" if row["experiment"].startswith("settings: ") else "never"
    predicted = none if high is None else f"{low:.2f} .. {high:.2f}"
    return predicted, none if median is None else f"{median:.2f}", none if longest is None else f"{longest:.2f}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
