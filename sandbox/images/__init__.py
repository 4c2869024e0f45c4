"""The project's images and what a node needs beside them, built here: no registry is asked.

`build` makes one of `TARGETS` as a docker-archive in the cache, and only when what it is made from has changed; its tag
says what that is. `reference` is the name by which a node that imported the archive knows it. Only root on Debian can
build: the base for the Dockerfile is made by mmdebstrap from the packages of this machine's mirrors. By hand it is
`python -m sandbox.images operator`. Rooms: `recipes`, `buildah`, and `contents` of an archive.
"""

from sandbox.images.recipes import TARGETS, build, obstacle, reference

__all__ = ["TARGETS", "build", "obstacle", "reference"]
