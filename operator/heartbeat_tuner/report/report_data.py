"""The values of a report, as JSON has them: what the page shows, and nothing else.

A page is made of these alone, so a document that an earlier version wrote can be shown by a later one. Fields that come
later need a default, and a field never changes its unit or its meaning. Durations of settings are whole milliseconds,
moments are Unix seconds.
"""

from datetime import datetime
from typing import Final

from heartbeat_tuner.report.plotted_data import ChangeEntry, CostEntry, Entry, SurvivalEntry, TimelineEntry

FORMAT: Final = 1
"""Of the document; another one if a field ever has to change its meaning."""


class SettingEntry(Entry):
    """One setting of a group.

    Attributes:
        name: in words, like `session timeout`.
        key: as policies call it, like `sessionTimeout`.
        now_ms: what is set.
        assumed: whether nobody says what is set, and the default stands here.
        recommended_ms: what should be set; None where nothing is recommended.
    """

    name: str
    key: str
    now_ms: int
    assumed: bool = False
    recommended_ms: int | None = None


class ExpectedEntry(Entry):
    """What some values are expected to bring.

    Attributes:
        evictions_per_month: live members removed, of the whole group in 30 days.
        evictions_at_most: the same at most, at 95 %.
        stalled_per_day: partition-seconds, beyond what no setting can change.
        detection_s: from a crash to the removal, on average.
    """

    evictions_per_month: float
    evictions_at_most: float
    stalled_per_day: float
    detection_s: float


class ForecastEntry(Entry):
    """What a fitted model expects.

    Attributes:
        now: of what is set.
        recommended: of what should be set; None where nothing is recommended.
        confidence: Low, Medium or High.
    """

    now: ExpectedEntry
    recommended: ExpectedEntry | None = None
    confidence: str = ""


class RecordEntry(Entry):
    """What was counted.

    Attributes:
        since_s: when the record begins.
        until_s: when it ends.
        evictions: of live members that were silent.
        poll_gap_evictions: of live members that did not poll.
        rebalancing_share: of the time, spent in rebalances; None if that is not known.
    """

    since_s: float
    until_s: float
    evictions: int
    poll_gap_evictions: int = 0
    rebalancing_share: float | None = None


class NumberEntry(Entry):
    """One number of the chain of reasons; both values are already in words."""

    name: str
    now: str
    recommended: str = ""
    note: str = ""


class LinkEntry(Entry):
    """One link of the chain of reasons."""

    title: str
    numbers: tuple[NumberEntry, ...] = ()
    sentences: tuple[str, ...] = ()


class SnippetEntry(Entry):
    """Something to paste: what it does, in which language it is, and its text."""

    title: str
    language: str
    text: str


class GroupEntry(Entry):
    """One consumer group.

    Attributes:
        namespace: of its pods; may be empty.
        group: its id.
        cluster: the Kafka cluster's name; may be empty.
        client: its library, in words.
        verdict: Healthy, Unproven, Change, Infeasible or Unknown.
        reason: the word of the verdict.
        message: the sentence with its numbers.
        mode: of its policy; empty without one.
        allowed_per_month: evictions that the objective allows.
        settings: what is set, and what should be.
        forecast: what a model expects; None without one.
        record: what was counted; None where nobody looked, or it is unknown.
        survival: how long absences last; None without a model.
        costs: what session timeouts cost; None without a model.
        timelines: what happened, the longest first.
        changes: that the tuner made, the newest first.
        links: the chain of reasons.
        snippets: what to paste.
        notes: what the entry rests on that nobody measured.
    """

    namespace: str
    group: str
    cluster: str = ""
    client: str
    verdict: str
    reason: str = ""
    message: str = ""
    mode: str = ""
    allowed_per_month: float = 1.0
    settings: tuple[SettingEntry, ...] = ()
    forecast: ForecastEntry | None = None
    record: RecordEntry | None = None
    survival: SurvivalEntry | None = None
    costs: CostEntry | None = None
    timelines: tuple[TimelineEntry, ...] = ()
    changes: tuple[ChangeEntry, ...] = ()
    links: tuple[LinkEntry, ...] = ()
    snippets: tuple[SnippetEntry, ...] = ()
    notes: tuple[str, ...] = ()


class ReportData(Entry):
    """All that a page shows.

    Attributes:
        format: of this document.
        made: when.
        version: of the program that made it.
        sources: what was asked, in words.
        groups: in no order that matters.
        notes: what could not be read.
    """

    format: int = FORMAT
    made: datetime
    version: str
    sources: tuple[str, ...]
    groups: tuple[GroupEntry, ...]
    notes: tuple[str, ...] = ()
