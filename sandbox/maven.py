"""Jars from Maven, each one pinned by its checksum."""

from pathlib import Path
from typing import Final

from sandbox import cache, commands

_COPY_JARS: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


def download_jars(part: str, doing: str, *, pom: Path, checksums: Path, into: Path) -> None:
    """Fill a folder with what a pom.xml depends on at run time.

    Args:
        part: who needs them, for progress lines and errors.
        doing: as in "downloading Apache Kafka".
        pom: its dependencies, and theirs, are what comes.
        checksums: a line of SHA-256 and file name for each jar, as `sha256sum` prints them.
        into: an empty folder.

    Raises:
        ChecksumMismatchError: a jar is missing, not pinned or different.
        SandboxError: Maven failed; the message carries the end of what it said.
    """
    output = f"-DoutputDirectory={into}"
    commands.run(part, doing, ["mvn", "-q", "-B", "-f", pom, _COPY_JARS, "-DincludeScope=runtime", output])
    sums = (line.split() for line in checksums.read_text().splitlines())
    cache.verify_sha256(into, {name: sha256 for sha256, name in sums})
