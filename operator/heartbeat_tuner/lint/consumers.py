"""From the keys of one place to its consumers: which library, which values, and what nobody reads.

A place may hold several consumers: a Connect worker and those of its sink tasks, or one for each channel.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from heartbeat_tuner.clients import catalogue, presets
from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.clients.names.key_vocabulary import Meaning
from heartbeat_tuner.clients.names.recognition import KeyStanding, Recognised
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.lint import key_meanings
from heartbeat_tuner.lint.checked_settings import NAMES, LintFinding
from heartbeat_tuner.lint.found_consumers import FoundConsumer, ReadingOptions
from heartbeat_tuner.lint.found_settings import FileEntry, FoundSettings
from heartbeat_tuner.lint.interpreting import Interpreter
from heartbeat_tuner.lint.rules import reading_rules


def read(place: FoundSettings, options: ReadingOptions) -> list[FoundConsumer]:
    """Return the consumers of a place; one without a library for findings that belong to none."""
    framework = key_meanings.framework_of(place)
    library = key_meanings.library_of(place, framework)
    groups: dict[tuple[str, str], list[tuple[FileEntry, Recognised]]] = {}
    astray: list[LintFinding] = []
    for entry, recognised in _meant(place, options):
        if recognised.standing is KeyStanding.KNOWN:
            groups.setdefault((recognised.library, recognised.scope), []).append((entry, recognised))
        else:
            astray.append(_astray(entry, recognised))
    if not key_meanings.is_consumer(place, framework):
        groups = {key: pairs for key, pairs in groups.items() if any(_says_much(recognised) for _, recognised in pairs)}
    merged = _merged(groups, options.client.name if options.client else library)
    consumers = [
        Interpreter(place, options, _clients(name, options, pairs)).consumer(scope, pairs)
        for (name, scope), pairs in merged.items()
    ]
    if not consumers and key_meanings.is_consumer(place, framework):
        clients = _clients(library, options, [])
        consumers = [Interpreter(place, options, clients).consumer("", [])]
    if astray and not consumers:
        return [FoundConsumer(place.title, place.file, (), findings=astray)]
    if astray:
        first = consumers[0]
        consumers[0] = dataclasses.replace(first, findings=[*astray, *first.findings])
    return consumers


def _meant(place: FoundSettings, options: ReadingOptions) -> Iterator[tuple[FileEntry, Recognised]]:
    """Yield entries and meanings; what the command line names is what it says, whatever it looks like."""
    by_name = {name: Meaning(setting) for setting, name in options.named.items()}
    last = {entry.key: entry for entry in place.entries}
    if options.preset is not None:
        by_name[presets.group_protocol(options.preset)] = Meaning.GROUP_PROTOCOL
        by_name[presets.group_instance_id(options.preset)] = Meaning.INSTANCE_ID
    yield from ((last[name], Recognised(meaning)) for name, meaning in by_name.items() if name in last)
    if options.preset is not None:
        return
    reduced = dataclasses.replace(place, entries=tuple(last.values()))
    for entry, recognised in key_meanings.meanings(reduced, key_meanings.framework_of(place)):
        if entry.key not in by_name and recognised.meaning.setting not in options.named:
            yield entry, recognised


def _says_much(recognised: Recognised) -> bool:
    """Whether a key is a consumer's for sure: producers have request timeouts, too."""
    return recognised.meaning not in {Meaning.REQUEST_TIMEOUT, Meaning.IDLE_LIMIT}


def _merged(
    groups: Mapping[tuple[str, str], list[tuple[FileEntry, Recognised]]], library: str
) -> dict[tuple[str, str], list[tuple[FileEntry, Recognised]]]:
    """Return entries by library and consumer: those without a library go to the one that is known.

    What names no consumer holds for all of its library's.
    """
    named: dict[tuple[str, str], list[tuple[FileEntry, Recognised]]] = {}
    for (own, scope), pairs in groups.items():
        named.setdefault((own or library, scope), []).extend(pairs)
    result = {}
    for (own, scope), pairs in named.items():
        siblings = [other for name, other in named if name == own and other]
        if scope or not siblings:
            base = named.get((own, ""), []) if scope else []
            overlaid = {recognised.meaning for _, recognised in pairs}
            result[own, scope] = [*(pair for pair in base if pair[1].meaning not in overlaid), *pairs]
    return {
        key: pairs
        for key, pairs in result.items()
        if not key[1] or any(recognised.meaning is not Meaning.GROUP_ID for _, recognised in pairs)
    }


def _clients(name: str, options: ReadingOptions, pairs: Sequence[tuple[FileEntry, Recognised]]) -> Sequence[Client]:
    """Return the libraries that a consumer may be."""
    if options.client is not None and name in {"", options.client.name}:
        return (options.client,)
    if name:
        return (catalogue.CLIENTS[name],)
    meant = {recognised.meaning: entry for entry, recognised in pairs}
    return key_meanings.candidates([entry for entry, _ in pairs], meant)


def _astray(entry: FileEntry, recognised: Recognised) -> LintFinding:
    """Return what to say of a key that nobody reads."""
    meaning = recognised.meaning
    what = NAMES[meaning.setting] if meaning.setting is not None else str(meaning.value)
    instead = recognised.instead
    match recognised.standing:
        case KeyStanding.MISSPELT:
            rule, phrase = reading_rules.MISSPELT_NAME, "{key} resembles the {what}, but no library reads it"
            phrase += "; {instead} is read" if instead else ""
        case KeyStanding.IGNORED:
            rule, phrase = reading_rules.IGNORED_SETTING, "{key} does nothing: {why}"
            phrase += "; write {instead}" if instead else ""
        case _:
            rule = reading_rules.DOUBTFUL_NAME
            phrase = "{key} may be the consumer's {what}, and was not read; if it is, say so with --env {setting}={key}"
    text = say(phrase, key=entry.key, what=what, instead=instead, why=recognised.why, setting=meaning.setting)
    return LintFinding(rule, text, entry.line)


def unseen(place: FoundSettings, options: ReadingOptions) -> list[FoundConsumer]:
    """Return the consumer of a place that shows none, where its settings may come from where nobody can look."""
    if options.client is None:
        return []
    return [Interpreter(place, options, (options.client,)).consumer("", [])]
