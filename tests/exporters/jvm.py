"""Exporters of the JVM."""

from typing import Final

from tests.exporters.exporter import Exporter

ROWS: Final[tuple[Exporter, ...]] = ()
