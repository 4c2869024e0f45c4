"""A mutant in place of a module: imported from memory, so that no file is ever changed."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from pathlib import Path


class _Source(importlib.machinery.SourceFileLoader):
    """Loads another source than the file has; compiled anew, whatever bytecode lies about."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> types.CodeType:
        """Return the changed source, compiled."""
        return compile(self._text, self.get_filename(fullname), "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, path: Path, text: str) -> None:
        self._name, self._path, self._text = name, path, text

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None = None, _target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        file = str(self._path)
        inside = [str(self._path.parent)] if self._path.name == "__init__.py" else None
        loader = _Source(fullname, file, self._text)
        return importlib.util.spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=inside)


def plant(name: str, path: Path, text: str) -> None:
    """Have this process import `text` as the module `name`, whose file is `path`.

    Raises:
        ImportError: it has been imported, and may be in use.
    """
    if name in sys.modules:
        raise ImportError(f"{name} has been imported before it was changed")
    sys.meta_path.insert(0, _Finder(name, path, text))
