"""The release's notes: its section of CHANGELOG.md."""

import re


def notes(changelog: str, version: str) -> str:
    """Return what the changelog says of a version, or of what is not released yet if the version has no section.

    Args:
        changelog: in the form of Keep a Changelog.
        version: as Python writes it.

    Raises:
        ValueError: there is neither section.
    """
    sections = dict(re.findall(r"(?ms)^## \[([^\]]+)\][^\n]*\n(.*?)(?=^## \[|\Z)", changelog))
    section = sections.get(version, sections.get("Unreleased"))
    if section is None:
        raise ValueError(f"CHANGELOG.md: there is no section [{version}], and none [Unreleased]")
    return f"# heartbeat-tuner {version}\n\n{section.strip()}\n"
