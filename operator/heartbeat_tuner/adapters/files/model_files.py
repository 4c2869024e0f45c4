"""Models as JSON files, where there is no cluster: the same documents, `FOLDER/NAMESPACE/NAME.json`.

A file is replaced whole, or not at all; one that says the same already is left alone. Only one fit at a time writes
into a folder.
"""

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from heartbeat_tuner.api import model_documents
from heartbeat_tuner.api.model_documents import InvalidModelError
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.models.group_model import Fitted, GroupModel, Unreadable
from heartbeat_tuner.ports.stored_models import Written

_LOCK: Final = ".lock"
_HOPELESS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""What happens to every file of a folder alike."""


class ModelFilesError(TunerError):
    """The folder cannot be used at all; the message names it and the fix."""


class ModelFiles:
    """A folder of models.

    Args:
        folder: is made when something is written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> Sequence[Fitted | Unreadable]:
        """Return all models, in the order of their names; files that do not even say whose they are are left out."""
        models = []
        for path in sorted(self._folder.glob("**/*.json")):
            stored = self._stored(path)
            model = None if stored is None else model_documents.read(stored)
            if model is not None:
                models.append(model)
        return models

    def write(self, fitted: Sequence[GroupModel]) -> Written:
        """Write what differs from what is there.

        Raises:
            ModelFilesError: the folder cannot be made or written to, or another fit writes into it.
        """
        written, unchanged, failed = 0, 0, []
        with self._locked():
            for number, model in enumerate(fitted):
                try:
                    path = self._path(model)
                    document = model_documents.due(model, self._stored(path))
                    if document is None:
                        unchanged += 1
                    else:
                        _replace(path, document)
                        written += 1
                except InvalidModelError as error:
                    failed.append(str(error))
                except OSError as error:
                    failed.append(f"model of group {model.namespace}/{model.group} not written: {error}")
                    if error.errno in _HOPELESS:
                        failed.append(f"{self._folder}: {len(fitted) - number - 1} more models not tried")
                        break
        return Written(written, unchanged, failed)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other fits out; the lock ends with the process, however that ends."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = (self._folder / _LOCK).open("w")
        except OSError as error:
            raise ModelFilesError(
                f"{self._folder}: cannot be written to ({error.strerror}); name another folder"
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise ModelFilesError(f"{self._folder}: another fit writes into it; wait until it has ended") from error
            yield

    def _path(self, model: GroupModel) -> Path:
        """Return the file of a model.

        Raises:
            InvalidModelError: its namespace is none.
        """
        key = model_documents.key_of(model_documents.document_of(model))
        return self._folder / key.namespace / f"{key.name}.json"

    def _stored(self, path: Path) -> Mapping[str, Any] | None:
        """Return what a file holds, under the name that its place gives it; None if it holds no object."""
        try:
            document = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(document, dict):
            return None
        namespace = "" if path.parent == self._folder else path.parent.name
        key = ObjectKey(namespace, path.stem)
        return {**document, "metadata": {"namespace": key.namespace, "name": key.name}}


def _replace(path: Path, document: Mapping[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    beside = path.with_name(f".{path.name}.tmp")  # one name, so that what a killed fit left is used up
    with beside.open("w") as file:
        json.dump(document, file, indent=2, allow_nan=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
