"""The settings of docs/reference/check-examples.yaml, as the rules and as the command line take them."""

import dataclasses
import re
from datetime import timedelta
from typing import Any

import yaml

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.lint.checked_settings import Expectations, Inspected, SessionBounds
from tests.support import documents


@dataclasses.dataclass(frozen=True)
class Example:
    """One entry of the file; `holds` is None where nothing has to change."""

    client: str
    settings: dict[str, str]
    options: dict[str, Any]
    findings: list[str]
    holds: dict[str, Any] | str | None

    def __str__(self) -> str:
        """Return the settings, as a test's name."""
        return " ".join([self.client, *map(str, self.settings.values()), *map(str, self.options.values())])

    @property
    def inspected(self) -> Inspected:
        """The settings as the rules take them."""
        return Inspected.of(
            catalogue.client(self.client),
            {Setting(name): durations.parse(value) for name, value in self.settings.items()},
            protocol=Protocol(self.options["groupProtocol"]) if "groupProtocol" in self.options else None,
        )

    @property
    def expectations(self) -> Expectations:
        """The options as the rules take them."""
        return Expectations(
            brokers=self.options.get("brokers", 1),
            max_detection_time=durations.parse(self.options.get("maxDetectionTime", "60s")),
            handler_time=self._duration("handlerTime"),
            blocking_messages=self.options.get("blockingMessages", 0),
            longest_pause=self._duration("longestPause"),
            broker_session=SessionBounds(self._duration("brokerMinSession")),
        )

    def _duration(self, option: str) -> timedelta | None:
        text = self.options.get(option)
        return None if text is None else durations.parse(text)

    @property
    def arguments(self) -> list[str]:
        """Both as the command line takes them."""
        options = {"client": self.client, **self.settings, **self.options}
        flags = {re.sub("([A-Z])", r"-\1", name).lower(): value for name, value in options.items()}
        return ["check", *(f"--{name}={value}" for name, value in flags.items())]


def examples() -> list[Example]:
    """Return the entries."""
    text = (documents.CHECKOUT / "docs" / "reference" / "check-examples.yaml").read_text()
    return [
        Example(item["client"], item["settings"], item.get("with", {}), item["findings"], item.get("holds"))
        for item in yaml.safe_load(text)
    ]
