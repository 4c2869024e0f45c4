"""Every exporter that is recorded: those of the JVM and the others."""

from typing import Final

from tests.exporters import jvm, other
from tests.exporters.exporter import Exporter

EXPORTERS: Final[dict[str, Exporter]] = {row.name: row for row in (*jvm.ROWS, *other.ROWS)}
