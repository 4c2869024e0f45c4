"""A release says what is in it, is the same each time, and can be checked with other people's programs."""

import base64
import json
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from release import bills, notes, provenance, versions
from release.archives import Entry, tar_gz
from release.chart import _filled
from release.integrity import Signer, sums
from release.source import Source, export

CHANGELOG = """# Changelog

## [Unreleased]

### Added

- Something new.

## [0.1.0] - 2026-11-30

### Fixed

- Something old.
"""

LOCK = """click==8.2.0 \\
    --hash=sha256:00 \\
    --hash=sha256:11
colorama==0.4.6 ; sys_platform == 'win32' \\
    --hash=sha256:22
numpy==2.0 \\
    --hash=sha256:33
"""

STATUS = """Package: base-files
Status: install ok installed
Architecture: amd64
Description: files
 Version: no field, but a line of the description
Version: 12.4+deb12u11

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1
"""


def pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    """Return a private key as a file has it."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


KEY = pem(ec.generate_private_key(ec.SECP256R1()))


@pytest.mark.parametrize(
    ("python", "semantic"), [("0.1.0", "0.1.0"), ("0.2.0.dev1", "0.2.0-dev.1"), ("1.10.0rc2", "1.10.0-rc.2")]
)
def test_a_version_is_written_as_helm_and_krew_want_it(python: str, semantic: str) -> None:
    """Both refuse Python's way."""
    assert versions.semantic(python) == semantic


def test_a_version_that_semantic_versioning_cannot_say_is_refused() -> None:
    """An epoch would otherwise vanish."""
    with pytest.raises(ValueError, match=r"MAJOR\.MINOR\.PATCH"):
        versions.semantic("1!0.1.0")


def test_the_notes_are_the_version_s_section_alone() -> None:
    """Neither the next version's changes nor the one before."""
    assert notes.notes(CHANGELOG, "0.1.0") == "# heartbeat-tuner 0.1.0\n\n### Fixed\n\n- Something old.\n"
    assert "Something new" in notes.notes(CHANGELOG, "0.2.0.dev0")
    with pytest.raises(ValueError, match=r"no section \[9\]"):
        notes.notes("# Changelog\n", "9")


def test_an_archive_is_the_same_in_whatever_order_its_files_come() -> None:
    """Folders are listed in another order on another disk."""
    files = [Entry("b", b"2"), Entry("a", b"1", mode=0o755)]
    assert tar_gz(files) == tar_gz(reversed(files))
    with tarfile.open(fileobj=BytesIO(tar_gz(files))) as tar:
        assert [(member.name, member.mode, member.mtime) for member in tar] == [("a", 0o755, 0), ("b", 0o644, 0)]


def test_of_a_lock_only_the_named_packages_are_taken_with_their_hashes(tmp_path: Path) -> None:
    """The wheel's bill must not list what only the operator has."""
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "dev.lock").write_text(LOCK)
    source = Source("0" * 40, 0, tmp_path)
    assert bills.locked(source, "dev.lock", ["Click", "colorama"]) == LOCK.partition("numpy")[0]
    assert bills.locked(source, "dev.lock") == LOCK


def test_only_installed_debian_packages_are_listed() -> None:
    """One that was removed leaves its configuration in the database."""
    assert bills.installed(STATUS) == [bills.DebianPackage("base-files", "12.4+deb12u11", "amd64")]


def test_an_image_s_digest_goes_into_its_own_section() -> None:
    """The fit's image must not become the operator's."""
    values = 'a: 1\nimage:\n  digest: ""\nfitting:\n  image:\n    digest: ""\n'
    assert _filled(values, "fitting", "digest", "sha256:1") == (
        'a: 1\nimage:\n  digest: ""\nfitting:\n  image:\n    digest: "sha256:1"\n'
    )
    with pytest.raises(ValueError, match="`image` has no empty `tag`"):
        _filled(values, "image", "tag", "1")


def openssl(folder: Path, signature: str, signed: bytes, public: str) -> bool:
    """Whether OpenSSL accepts a signature."""
    (folder / "signature").write_bytes(base64.b64decode(signature))
    (folder / "signed").write_bytes(signed)
    (folder / "public").write_text(public)
    words = ["openssl", "dgst", "-sha256", "-verify", "public", "-signature", "signature", "signed"]
    return subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=60).returncode == 0


def test_openssl_accepts_a_signature_of_this_content_and_no_other(tmp_path: Path) -> None:
    """Cosign's blobs are signed in the same way."""
    signer = Signer(KEY)
    assert signer.signature(b"sums") == signer.signature(b"sums")
    assert openssl(tmp_path, signer.signature(b"sums"), b"sums", signer.public_key())
    assert not openssl(tmp_path, signer.signature(b"sums"), b"other", signer.public_key())


def test_a_key_that_cosign_would_not_take_is_refused() -> None:
    """It would make signatures that nobody can check with the command of the docs."""
    with pytest.raises(TypeError, match="P-256"):
        Signer(pem(rsa.generate_private_key(65537, 2048)))
    with pytest.raises(TypeError, match="P-256"):
        Signer(pem(ec.generate_private_key(ec.SECP384R1())))


def test_the_signed_statement_names_the_commit_and_each_file(tmp_path: Path) -> None:
    """The signature is over DSSE's encoding, not over the JSON alone."""
    signer = Signer(KEY)
    statement = provenance.statement(Source("c" * 40, 0, tmp_path), {"b": "22", "a": "11"}, {"url": "u"})
    wrapped = provenance.envelope(statement, signer)
    payload = base64.b64decode(wrapped["payload"])
    encoded = b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(payload), payload)
    assert openssl(tmp_path, wrapped["signatures"][0]["sig"], encoded, signer.public_key())
    read = json.loads(payload)
    assert [subject["name"] for subject in read["subject"]] == ["a", "b"]
    definition = read["predicate"]["buildDefinition"]
    assert definition["resolvedDependencies"][0]["digest"] == {"gitCommit": "c" * 40}


def test_sha256sum_checks_the_sums(tmp_path: Path) -> None:
    """From the folder of the release, with files of folders."""
    (tmp_path / "images").mkdir()
    files = [tmp_path / "images" / "blob", tmp_path / "a.whl"]
    for file in files:
        file.write_text(file.name)
    (tmp_path / "SHA256SUMS").write_text(sums(files, tmp_path))
    words = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False, timeout=60).returncode == 0
    files[0].write_text("changed")
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False, timeout=60).returncode == 1


def test_a_release_has_what_is_committed_and_says_what_is_not(tmp_path: Path) -> None:
    """A file that somebody forgot to commit must not be shipped by whoever has it."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    (tmp_path / "committed").write_text("first")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Begin", "--date=2026-01-01T00:00:00Z"]):
        subprocess.run([*git, *words], check=True, timeout=60)
    (tmp_path / "committed").write_text("second")
    (tmp_path / "forgotten").write_text("")
    source = export(tmp_path / ".git" / "exported", checkout=tmp_path)
    assert (source.folder / "committed").read_text() == "first"
    assert not (source.folder / "forgotten").exists()
    assert set(source.left_out) == {"committed", "forgotten"}
