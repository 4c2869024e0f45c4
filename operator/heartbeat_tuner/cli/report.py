"""`heartbeat-tuner report`: one page of all consumer groups, ranked by what tuning saves and by risk.

`reporting` gathers what the sources know, `report.page` makes the page of it.
"""

import dataclasses
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import yaml

from heartbeat_tuner import __version__
from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.cli.group import prometheus_options, sample_group
from heartbeat_tuner.cli.group.group_names import group_names
from heartbeat_tuner.cli.options import duration
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.reporting import cluster_objects, fleet_members, group_entries
from heartbeat_tuner.cli.reporting.fleet_members import Sources
from heartbeat_tuner.cli.wording import shown
from heartbeat_tuner.report import page, ranking
from heartbeat_tuner.report.report_data import ReportData

_FOLDER: Final = click.Path(exists=True, file_okay=False, readable=True, path_type=Path)
_FILE: Final = click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True, path_type=Path)
OUTPUT: Final = click.Path(dir_okay=False, writable=True, allow_dash=True, path_type=Path)
_SHOWN_ERROR: Final = 300
_STDIO: Final = "-"

_T = TypeVar("_T")


@click.command("report", short_help="Write an HTML page of all groups: savings and risks.")
@prometheus_options.optional
@click.option(
    "--lookback", type=duration, default="1h", show_default=True, help="How far to look back, from 1m to 24h."
)
@click.option("--models", type=_FOLDER, metavar="FOLDER", help="Folder of models that `heartbeat-tuner fit` wrote.")
@sample_group.option
@click.option(
    "--filename",
    "-f",
    "filenames",
    type=_FILE,
    multiple=True,
    help="Output of `kubectl get cgp,cgm -A -o json`; - is the standard input.",
)
@click.option(
    "--group",
    "groups",
    multiple=True,
    shell_complete=group_names,
    help="Show only this consumer group. Repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the data of the page as JSON.")
@click.option("--output", "-o", type=OUTPUT, help="File to write; - is the standard output.  [default: report.html]")
def command(
    *,
    url: str | None,
    lookback: timedelta,
    models: Path | None,
    filenames: tuple[Path, ...],
    groups: tuple[str, ...],
    as_json: bool,
    output: Path | None,
    namespaces: tuple[str, ...],
    **given: Any,
) -> None:
    """Write an HTML page of all consumer groups: savings, risks and reasons.

    Data comes from a Prometheus, from a folder of models, from a cluster's policies, or from all of them. The page is
    one file that loads nothing and runs no script. The command changes nothing.

    Exit status: 0 if the report was written, 2 if the command line or a source cannot be used.
    """
    if url is None and models is None and not filenames:
        raise UsageProblem(
            "give --prometheus URL, --models FOLDER or --filename FILE: they say which groups there are; to try it, "
            "give --sample"
        )
    documents = [document for path in filenames for document in _documents(path)]
    known = cluster_objects.sources(documents, SystemClock().now())
    if models is not None:
        is_sample = models == sample_group.FOLDER
        read = sample_group.recent(known.now) if is_sample else ModelFiles(models).read()
        known = dataclasses.replace(known, models=[*read, *known.models])
    if url is not None:
        target = prometheus_options.asked(url=url, namespaces=namespaces, lookback=lookback, **given)
        watched, now = prometheus_options.run(target, lambda source: fleet_members.watch(source, target, groups))
        known = dataclasses.replace(known, watched=watched, now=now, lookback=lookback)
    names = [f"Prometheus at {shown(url, _SHOWN_ERROR)}"] if url is not None else []
    write(_only(known, groups, namespaces), [*names, *_held(known)], output, as_json=as_json)


def _held(sources: Sources) -> list[str]:
    """Return what sources hold, for people."""
    return ["fitted models"] * bool(sources.models) + ["policies of a cluster"] * bool(sources.policies)


def write(sources: Sources, names: Sequence[str], output: Path | None, *, as_json: bool) -> None:
    """Write the page of sources, or print its data; say which policies are left out.

    Args:
        sources: what was read.
        names: of the sources, for people.
        output: the file; None for the default.
        as_json: whether the data are printed instead.
    """
    for problem in sources.problems:
        click.echo(f"left out: {shown(problem, _SHOWN_ERROR)}", err=True)
    data = report_data(sources, names or ["sources without a group"])
    _write(
        data.model_dump_json(by_alias=True, indent=1) + "\n" if as_json else page.render(data), output, as_json=as_json
    )


def report_data(sources: Sources, names: Sequence[str]) -> ReportData:
    """Return the values of a report; details are those of the groups that a page shows in full.

    Args:
        sources: what was read.
        names: of the sources, for people.
    """
    now = sources.now
    with _progress("deciding", fleet_members.wanted(sources)) as deciding:
        fleet = [fleet_members.member(sources, group) for group in deciding]
    entries = [group_entries.group_entry(member) for member in fleet]
    with _progress("explaining", ranking.first(entries, page.SHOWN)) as explaining:
        for place in explaining:
            entries[place] = group_entries.detailed(entries[place], fleet[place], now)
    notes = fleet_members.left_out(sources)
    data = ReportData(made=now, version=__version__, sources=tuple(names), groups=tuple(entries), notes=notes)
    return group_entries.harmless(data)


def _progress(label: str, items: Sequence[_T]) -> AbstractContextManager[Iterable[_T]]:
    """Return items, with how far they are where somebody looks at a terminal."""
    return click.progressbar(items, label=label, file=sys.stderr, hidden=not sys.stderr.isatty())


def _only(sources: Sources, groups: Sequence[str], namespaces: Sequence[str]) -> Sources:
    """Return what the sources know of the groups that are asked for."""

    def is_asked_for(namespace: str, group: str) -> bool:
        return (not groups or group in groups) and (not namespaces or namespace in namespaces)

    return dataclasses.replace(
        sources,
        models=[model for model in sources.models if is_asked_for(*fleet_members.place_of(model))],
        policies=[view for view in sources.policies if is_asked_for(view.policy.key.namespace, view.policy.group_id)],
    )


def _documents(path: Path) -> list[Mapping[str, Any]]:
    """Return the policies and models of a file, out of lists too; other kinds are passed over.

    Raises:
        UsageProblem: the file is neither JSON nor YAML.
    """
    with click.open_file(str(path), encoding="utf-8", errors="replace") as file:
        text = file.read()
    try:
        read = [json.loads(text)] if text.lstrip().startswith("{") else list(yaml.safe_load_all(text))
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        where = click.format_filename(path)
        raise UsageProblem(f"--filename {where}: neither JSON nor YAML: {shown(str(error), _SHOWN_ERROR)}") from None
    items = [item for document in read if isinstance(document, dict) for item in (document.get("items") or [document])]
    return [
        item
        for item in items
        if isinstance(item, dict)
        and item.get("kind") in {cluster_objects.POLICY, cluster_objects.MODEL}
        and isinstance(item.get("metadata"), dict)
        and isinstance(item["metadata"].get("name"), str)
    ]


def _write(text: str, output: Path | None, *, as_json: bool) -> None:
    """Write to a file, or to the standard output: by default a page goes to a file, data do not.

    Raises:
        UsageProblem: the file cannot be written.
    """
    if output is None and not as_json:
        output = Path("report.html")
    if output is None or str(output) == _STDIO:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageProblem(f"--output {click.format_filename(output)}: {error.strerror}") from None
    click.echo(f"wrote {click.format_filename(output)}", err=True)
