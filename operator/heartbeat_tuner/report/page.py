"""The page: a function of a report's values alone.

What metrics, models and policies say is tenants' text. The template escapes whatever it is given (autoescape), figures
escape their own, and nothing on the page is a script or an address to be loaded.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Final

import jinja2

from heartbeat_tuner.report import ranking
from heartbeat_tuner.report.drawing import curve_figures, interval_figures, timeline_figures
from heartbeat_tuner.report.drawing.plot_frame import Drawing
from heartbeat_tuner.report.drawing.scales import seconds_label
from heartbeat_tuner.report.figure_words import duration, figure, moment
from heartbeat_tuner.report.plotted_data import ChangeEntry
from heartbeat_tuner.report.report_data import GroupEntry, ReportData

SHOWN: Final = 100
"""Groups that are shown with all there is of them; a page of thousands would open on no phone."""

_CHANGE: Final = "Change"
_UNKNOWN: Final = "Unknown"


_CURVES: Final = (
    (
        "survival",
        curve_figures.survival,
        "Solid: expected. Dashed: at most, at 95 %. An absence of a session, less the age of the last beat, evicts.",
    ),
    ("costs", curve_figures.costs, "With the heartbeat interval of the values recommended; the dots have their own."),
    ("evictions", curve_figures.evictions, "Solid: expected. Dashed: at most, at 95 %."),
)
"""What is drawn of a group's model: name, drawing and caption of each figure."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShownCurve:
    """A figure and the words below it."""

    drawn: Drawing
    caption: str


@dataclasses.dataclass(frozen=True, slots=True)
class ShownChange:
    """A change, and its figure if something was counted after it."""

    change: ChangeEntry
    effect: Drawing | None


@dataclasses.dataclass(frozen=True, slots=True)
class ShownGroup:
    """One group as the template shows it.

    Attributes:
        name: of its section on the page, for links.
        is_shown: whether it has a section.
        group: what is known of it.
        saving: what tuning saves, in partition-seconds a day; None where nobody knows.
        risk: how many times the allowed evictions it may have; None where nobody knows.
        counted: evictions that were counted, a month; None where none were.
        share: of the largest saving of all groups, in %.
        session: the session timeout now and recommended, in seconds.
    """

    name: str
    is_shown: bool
    group: GroupEntry
    saving: float | None
    risk: float | None
    counted: float | None
    share: float
    session: tuple[float, float | None]

    @property
    def title(self) -> str:
        """Where the group is and what it is called."""
        return "/".join(part for part in (self.group.cluster, self.group.namespace, self.group.group) if part)

    @property
    def is_at_risk(self) -> bool:
        """Whether more live members may be evicted than the objective allows."""
        return self.risk is not None and self.risk > 1

    @property
    def figures(self) -> list[ShownCurve]:
        """Its figures of what a model says."""
        drawn = ((draw(f"{self.name}-{kind}", self.group), caption) for kind, draw, caption in _CURVES)
        return [ShownCurve(plot, caption) for plot, caption in drawn if plot is not None]

    @property
    def timelines(self) -> list[Drawing]:
        """Its figures of what happened."""
        return [
            timeline_figures.timeline(f"{self.name}-timeline-{number}", entry)
            for number, entry in enumerate(self.group.timelines)
        ]

    @property
    def changes(self) -> list[ShownChange]:
        """Its changes, each with its figure."""
        return [
            ShownChange(change, interval_figures.effect(f"{self.name}-effect-{number}", change))
            for number, change in enumerate(self.group.changes)
        ]


def render(data: ReportData) -> str:
    """Return the page of a report: HTML, whole, with nothing to load."""
    saving, risk = ranking.by_saving(data.groups), ranking.by_risk(data.groups)
    most = max((saved for group in saving if (saved := ranking.saving(group)) is not None), default=0.0)
    names = {id(group): f"g{number}" for number, group in enumerate(saving, 1)}
    first = {id(data.groups[place]) for place in ranking.first(data.groups, SHOWN)}

    def shown(groups: Sequence[GroupEntry]) -> list[ShownGroup]:
        return [_shown(group, names[id(group)], most, is_shown=id(group) in first) for group in groups]

    return _template().render(
        data=data,
        fleet=(fleet := shown(saving)),
        risky=[group for group in shown(risk) if group.is_at_risk],
        total=sum(group.saving or 0.0 for group in fleet),
        changing=sum(group.group.verdict == _CHANGE for group in fleet),
        unknown=sum(group.group.verdict == _UNKNOWN for group in fleet),
        left_out=len(fleet) - len(first),
        made=moment(data.made.timestamp()),
    )


def _shown(group: GroupEntry, name: str, most: float, *, is_shown: bool) -> ShownGroup:
    saved = ranking.saving(group)
    share = 100 * max(saved or 0.0, 0.0) / most if most > 0 else 0.0
    counted, session = ranking.evictions_per_month(group.record), curve_figures.sessions_s(group)
    return ShownGroup(name, is_shown, group, saved, ranking.risk(group), counted, share, session)


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("heartbeat_tuner.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "figure": figure,
        "duration": duration,
        "moment": moment,
        "rate": interval_figures.rate_words,
        "seconds": seconds_label,
    }
    return environment.get_template("page.html")
