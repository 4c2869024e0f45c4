"""Does a consumer live with its settings? What is tried of each library, and what `heartbeat-tuner check` says of it.

A trial starts one idle consumer and looks on for a while: it holds, it is removed again and again, or it never joins.
`verdicts.yaml` keeps what was found; a unit test compares each verdict with the rules, so that a rule that would call
a working consumer broken, or a broken one sound, fails without a broker.

`python -m tests.lab --settings ROW ...` tries them again, and writes the rows' part of the file again.
"""

import dataclasses
import enum
import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Circumstances, Period, Protocol
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.lint import checked_settings, linting
from heartbeat_tuner.lint.checked_settings import AT_THE_BROKER, Expectations, Inspected
from heartbeat_tuner.lint.rule import LintSeverity
from heartbeat_tuner.lint.rules.beat_rules import REFUSED_BY_CLIENT
from heartbeat_tuner.lint.rules.poll_rules import LIMIT_BELOW_SESSION
from heartbeat_tuner.lint.rules.protocol_rules import CONSUMER_PROTOCOL
from sandbox.request_log import NONE, Heartbeat, JoinGroup, Record, beats_by_error_code, heartbeats

FILE: Final = Path(__file__).with_name("verdicts.yaml")

LETTERS: Final[Mapping[str, Setting]] = MappingProxyType(
    {
        "S": Setting.SESSION_TIMEOUT,
        "H": Setting.HEARTBEAT_INTERVAL,
        "W": Setting.FETCH_WAIT,
        "M": Setting.MAX_POLL_INTERVAL,
        "R": Setting.REBALANCE_TIMEOUT,
    }
)

SANDBOX_MIN_SESSION: Final = timedelta(seconds=1)
"""`group.min.session.timeout.ms` of the sandbox's broker. The rules do not ask a broker: they only warn."""

WATCHED_S: Final = 15.0

JOINING_S: Final = 2.0
"""Joins that follow the first one so soon are one with it: kafka-python joins again when it knows its topic."""


class Verdict(enum.StrEnum):
    """What became of a consumer."""

    HOLDS = "holds"  # it joined once, and no heartbeat was refused
    STORM = "storm"  # it was removed, and joined again
    REFUSED = "refused"  # it does not start, or never becomes a member


@dataclasses.dataclass(frozen=True)
class Trial:
    """Settings of one library.

    Attributes:
        client: its name in the catalogue.
        text: the settings by their letters, `S 1s, H 333ms`; the rest is the library's default.
        protocol: the group's; None: the library's own.
        watched_s: for how long the consumer is watched after it has joined.
    """

    client: str
    text: str
    protocol: Protocol | None = None
    watched_s: float = WATCHED_S

    @property
    def settings(self) -> Mapping[Setting, timedelta]:
        """What is set."""
        words = [part.split() for part in self.text.split(", ") if part]
        return {LETTERS[letter]: durations.parse(value) for letter, value in words}

    @property
    def name(self) -> str:
        """How the report calls it."""
        of_group = f", {self.protocol} protocol" if self.protocol else ""
        return f"settings: {self.text or 'defaults'}{of_group}"

    def inspected(self) -> Inspected:
        """Return what `check` would look at: what is set at the broker, it does not see."""
        card = catalogue.client(self.client)
        at_broker = card.protocols[0].is_at_broker
        given = {name: value for name, value in self.settings.items() if not (at_broker and name in AT_THE_BROKER)}
        return Inspected.of(card, given, protocol=self.protocol)

    def checked(self) -> tuple[checked_settings.LintFinding, ...]:
        """Return what `check` finds."""
        return linting.lint(self.inspected(), Expectations())

    def said(self) -> Verdict:
        """Return what is to be expected on the sandbox's broker by the errors that `check` finds."""
        errors = {found.rule for found in self.checked() if found.rule.severity is LintSeverity.ERROR}
        short = self.settings.get(Setting.SESSION_TIMEOUT, SANDBOX_MIN_SESSION) < SANDBOX_MIN_SESSION
        if short or errors & {REFUSED_BY_CLIENT, LIMIT_BELOW_SESSION, CONSUMER_PROTOCOL}:
            return Verdict.REFUSED
        return Verdict.STORM if errors else Verdict.HOLDS

    def period(self) -> Period | None:
        """Return how often it is to beat; None where that is the broker's business, or it will not hold."""
        card = catalogue.client(self.client)
        if (self.protocol is not None and self.protocol.is_at_broker) or self.said() is not Verdict.HOLDS:
            return None
        return card.period(card.filled(self.settings), Circumstances())


