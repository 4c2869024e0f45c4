"""What apt cannot do is said in a sentence that names the packages."""

import pytest

from sandbox import debian
from sandbox.errors import PrerequisiteMissingError


def test_another_system_than_debian_is_told_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no apt-get, nothing is tried."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PrerequisiteMissingError, match="Debian system with the packages buildah mmdebstrap"):
        debian.ensure("buildah", "mmdebstrap")
