"""From the entries of one consumer to its values: durations, protocol, static id, and what else matters."""

import itertools
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients.client import Client, Protocol
from heartbeat_tuner.clients.formats import LONGEST_MS, Format
from heartbeat_tuner.clients.names.key_vocabulary import Meaning
from heartbeat_tuner.clients.names.recognition import Recognised
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.lint import written_values
from heartbeat_tuner.lint.checked_settings import NAMES, IdSource, LintFinding, OtherProperties, StaticId
from heartbeat_tuner.lint.found_consumers import FoundConsumer, ReadingOptions
from heartbeat_tuner.lint.found_settings import FileEntry, FoundSettings
from heartbeat_tuner.lint.rules import reading_rules
from heartbeat_tuner.lint.written_values import DurationForm, Text

_CONFIGURED: Final = (Protocol.CLASSIC, Protocol.CONSUMER, Protocol.STREAMS)
"""What `group.protocol` may be; a share group comes of another class of consumer."""

_POD_NAME: Final = re.compile(r"\$[({](HOSTNAME|POD_NAME|POD|K8S_POD_NAME|MY_POD_NAME)[)}]|\$HOSTNAME|\$POD_NAME")
_POD_FIELDS: Final = {
    "metadata.name": IdSource.POD_NAME,
    "metadata.uid": IdSource.RANDOM,
    "status.podIP": IdSource.RANDOM,
}


