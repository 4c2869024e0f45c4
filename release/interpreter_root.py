"""What an image needs of its base to run Python, and nothing else: no shell, no package manager.

The Dockerfile runs it by the base's own Python, with nothing of ours: `python interpreter_root.py VENV ROOT` copies
into ROOT the interpreter, its standard library, the shared libraries that these and the extensions of the virtual
environment load, and certificates. Files keep their paths. Of the package database it copies the entries of the
packages that own a copied file, so that scanners find them.
"""

import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

LEFT_OUT = ("test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "__pycache__", "misc")
"""Of the standard library: tests, windows, and what installs packages; of OpenSSL, scripts for authorities."""

ALSO = (
    *(
        "/etc/ssl",
        "/usr/lib/ssl",
        "/usr/share/ca-certificates",
        "/etc/nsswitch.conf",
        "/etc/os-release",
        "/usr/lib/os-release",
    ),
    *("/etc/ld.so.conf", "/etc/ld.so.conf.d", "/usr/lib/locale/C.utf8"),
)
"""Certificates, how names are looked up, what the system is called, where libraries are, and UTF-8 as the default."""

OPENED_LATER = ("libgcc_s.so.1",)
"""Libraries that no file names: the C library opens this one when a thread ends."""

STATUS = Path("/var/lib/dpkg/status")
USERS = "root:x:0:0:root:/:/sbin/nologin\nheartbeat-tuner:x:65532:65532::/tmp:/sbin/nologin\n"


def libraries(files: Iterable[Path], inside: Path) -> set[Path]:
    """Return the shared libraries outside a folder that files load, by the paths at which the loader finds them.

    Args:
        files: programs and extensions.
        inside: the folder whose own libraries go with it.
    """
    found = set()
    for file in files:
        listed = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
        for text in re.findall(r"(?:=> )?(/\S+) \(0x", listed):
            if not Path(text).resolve().is_relative_to(inside):
                found.add(Path(text))
    folders = {path.resolve().parent for path in found}
    return found | {folder / name for folder in folders for name in OPENED_LATER if (folder / name).exists()}


def loadable(folder: Path) -> Iterator[Path]:
    """Yield the extensions and libraries in a folder."""
    return (path for path in folder.rglob("*.so*") if path.is_file() and not path.is_symlink())


def copy(path: Path, root: Path) -> set[Path]:
    """Copy a file, or a folder with all in it, with the links on the way; return the real files' paths."""
    if not path.exists():
        return set()
    if path.is_dir() and not path.is_symlink():
        return {file for child in sorted(path.iterdir()) if child.name not in LEFT_OUT for file in copy(child, root)}
    real = Path(os.path.realpath(path.parent)) / path.name
    target = root / real.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if real.is_symlink():
        if not target.is_symlink():
            target.symlink_to(real.readlink())
        return copy(real.parent / real.readlink(), root)
    shutil.copy2(real, target)
    return {real}


def owners(files: Iterable[Path]) -> set[str]:
    """Return the Debian packages that own files; a file of a merged /usr may be listed without it."""
    names = set()
    wanted = {str(path) for path in files} | {str(path).removeprefix("/usr") for path in files}
    for listed in (STATUS.parent / "info").glob("*.list"):
        if not wanted.isdisjoint(listed.read_text().split("\n")):
            names.add(listed.name.removesuffix(".list").partition(":")[0])
    return names


def paragraphs(status: str, names: set[str]) -> str:
    """Return the paragraphs of the package database that describe the named packages."""
    entries = status.strip().split("\n\n")
    chosen = [entry for entry in entries if re.findall(r"(?m)^Package: (.*)$", entry)[:1] and _name(entry) in names]
    return "\n\n".join([*chosen, ""])


def _name(paragraph: str) -> str:
    (name,) = re.findall(r"(?m)^Package: (.*)$", paragraph)
    return str(name)


def main(venv: Path, root: Path) -> None:
    """Fill the root for a virtual environment, which is not copied itself."""
    standard = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    python = Path(sys.executable)
    programs = [Path(os.path.realpath(python)), *(path for folder in (*standard, venv) for path in loadable(folder))]
    root.mkdir(parents=True)
    for link in ("lib", "lib64"):
        if Path("/", link).is_symlink():  # a merged /usr
            (root / link).symlink_to(Path("/", link).readlink())
    files = set()
    links = (python, venv / "bin" / "python")
    for path in (*links, *sorted(standard), *sorted(libraries(programs, venv)), *map(Path, ALSO)):
        files |= copy(path, root)
    shutil.rmtree(root / venv.relative_to("/"), ignore_errors=True)
    for folder in standard:
        target = str(root / folder.relative_to("/"))
        compileall.compile_dir(
            target, quiet=1, stripdir=str(root), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )
    if STATUS.exists():
        (root / STATUS.parent.relative_to("/")).mkdir(parents=True)
        (root / STATUS.relative_to("/")).write_text(paragraphs(STATUS.read_text(), owners(files)))
    (root / "etc" / "passwd").write_text(USERS)
    (root / "tmp").mkdir(mode=0o1777)
    (root / "tmp").chmod(0o1777)
    subprocess.run(["ldconfig", "-r", root], check=True)
    shutil.rmtree(root / "var" / "cache", ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