@dataclasses.dataclass(frozen=True)
class Seen:
    """What the coordinator saw of one consumer.

    Attributes:
        joins: how often it became a member.
        beats: how many heartbeats were accepted.
        refused: how many were not.
        median_s: between two of them; None if there were less than two.
        max_s: the longest time between two.
    """

    joins: int
    beats: int
    refused: int
    median_s: float | None = None
    max_s: float | None = None

    @property
    def verdict(self) -> Verdict:
        """What became of the consumer."""
        if self.joins == 0:
            return Verdict.REFUSED
        return Verdict.HOLDS if self.joins == 1 and self.refused == 0 else Verdict.STORM


def see(records: Sequence[Record], group: str, since_s: float, until_s: float) -> Seen:
    """Return what the coordinator saw of the only member of a group, of either protocol."""
    found = heartbeats(records, group, since_s, until_s)
    joined = _joins(records, found, group)
    # In the consumer protocol a beat of epoch 0 joins, and one of -1 leaves.
    beating = [item for item in found if item.generation_id > 0]
    answers = beats_by_error_code(beating)
    arrivals = sorted(item.arrival_s for item in beating)
    gaps = [later - earlier for earlier, later in itertools.pairwise(arrivals)]
    return Seen(
        joins=len(joined[:1]) + sum(1 for at_s in joined[1:] if at_s > joined[0] + JOINING_S),
        beats=answers[NONE],
        refused=answers.total() - answers[NONE],
        median_s=statistics.median(gaps) if gaps else None,
        max_s=max(gaps, default=None),
    )


def _joins(records: Sequence[Record], beats: Sequence[Heartbeat], group: str) -> list[float]:
    """Return when the coordinator handed out generations, or let somebody join a group of the consumer protocol."""
    classic = {
        record.generation_id: record.answered_s
        for record in records
        if isinstance(record, JoinGroup) and record.group_id == group and record.error_code == NONE
    }
    by_beat = [beat.arrival_s for beat in beats if beat.generation_id == 0 and beat.error_code == NONE]
    return sorted([*classic.values(), *by_beat])


@dataclasses.dataclass(frozen=True)
class Found:
    """A trial and what came of it, as the file keeps it."""

    trial: Trial
    verdict: Verdict
    beats: int
    joins: int

    def entry(self) -> dict[str, Any]:
        """Return it as the file has it."""
        protocol = {"protocol": self.trial.protocol.value} if self.trial.protocol else {}
        return {
            "client": self.trial.client,
            "settings": self.trial.text,
            **protocol,
            "verdict": self.verdict.value,
            "beats": self.beats,
            "joins": self.joins,
        }


def load() -> list[Found]:
    """Return what the file keeps."""
    return [
        Found(
            Trial(item["client"], item["settings"], Protocol(item["protocol"]) if "protocol" in item else None),
            Verdict(item["verdict"]),
            item["beats"],
            item["joins"],
        )
        for item in yaml.safe_load(FILE.read_text())
    ]


def keep(found: Iterable[Found]) -> None:
    """Write what was found into the file; of libraries that were not tried it keeps what it has."""
    fresh = list(found)
    tried = {item.trial.client for item in fresh}
    stored = [item for item in load() if item.trial.client not in tried] if FILE.exists() else []
    texts = [(trial.client, trial.text, trial.protocol) for trial in TRIALS]
    all_of_them = sorted(
        [*stored, *fresh],
        key=lambda result: texts.index((result.trial.client, result.trial.text, result.trial.protocol)),
    )
    entries = [item.entry() for item in all_of_them]
    head = "# What real consumers did with these settings; written by `python -m tests.lab --settings`.\n"
    FILE.write_text(head + yaml.safe_dump(entries, sort_keys=False, default_flow_style=None, width=120))


_BELOW_THE_BROKERS: Final = "S 900ms, H 200ms"
_GOOD: Final = "S 6s, H 1s"
_LONG_FETCH: Final = "S 4s, H 1s, W 8s"
_LIBRDKAFKA: Final = (_GOOD, "S 1500ms, H 333ms", "S 3s, H 5s", _LONG_FETCH, _BELOW_THE_BROKERS)

_TEXTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "aiokafka": (
            *(_GOOD, "S 3s, H 4s", _BELOW_THE_BROKERS, _LONG_FETCH),
            *("S 10s, H 1s, M 6s", "S 10s, H 1s, R 6s", "S 3s, H 3500ms", "S 3s, H 1s"),
        ),
        "confluent-kafka-go": (*_LIBRDKAFKA, "S 10s, H 1s, M 6s"),
        "confluent-kafka-javascript": (*_LIBRDKAFKA, "S 10s, H 1s, M 4s", "S 10s, H 1s, M 6s"),
        "confluent-kafka-python": (*_LIBRDKAFKA, "S 10s, H 1s, M 6s", "S 10s, H 1s, M 10s"),
        "confluent-kafka-python-kip848": ("", "S 10s, H 1s", "S 10s, H 1s, M 6s", "S 10s, H 1s, W 5s"),
        "connect": (_GOOD, "S 3s, H 3s", _BELOW_THE_BROKERS, "S 10s, H 1s, R 6s"),
        "franz-go": (_GOOD, "S 3s, H 3s", "S 2s, H 3s", _BELOW_THE_BROKERS, _LONG_FETCH, "S 10s, H 1s, R 5s"),
        "java": (_GOOD, "S 3s, H 3s", "S 2s, H 3s", _BELOW_THE_BROKERS, _LONG_FETCH, "S 10s, H 1s, M 6s"),
        "java-kip848": ("", "S 10s, H 1s", "S 10s, H 1s, M 6s", "S 10s, H 1s, W 5s"),
        "kafka-go": (_GOOD, "S 3s, H 4s", "S 3s, H 3s", _BELOW_THE_BROKERS, _LONG_FETCH, "S 10s, H 1s, R 5s"),
        "kafka-node": (_GOOD, "S 3s, H 4s", _BELOW_THE_BROKERS, "S 1500ms, H 333ms"),
        "kafka-python": (_GOOD, "S 3s, H 3s", "S 2s, H 3s", _BELOW_THE_BROKERS, _LONG_FETCH, "S 10s, H 1s, M 6s"),
        "kafkajs": (
            *("S 1s, H 333ms, W 5s", "S 1s, H 333ms, W 100ms", "S 6s, H 1s, W 1s", "S 4s, H 1s, W 5s"),
            *("S 5s, H 1s, W 5s", "S 3s, H 3s, W 500ms", "S 2s, H 3s, W 500ms", "S 6s, H 4s, W 3900ms"),
            *("S 900ms, H 200ms, W 100ms", "S 10s, H 3s, W 3s", "S 20s, H 3s, W 5s"),
        ),
        "node-rdkafka": (*_LIBRDKAFKA, "S 10s, H 1s, M 6s"),
        "platformatic": (
            *(_GOOD, "S 3s, H 3s", "S 2s, H 3s", "S 10s, H 1s, R 5s", _BELOW_THE_BROKERS, _LONG_FETCH),
            "S 4s, H 2s, R 4s",
        ),
        "rust-rdkafka": (*_LIBRDKAFKA, "S 10s, H 1s, M 6s"),
        "sarama": (
            *(_GOOD, "S 3s, H 1s, W 200ms", "S 3s, H 3s", "S 2s, H 3s", "S 900ms, H 200ms, W 100ms"),
            "S 10s, H 3s, W 1s",
        ),
        "share": ("", "S 10s, H 1s", "S 10s, H 1s, M 6s", "S 10s, H 1s, W 5s"),
        "spring": (_GOOD, "S 3s, H 3s", _BELOW_THE_BROKERS, "S 10s, H 1s, M 6s"),
        "streams": (_GOOD, "S 3s, H 3s", _BELOW_THE_BROKERS, "S 10s, H 1s, M 6s"),
        "streams-kip1071": ("", "S 10s, H 1s", "S 10s, H 1s, M 6s", "S 10s, H 1s, W 5s"),
    }
)

_LONGER: Final = (
    Trial("sarama", "S 10s, H 1s, W 5s", watched_s=60),
    Trial("sarama", "S 3s, H 1s, W 5s", watched_s=30),
    Trial("sarama", "S 20s, H 1s, W 5s", watched_s=45),
    Trial("kafkajs", "S 10s, H 1s, W 12s", watched_s=30),
)

_CONSUMER_PROTOCOL: Final = tuple(
    Trial(client, text, Protocol.CONSUMER)
    for client, texts in (
        ("java", ("", "S 10s", "H 1s")),
        ("confluent-kafka-python", ("", "S 10s")),
        ("platformatic", ("", "S 10s, H 1s")),
    )
    for text in texts
)

_STREAMS_PROTOCOL: Final = tuple(Trial("streams", text, Protocol.STREAMS) for text in ("", "S 10s", "H 1s"))

TRIALS: Final = tuple(
    sorted(
        (
            *(Trial(client, text) for client, texts in _TEXTS.items() for text in texts),
            *_LONGER,
            *_CONSUMER_PROTOCOL,
            *_STREAMS_PROTOCOL,
        ),
        key=lambda trial: trial.client,
    )
)
"""All that is tried, by library."""
