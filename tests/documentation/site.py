"""Build the documentation as a site with a search: `python -m tests.documentation.site` (that is `make docs-site`).

The pages are those of the checkout. MkDocs wants all of them in one folder, so they are copied, and links to what a
site does not have, such as source files, become plain text. The index by task, docs/README.md, is the navigation. A
link that leads nowhere fails the build. Nothing comes from another host, neither here nor in the reader's browser.
"""

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from mkdocs.commands.build import build
from mkdocs.config import load_config
from pymdownx import slugs

CHECKOUT: Final = Path(__file__).parents[2]
SITE: Final = CHECKOUT / "build" / "site"
INDEX: Final = "docs/README.md"

_COPIED: Final = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "charts/*/README.md", "docs/**/*")
_SUFFIXES: Final = {".md", ".yaml", ".png", ".svg"}
_LINK: Final = re.compile(r"(?<!!)\[(?P<words>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
_SECTION: Final = re.compile(r"^## (.+)$", re.MULTILINE)
_OTHERS: Final = "All other pages"
_CONTENTS: Final = "contents.md"
"""What a link to a folder leads to: a list of its pages."""


def pages(checkout: Path) -> dict[str, Path]:
    """Return what the site has: path below the checkout, and the file."""
    files = (path for pattern in _COPIED for path in checkout.glob(pattern))
    return {
        path.relative_to(checkout).as_posix(): path for path in files if path.is_file() and path.suffix in _SUFFIXES
    }


def shown(text: str, page: str, there: Mapping[str, Path]) -> str:
    """Return a page with links that the site can follow; of another link the words stay.

    Args:
        text: of the page, in Markdown.
        page: its path.
        there: what the site has.
    """

    def followed(link: re.Match[str]) -> str:
        path, mark, anchor = link["target"].partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return link[0]
        target = _joined(page, path)
        if target in there:
            return link[0]
        if any(other.startswith(f"{target}/") and other.endswith(".md") for other in there):
            return f"[{link['words']}]({path.rstrip('/')}/{_CONTENTS}{mark}{anchor})"
        return link["words"]

    return _LINK.sub(followed, text)


def navigation(index: str, there: Mapping[str, Path]) -> list[Any]:
    """Return the tree beside the pages: the tasks of the index, then what no task names."""
    parts = _SECTION.split(index)
    tree: list[Any] = [{"Overview": "README.md"}, {"By task": INDEX}]
    named = {"README.md", INDEX}
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        entries = {_joined(INDEX, link["target"]): link["words"].replace("`", "") for link in _LINK.finditer(text)}
        listed = {path: words for path, words in entries.items() if path in there and path not in named}
        named |= listed.keys()
        tree.append({title: [{words[:1].upper() + words[1:]: path} for path, words in listed.items()]})
    rest = sorted(path for path in there if path.endswith(".md") and path not in named)
    return [*tree, {_OTHERS: [{_title(there[path].read_text()): path} for path in rest]}]


def configuration(source: Path, site: Path, tree: list[Any]) -> dict[str, Any]:
    """Return MkDocs' configuration: no font, script or picture of another host, and every link checked."""
    return {
        "docs_dir": str(source),
        "site_dir": str(site),
        "use_directory_urls": False,  # so that links work from disk, too
        "strict": True,
        "nav": tree,
        "validation": {"links": {"anchors": "warn", "not_found": "warn", "unrecognized_links": "warn"}},
        "theme": {
            "name": "material",
            "font": False,
            "features": ["navigation.top", "content.code.copy", "search.suggest"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default"},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate"},
            ],
        },
        "extra": {"generator": False},
        "plugins": ["search"],
        "markdown_extensions": [
            "tables",
            "fenced_code",
            "sane_lists",
            "attr_list",
            {"toc": {"permalink": True, "slugify": slugs.slugify(case="lower")}},
            "pymdownx.superfences",
        ],
    }


def write(site: Path = SITE, *, checkout: Path = CHECKOUT) -> None:
    """Build the site of a checkout into an empty folder.

    Raises:
        mkdocs.exceptions.Abort: a link leads nowhere; the log says which.
    """
    source = site.with_name("site-pages")
    for folder in (site, source):
        shutil.rmtree(folder, ignore_errors=True)
    there = pages(checkout)
    for path, file in there.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            (source / path).write_text(shown(file.read_text(), path, there))
        else:
            shutil.copy(file, source / path)
    lists = dict(_contents(there))
    for path, text in lists.items():
        (source / path).write_text(text)
    tree = navigation((checkout / INDEX).read_text(), there)
    settings = source.with_name("site.yaml")
    settings.write_text("site_name: heartbeat-tuner\n")  # MkDocs wants a file
    build(load_config(str(settings), **configuration(source, site, tree), not_in_nav="\n".join(lists)))


def _contents(there: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    folders = {str(PurePosixPath(path).parent) for path in there if path.endswith(".md")}
    for folder in sorted(folders - {"."}):
        inside = sorted(path for path in there if PurePosixPath(path).parent == PurePosixPath(folder))
        lines = [
            f"- [{_title(there[path].read_text())}]({PurePosixPath(path).name})"
            for path in inside
            if path[-3:] == ".md"
        ]
        yield f"{folder}/{_CONTENTS}", "\n".join([f"# Pages of {folder}", "", *lines, ""])


def _title(text: str) -> str:
    heading = re.search("^# (.+)$", text, re.MULTILINE)
    return re.sub("[`*]", "", heading[1]) if heading else text[:40]


def _joined(page: str, target: str) -> str:
    parts: list[str] = []
    for part in [*PurePosixPath(page).parent.parts, *PurePosixPath(target.partition("#")[0]).parts]:
        if part == "..":
            del parts[-1:]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def main() -> None:
    """Build it, and say where it is."""
    write()
    count = sum(1 for _ in SITE.rglob("*.html"))
    sys.stdout.write(f"{SITE / 'index.html'} and {count - 1} other pages\n")


if __name__ == "__main__":
    main()
