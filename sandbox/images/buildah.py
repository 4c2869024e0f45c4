"""Building an image with buildah, in a store of its own in the cache, and writing it out as an archive."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from sandbox import cache, commands

_BUILD_TIMEOUT_S: Final = 1800.0
"""The fit's image downloads and unpacks 500 MB; a busy machine takes its time."""

_QUERY_TIMEOUT_S: Final = 60.0

_MOST_UNNAMED: Final = 40
"""Stages of builds without a name, each with a layer or two of its own: those of about eight changes of the product."""

_MACHINE_FILES: Final = tuple(
    Path(file)
    for file in ("/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf", "/etc/apt/apt.conf", "/etc/apt/apt.conf.d")
)
"""How this machine reaches package indexes: whom it trusts, and which mirrors it uses. No part of an image."""


def exists(reference: str) -> bool:
    """Whether the store has an image of this name."""
    shown = subprocess.run(
        [*_program(), "images", "--quiet", reference],
        capture_output=True,
        check=False,  # an error to it when there is none
        timeout=_QUERY_TIMEOUT_S,
    )
    return shown.returncode == 0


def build(
    reference: str,
    context: Path,
    *,
    dockerfile: Path,
    target: str = "",
    arguments: Mapping[str, str] | None = None,
    made_at_s: int | None = None,
) -> None:
    """Build an image into the store; what has not changed since the last time is taken from there.

    Args:
        reference: its name and tag.
        context: the folder that COPY and ADD look into.
        dockerfile: what to do.
        target: the stage that is wanted; the last one if empty.
        arguments: values of the Dockerfile's ARG lines.
        made_at_s: the time that image and files get, in seconds since 1970, for which everything is built again; None
            leaves times as they are.

    Raises:
        SandboxError: the build failed; the message carries the end of what it said.
    """
    words: list[str | Path] = ["bud", "--isolation=chroot", "--pull-never", "--layers", f"--tag={reference}"]
    words += [f"--volume={path}:{path}:ro" for path in _MACHINE_FILES if path.exists()]
    words += [f"--build-arg={name}={value}" for name, value in (arguments or {}).items()]
    words += [f"--target={target}"] if target else []
    # A layer of an earlier build has the times of its files.
    words += [f"--timestamp={made_at_s}", "--no-cache"] if made_at_s is not None else []
    words += ["--file", dockerfile, context]
    commands.run("images", f"building {reference}", [*_program(), *words], timeout_s=_BUILD_TIMEOUT_S)


def forget(repository: str, *, but: int) -> None:
    """Remove the older images of a repository from the store, and what interrupted builds left there.

    Layers that no image has any more may be a next build's: they go only when there are many. The caller holds the lock
    that all builds take: containers of a build under way would go, too.

    Args:
        repository: such as `localhost/heartbeat-tuner`.
        but: how many of the newest stay.
    """
    commands.run("images", "removing what builds left", [*_program(), "rm", "--all"])
    old = sorted(_listed(f"reference={repository}"), key=lambda image: int(image["created"]), reverse=True)[but:]
    names = [name for image in old for name in image["names"] if name.startswith(f"{repository}:")]
    if names:
        commands.run("images", "removing older images", [*_program(), "rmi", *names])
    if len(_listed("dangling=true")) > _MOST_UNNAMED:
        commands.run("images", "removing layers that nothing uses", [*_program(), "rmi", "--prune"])


def _listed(which: str) -> list[dict[str, Any]]:
    """Return the images of the store that a filter of buildah's lets through."""
    words = [*_program(), "images", "--json", "--filter", which]
    listed = subprocess.run(words, capture_output=True, check=True, timeout=_QUERY_TIMEOUT_S)
    return cast("list[dict[str, Any]]", json.loads(listed.stdout))


def write_archive(reference: str, archive: Path) -> None:
    """Write an image of the store, with its name, as a docker-archive for `ctr images import` or `docker load`."""
    words = [*_program(), "push", "--quiet", reference, f"docker-archive:{archive}:{reference}"]
    commands.run("images", f"writing {reference}", words)


def write_layout(reference: str, layout: Path, name: str) -> None:
    """Write an image of the store into a folder in OCI's image layout, beside those that are there.

    Args:
        reference: its name and tag in the store.
        layout: the folder.
        name: what the layout's index calls it, such as `heartbeat-tuner:0.1.0`.
    """
    words = [*_program(), "push", "--quiet", "--format=oci", reference, f"oci:{layout}:{name}"]
    commands.run("images", f"writing {reference}", words)


def _program() -> list[str]:
    store = cache.root() / "buildah"
    return ["buildah", f"--root={store}", f"--runroot=/run/heartbeat-tuner-buildah-{cache.key(str(store))}"]
