"""`heartbeat-tuner clients`: the libraries that are known, and the card of each; it needs no metrics and no cluster."""

import json
from collections.abc import Sequence
from typing import Any

import click

from heartbeat_tuner.cli.checking import cards, completion
from heartbeat_tuner.cli.options import client_of
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.wording import listed, sentence, table, wrapped
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.lint.checked_settings import NAMES


@click.command("clients", short_help="List the client libraries, or describe one.")
@click.argument("name", required=False, shell_complete=completion.client_names)
@click.option("--client-version", help="Show this version of the library, like 2.8.")
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(*, name: str | None, client_version: str | None, output: str) -> None:
    """List the known client libraries, or describe the heartbeats and settings of one."""
    if name is None:
        if client_version is not None:
            raise UsageProblem("--client-version says which version of a client is meant: name the client, too")
        known = list(catalogue.CLIENTS.values())
        text = as_json([_summary(client) for client in known]) if output == "json" else overview(known)
    else:
        client = client_of(name, client_version)
        text = as_json(_object(client, client_version)) if output == "json" else card(client, client_version)
    click.echo(text, nl=False)


def overview(clients: list[Client]) -> str:
    """Return a line for each client."""
    head = ("client", "measured", "beats from", "defaults")
    rows = [head, *map(_row, clients)]
    legend = ", ".join(f"{cards.LETTERS[setting]} {NAMES[setting]}" for setting in Setting)
    more = "`heartbeat-tuner clients NAME` shows how one beats, what it is set by and what its end costs."
    return "\n".join([*table(rows, ""), "", wrapped(f"{legend}. {more}", "")]) + "\n"


def card(client: Client, version: str | None) -> str:
    """Return all that is known of a client, for a terminal."""
    known = f"known from {client.versions[0]} to {client.versions[1]}"
    asked = f", as of {version}" if version is not None else ""
    first, *others = client.presets
    beats, same = cards.beats(client)
    lines = [
        wrapped(f"{client.name}{asked}: {client.title}, {cards.evidence(client)}, {known}", "", "  "),
        *_section("How it beats", [sentence(f"{client.title} beats {client.how}", client)]),
        "",
        *table([(f"{beat.when}:", beat.every) for beat in beats], "  "),
        *([wrapped(f"No difference: {listed(same)}.", "  ")] if same else ()),
        *_section("What delays a beat", [cards.delays(client), cards.must_cover(client)]),
        *_section("Settings"),
        *table([("setting", "its own name", "default"), *_settings(client)], "  "),
        *(wrapped(text, "  ") for text in cards.lacks(client).values()),
    ]
    lines += _section(f"Variables ({first})")
    lines += table([*cards.variables(client, first).items()], "  ")
    lines.append(wrapped(cards.values(client), "  "))
    for preset in others:
        lines += _section(f"Variables with --preset {preset}")
        lines += table([*cards.variables(client, preset).items()], "  ")
    lines += _section("When its group knows that")
    lines += table([(f"{end.event}:", end.after) for end in cards.ends(client)], "  ")
    lines += _section("Groups and rules", [cards.groups(client), *cards.rules(client)], "- ")
    if client.others:
        notes = [f"{other.name} ({other.default}): {other.note}." for other in client.others]
        lines += _section("What else counts", notes, "- ")
    for title, texts in (("Older versions", cards.older(client)), ("Good to know", client.advice)):
        if texts:
            lines += _section(title, [*texts], "- ")
    return "\n".join(lines) + "\n"


def as_json(document: Any) -> str:
    """Return a document as lines."""
    return json.dumps(document, indent=2) + "\n"


def _section(title: str, texts: Sequence[str] = (), bullet: str = "") -> list[str]:
    return ["", title, *(wrapped(text, f"  {bullet}", f"  {' ' * len(bullet)}") for text in texts)]


def _settings(client: Client) -> list[tuple[str, str, str]]:
    return [
        (NAMES[setting], client.names[setting], durations.show(client.defaults[setting])) for setting in client.settings
    ]


def _row(client: Client) -> tuple[str, str, str, str]:
    return (client.name, client.measured or "-", client.beater.value, _defaults(client))


def _defaults(client: Client) -> str:
    return ", ".join(
        f"{cards.LETTERS[setting]} {durations.show(client.defaults[setting])}" for setting in client.settings
    )


def _summary(client: Client) -> dict[str, Any]:
    return {
        "name": client.name,
        "title": client.title,
        "measured": client.measured,
        "versions": {"oldest": client.versions[0], "newest": client.versions[1]},
        "beater": client.beater.value,
        "defaults": {setting.value: durations.to_ms(client.defaults[setting]) for setting in client.settings},
    }


def _object(client: Client, version: str | None) -> dict[str, Any]:
    return {
        **_summary(client),
        "asOf": version,
        "beats": client.how,
        "periods": [
            {
                "when": beat.when,
                "shortestMilliseconds": durations.to_ms(beat.period.shortest),
                "longestMilliseconds": durations.to_ms(beat.period.longest),
                "usualMilliseconds": durations.to_ms(beat.period.usual),
            }
            for beat in cards.beats(client)[0]
        ],
        "noDifference": cards.beats(client)[1],
        "delays": cards.delays(client),
        "mustCover": cards.must_cover(client),
        "names": {setting.value: client.names[setting] for setting in client.settings},
        "lacks": {setting.value: text for setting, text in cards.lacks(client).items()},
        "variables": {preset: cards.variables(client, preset) for preset in client.presets},
        "format": client.format.value,
        "ends": [
            {
                "event": end.event,
                "after": end.after,
                "shortestMilliseconds": None if end.delay is None else durations.to_ms(end.delay.shortest),
                "longestMilliseconds": None if end.delay is None else durations.to_ms(end.delay.longest),
            }
            for end in cards.ends(client)
        ],
        "protocols": [protocol.value for protocol in client.protocols],
        "staticMembership": client.static_membership.value,
        "rules": cards.rules(client),
        "others": [{"name": other.name, "default": other.default, "note": other.note} for other in client.others],
        "olderVersions": cards.older(client),
        "advice": list(client.advice),
    }
