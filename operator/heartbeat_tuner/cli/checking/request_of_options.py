"""The command line of `check`, looked through: what goes together, and what it asks for."""

import dataclasses
import difflib
import functools
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from heartbeat_tuner.cli.checking import judging, settings_sources
from heartbeat_tuner.cli.checking.settings_sources import CheckInput, CheckRequest
from heartbeat_tuner.cli.options import client_of
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.wording import listed
from heartbeat_tuner.clients import features
from heartbeat_tuner.clients.client import Client, Protocol
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.lint import checked_settings, rule_catalogue
from heartbeat_tuner.lint.checked_settings import Expectations, SessionBounds
from heartbeat_tuner.lint.found_consumers import ReadingOptions
from heartbeat_tuner.lint.rule import Rule

_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,252}")


def option(setting: Setting) -> str:
    """Return the option that says a setting."""
    return f"--{checked_settings.NAMES[setting].replace(' ', '-')}"


@dataclasses.dataclass(frozen=True)
class Asked:
    """The command line, checked as it is read.

    Attributes:
        options: by click's names.
        clients: library names by patterns of paths, from the configuration.
    """

    options: Mapping[str, Any]
    clients: Mapping[str, str]

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files and folders."""
        return (*self.options["paths"], *self.options["filenames"])

    @property
    def has_files(self) -> bool:
        """Whether settings come from files at all."""
        return bool(self.paths) or self.options["env_file"] is not None

    def request(self) -> CheckRequest:
        """Return how files are to be read.

        Raises:
            UsageProblem: options that do not go together, or that the library has no use for.
        """
        name, version = self.options["name"], self.options["client_version"]
        client = None if name is None else client_of(name, version or None)
        if client is None and not self.has_files:
            raise UsageProblem("name files or folders to check, or say with --client which library is meant")
        flags = {setting: self.options[parameter(setting)] for setting in Setting}
        given = {setting: value for setting, value in flags.items() if value is not None}
        if client is not None:
            self._suit(client, given)
        self._files_suit()
        preset = self.options["preset"]
        base = {} if client is None else dict(client.presets[preset or next(iter(client.presets))])
        named = self._overrides(client, base)
        protocol = self.options["group_protocol"]
        return CheckRequest(
            ReadingOptions(
                client=client,
                given=given,
                named={**base, **named} if preset else named,
                expected={**base, **named},
                preset=preset,
                protocol=None if protocol is None else Protocol(protocol),
            ),
            env_names={**base, **named},
            container=self.options["container"],
            clients={pattern: client_of(name, None) for pattern, name in self.clients.items()},
        )

    def gathered(self, request: CheckRequest) -> CheckInput:
        """Return what is checked.

        Raises:
            UsageProblem: a file cannot be used.
        """
        if not self.has_files:
            return settings_sources.from_flags(request)
        try:
            return settings_sources.from_files(request, self.paths, self.options["env_file"])
        except TunerError as error:
            raise UsageProblem(str(error)) from error

    def expectations(self) -> Expectations:
        """Return what is known of workload and cluster."""
        options = self.options
        for option in ("client_version", "kafka_version"):
            if options[option] and not features.VERSION.fullmatch(options[option]):
                raise UsageProblem(f"--{option.replace('_', '-')} {options[option]}: write a version like 3.9")
        target = options["target_protocol"]
        return Expectations(
            brokers=options["brokers"],
            max_detection_time=options["max_detection_time"],
            handler_time=options["handler_time"],
            blocking_messages=options["blocking_messages"],
            longest_pause=options["longest_pause"],
            broker_session=SessionBounds(options["broker_min_session"], options["broker_max_session"]),
            client_version=options["client_version"],
            kafka_version=options["kafka_version"],
            target_protocol=None if target is None else Protocol(target),
        )

    def selection(self) -> judging.Selection:
        """Return which rules may speak."""
        select = _rules(self.options["select"], "--select") or rule_catalogue.RULES
        return judging.selection(select, _rules(self.options["ignore"], "--ignore"))

    def more(self) -> list[str]:
        """Return the options that were not given, and would show more; none for flags alone."""
        if not self.has_files:
            return []
        asked = ("handler_time", "longest_pause", "broker_min_session", "kafka_version")
        return [f"--{name.replace('_', '-')}" for name in asked if not self.options[name]]

    def _suit(self, client: Client, given: Iterable[Setting]) -> None:
        """Refuse options that the client has no use for."""
        options = self.options
        if options["handler_time"] is not None and not client.handles_messages:
            raise UsageProblem(
                f"{client.title} handles no messages itself: take --handler-time out, and check the consumers of its "
                f"sink tasks with --client java"
            )
        preset = options["preset"]
        if preset is not None and preset not in client.presets:
            raise UsageProblem(f"--preset {preset}: {client.title} is known with {listed(list(client.presets))}")
        for setting in given:
            _known(client, setting, option(setting), option)
        protocol = options["group_protocol"]
        if protocol is not None and protocol not in client.protocols:
            raise UsageProblem(
                f"--group-protocol {protocol}: groups of {client.title} are {' or '.join(client.protocols)} ones; take "
                f"the option out"
            )

    def _files_suit(self) -> None:
        """Refuse options of files where there are none, and those that need a library."""
        options = self.options
        if options["container"] is not None and not self.paths:
            raise UsageProblem("--container says which container of a manifest is meant: name the manifest")
        if (options["overrides"] or options["preset"]) and not self.has_files:
            raise UsageProblem("--env and --preset say which variables of a file to read: name the file")
        if (options["fix"] or options["diff"]) and not self.has_files:
            raise UsageProblem("--fix and --diff change files: name one")
        if options["preset"] and options["name"] is None:
            raise UsageProblem("--preset names variables of a library: say with --client which")

    def _overrides(self, client: Client | None, base: Mapping[Setting, str]) -> dict[Setting, str]:
        """Return the variables that `--env` names."""
        known = list(client.settings) if client is not None else list(Setting)
        names: dict[Setting, str] = {}
        for override in self.options["overrides"]:
            named, sign, variable = override.partition("=")
            if named not in list(Setting) or not sign:
                near = difflib.get_close_matches(named, known, n=1) if sign else []
                fix = f"did you mean {near[0]}={variable}? Write" if near else "write"
                raise UsageProblem(f"--env {override}: {fix} SETTING=NAME, with one of {', '.join(known)}")
            if client is not None:
                _known(client, Setting(named), f"--env {override}", functools.partial(_override, variable))
            if not _ENV_NAME.fullmatch(variable):
                raise UsageProblem(f"--env {override}: {variable!r} cannot be the name of a variable")
            names[Setting(named)] = variable
        together = {**base, **names}
        for setting, variable in names.items():
            twin = next(owner for owner, other in together.items() if other == variable)
            if twin is not setting:
                raise UsageProblem(
                    f"--env: {variable} is the variable of {twin} and of {setting}; one variable cannot hold two "
                    f"settings"
                )
        return names


def _rules(selectors: Iterable[str], option: str) -> list[Rule]:
    try:
        return [
            rule for given in selectors for part in given.split(",") for rule in rule_catalogue.selected(part.strip())
        ]
    except ValueError as error:
        raise UsageProblem(f"{option}: {error}") from error


def parameter(setting: Setting) -> str:
    """Return what click calls the option of a setting."""
    return checked_settings.NAMES[setting].replace(" ", "_")


def _known(client: Client, setting: Setting, given: str, instead: Callable[[Setting], str]) -> None:
    """Refuse a setting that the client has not.

    Args:
        client: the library.
        setting: what is asked for.
        given: how the command line asks for it.
        instead: how it would ask for another setting.

    Raises:
        UsageProblem: with what plays its part.
    """
    if setting in client.settings:
        return
    stand_in = client.stand_in(setting)
    hint = "" if stand_in is None else f"; say it with {instead(stand_in)}"
    raise UsageProblem(
        f"{given}: {client.title} has no {checked_settings.NAMES[setting]}: {client.part_of(setting)}{hint}"
    )


def _override(variable: str, setting: Setting) -> str:
    return f"--env {setting}={variable}"
