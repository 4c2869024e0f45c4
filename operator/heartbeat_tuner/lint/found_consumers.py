"""A consumer as one place of the files configures it, and what the command line says of the files."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import timedelta

from heartbeat_tuner.clients.client import Client, Protocol
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.lint.checked_settings import NO_OTHERS, Inspected, LintFinding, OtherProperties
from heartbeat_tuner.lint.found_settings import FileEntry


@dataclasses.dataclass(frozen=True, slots=True)
class ReadingOptions:
    """What the command line says of the files.

    Attributes:
        client: the library; None where the files have to say it.
        given: settings by flags: what the files do not say.
        named: variables by `--env`, or those of the preset that is asked for: nothing else holds the setting then.
        expected: variables that may hold a setting without standing in a manifest.
        preset: whether only the variables in `named` are read.
        protocol: of the groups; None where nothing is said.
    """

    client: Client | None = None
    given: Mapping[Setting, timedelta] = dataclasses.field(default_factory=dict)
    named: Mapping[Setting, str] = dataclasses.field(default_factory=dict)
    expected: Mapping[Setting, str] = dataclasses.field(default_factory=dict)
    preset: str | None = None
    protocol: Protocol | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class FoundConsumer:
    """A consumer as one place configures it.

    Attributes:
        title: of the place, with the consumer's own part of it.
        file: that it stands in.
        clients: the libraries that it may be; one where it is known, none where there is no consumer.
        given: values by setting.
        places: where each value stands.
        unseen: settings that may be set where nobody can look.
        unreadable: settings whose value says nothing.
        protocol: of the group, where it is said.
        others: what else is set.
        group: the group's name; empty where it is not seen.
        findings: what reading it found.
        overlay: which of several kustomizations deploys it; empty where there are not several.
    """

    title: str
    file: str
    clients: Sequence[Client]
    given: Mapping[Setting, timedelta] = dataclasses.field(default_factory=dict)
    places: Mapping[Setting, FileEntry] = dataclasses.field(default_factory=dict)
    unseen: frozenset[Setting] = frozenset()
    unreadable: frozenset[Setting] = frozenset()
    protocol: Protocol | None = None
    others: OtherProperties = NO_OTHERS
    group: str = ""
    findings: Sequence[LintFinding] = ()
    overlay: str = ""

    def inspected(self, client: Client) -> Inspected:
        """Return the settings as one library has them."""
        known = self.protocol if self.protocol in client.protocols else None
        given = {setting: value for setting, value in self.given.items() if setting in client.settings}
        others = dataclasses.replace(self.others, foreign_protocol=self.protocol is Protocol.CONSUMER and known is None)
        return Inspected.of(
            client, given, unseen=self.unseen, unreadable=self.unreadable, protocol=known, others=others
        )

    @property
    def line(self) -> int:
        """The first line that says something of it; 0 where none does."""
        return min((entry.line for entry in self.places.values() if entry.line), default=0)