class Interpreter:
    """Turns the entries of one consumer into values."""

    def __init__(self, place: FoundSettings, options: ReadingOptions, clients: Sequence[Client]) -> None:
        self._found = place
        self._options = options
        self._clients = clients
        self._known = clients[0] if len(clients) == 1 else None
        self._variables = {entry.key: entry.text for entry in place.entries}
        self._fields = {entry.key: entry.field for entry in place.entries if entry.field}
        self._findings: list[LintFinding] = []

    def consumer(self, scope: str, pairs: Sequence[tuple[FileEntry, Recognised]]) -> FoundConsumer:
        """Return the consumer that entries configure."""
        given, places, unseen, unreadable = dict(self._options.given), {}, set(), set()
        own: dict[Setting, timedelta] = {}
        for entry, recognised in pairs:
            setting = self._own(recognised.meaning.setting)
            if setting is None or self._ignored(setting, entry):
                continue
            places[setting] = entry
            text = self._text(entry)
            if text is None:
                unseen.add(setting)
                continue
            value = self._value(setting, entry, text, recognised)
            if value is None:
                unreadable.add(setting)
                continue
            self._twice(setting, entry, own.get(setting), value)
            own[setting] = given[setting] = value
        unseen |= self._may_be_set(given.keys() | unreadable)
        return FoundConsumer(
            title=f"{self._found.title}, {scope}" if scope else self._found.title,
            file=self._found.file,
            clients=self._clients,
            given=given,
            places=places,
            unseen=frozenset(unseen - given.keys()),
            unreadable=frozenset(unreadable - given.keys()),
            protocol=self._protocol(pairs),
            others=self._others(pairs),
            group=self._plain(pairs, Meaning.GROUP_ID),
            findings=tuple(self._findings),
            overlay=self._found.overlay,
        )

    def _own(self, setting: Setting | None) -> Setting | None:
        """Return what the library takes a setting for: it may call another one by this name."""
        if setting is None or self._known is None or setting in self._known.settings:
            return setting
        stand_in = self._known.stand_in(setting)
        return stand_in if stand_in is not None and self._known.names[stand_in] == setting.value else setting

    def _ignored(self, setting: Setting, entry: FileEntry) -> bool:
        """Whether the library has no such setting, which is said."""
        if self._known is None or setting in self._known.settings:
            return False
        phrase = "{key} does nothing: {client} has no {setting}: {part}"
        text = say(
            phrase, key=entry.key, client=self._known.title, setting=NAMES[setting], part=self._known.part_of(setting)
        )
        self._findings.append(LintFinding(reading_rules.IGNORED_SETTING, text, entry.line))
        return True

    def _text(self, entry: FileEntry) -> str | None:
        """Return an entry's text; None where it cannot be seen."""
        if entry.missing:
            text = say("{title} has {key} {missing}", title=self._found.title, key=entry.key, missing=entry.missing)
            self._findings.append(LintFinding(reading_rules.NAMED_VARIABLE_MISSING, text, entry.line))
        return None if entry.text is None else self._filled(entry.text).text

    def _filled(self, text: str) -> Text:
        return written_values.filled_in(text, self._variables)

    def _value(self, setting: Setting, entry: FileEntry, text: str, recognised: Recognised) -> timedelta | None:
        writing = self._writing(recognised)
        try:
            return written_values.duration(text, writing)
        except ValueError:
            phrase = (
                "{title} has {key}={shown}, which is no {writing} between {least} and {most}; {meant}, or name the "
                "right variable with --env {setting}=NAME"
            )
            message = say(
                phrase,
                title=self._found.title,
                key=entry.key,
                shown=written_values.shown(text),
                writing=writing.value,
                least=written_values.example(writing, 1),
                most=written_values.example(writing, LONGEST_MS),
                meant=written_values.meant(text.strip(), writing),
                setting=setting,
            )
            self._findings.append(LintFinding(reading_rules.UNREADABLE_VALUE, message, entry.line))
            return None

    def _writing(self, recognised: Recognised) -> DurationForm:
        if recognised.unit_ms is not None:
            return DurationForm.MILLISECONDS if recognised.unit_ms == 1 else DurationForm.SECONDS
        if self._known is None or recognised.library == "spring":
            return DurationForm.EITHER
        return DurationForm.GO if self._known.format is Format.GO else DurationForm.MILLISECONDS

    def _twice(self, setting: Setting, entry: FileEntry, before: timedelta | None, value: timedelta) -> None:
        if before is not None and before != value:
            phrase = "the {setting} is given twice, as {before} and as {value} by {key}: only one of them is read"
            text = say(phrase, setting=NAMES[setting], before=before, value=value, key=entry.key)
            self._findings.append(LintFinding(reading_rules.GIVEN_TWICE, text, entry.line))

    def _may_be_set(self, known: set[Setting]) -> set[Setting]:
        """Return the settings that variables from elsewhere may hold."""
        names = self._options.expected or (dict(self._clients[0].env_preset) if self._clients else {})
        return {
            setting
            for setting, name in names.items()
            if setting not in known and any(name.startswith(prefix) for prefix in self._found.unseen_prefixes)
        }

    def _plain(self, pairs: Sequence[tuple[FileEntry, Recognised]], meaning: Meaning) -> str:
        """Return the text of another property; empty where it is not there, or cannot be seen."""
        texts = (self._text(entry) for entry, recognised in pairs if recognised.meaning is meaning)
        return next((text for text in texts if text), "")

    def _protocol(self, pairs: Sequence[tuple[FileEntry, Recognised]]) -> Protocol | None:
        text = self._plain(pairs, Meaning.GROUP_PROTOCOL).lower()
        if not text:
            return self._options.protocol
        if text in _CONFIGURED:
            return Protocol(text)
        entry = next(entry for entry, recognised in pairs if recognised.meaning is Meaning.GROUP_PROTOCOL)
        phrase = "{title} has {key} with a value that is neither classic nor consumer; correct it"
        message = say(phrase, title=self._found.title, key=entry.key)
        self._findings.append(LintFinding(reading_rules.UNREADABLE_VALUE, message, entry.line))
        return self._options.protocol

    def _others(self, pairs: Sequence[tuple[FileEntry, Recognised]]) -> OtherProperties:
        return OtherProperties(
            request_timeout=self._time(pairs, Meaning.REQUEST_TIMEOUT),
            idle_limit=self._time(pairs, Meaning.IDLE_LIMIT),
            assignors=written_values.assignors(self._plain(pairs, Meaning.ASSIGNORS)),
            remote_assignor=bool(self._plain(pairs, Meaning.REMOTE_ASSIGNOR)),
            static_id=self._static_id(pairs),
            poll_records=written_values.count(self._plain(pairs, Meaning.POLL_RECORDS)),
        )

    def _time(self, pairs: Sequence[tuple[FileEntry, Recognised]], meaning: Meaning) -> timedelta | None:
        for entry, recognised in pairs:
            text = self._text(entry) if recognised.meaning is meaning else None
            if text:
                try:
                    return written_values.duration(text, self._writing(recognised))
                except ValueError:
                    return None  # it is none of the five settings: nothing rests on it
        return None

    def _static_id(self, pairs: Sequence[tuple[FileEntry, Recognised]]) -> StaticId | None:
        entry = next((entry for entry, recognised in pairs if recognised.meaning is Meaning.INSTANCE_ID), None)
        if entry is None:
            return None
        facts = self._found.workload
        source = self._id_source(entry)
        text = self._filled(entry.text or "").text or ""
        return StaticId(
            source,
            shown=text if source is IdSource.LITERAL and re.fullmatch(r"[A-Za-z0-9._-]{1,64}", text) else "",
            kind=facts.kind if facts else "",
            replicas=facts.replicas if facts else None,
            surges=facts.surges if facts else False,
        )

    def _id_source(self, entry: FileEntry) -> IdSource:
        text = entry.text or ""
        references = [self._fields.get(name, "") for name in re.findall(r"\$[({]([A-Za-z_][A-Za-z0-9_]*)[)}]", text)]
        for field in itertools.chain([entry.field], references):
            if field in _POD_FIELDS:
                return _POD_FIELDS[field]
        filled = self._filled(text)
        if filled.random:
            return IdSource.RANDOM
        if _POD_NAME.search(text):
            return IdSource.POD_NAME
        return IdSource.LITERAL if text and filled.text and "$" not in filled.text else IdSource.OTHER
