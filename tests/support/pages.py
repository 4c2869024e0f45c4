"""What a browser would make of a page, as far as a parser and rules can tell."""

import dataclasses
from html.parser import HTMLParser

_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})
_LOADING = frozenset({"src", "srcset", "action", "formaction", "poster", "background", "data", "xlink:href"})


@dataclasses.dataclass
class ParsedPage:
    """What stands on a page.

    Attributes:
        tags: all elements, in order, with their attributes.
        text: all words, one space between them.
        errors: elements that are not closed in order, ids that come twice, links and labels that lead nowhere.
        loads: attributes that would load something, or run it.
    """

    tags: list[tuple[str, dict[str, str]]]
    text: str
    errors: list[str]
    loads: list[str]


def parsed(page: str) -> ParsedPage:
    """Return what a parser finds."""
    parser = _Parser()
    parser.feed(page)
    parser.close()
    ids = [attributes["id"] for _, attributes in parser.tags if "id" in attributes]
    wanted = [
        name
        for _, attributes in parser.tags
        for name in [
            *attributes.get("aria-labelledby", "").split(),
            *([attributes["href"][1:]] if attributes.get("href", "").startswith("#") else []),
        ]
    ]
    errors = [
        *parser.errors,
        *(f"{tag} is not closed" for tag in parser.open),
        *(f"id {name} comes twice" for name in set(ids) if ids.count(name) > 1),
        *(f"nothing is called {name}" for name in wanted if name not in ids),
    ]
    return ParsedPage(parser.tags, " ".join(" ".join(parser.words).split()), errors, _loads(parser.tags))


def _loads(tags: list[tuple[str, dict[str, str]]]) -> list[str]:
    harmful = [
        f"{tag} {name}={value}"
        for tag, attributes in tags
        for name, value in attributes.items()
        if name.startswith("on")
        or name in _LOADING
        or (name == "href" and not value.startswith(("#", "data:,")))
        or (name == "style" and "url" in value)
    ]
    return [*harmful, *(tag for tag, _ in tags if tag in {"script", "iframe", "object", "embed", "img", "base"})]


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.errors: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.errors.append(f"{tag} is closed where it is not open")

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)
