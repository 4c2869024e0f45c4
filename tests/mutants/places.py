"""Which places of a source are worth changing, by its syntax tree.

Left out is what no test can tell from the original, or what any run at all would show:

- annotations, what stands under `TYPE_CHECKING`, and unions of types: they say nothing to a running program, or end it;
- decorators that only remember answers or speak to the type checker, and how many answers are remembered;
- `frozen`, `slots` and `kw_only` of a dataclass, and `strict` of `zip`: they refuse errors that no caller makes;
- a binary operator's sign where it is none: `*` and `/` between parameters, `**` before a mapping.

Docstrings and sentences need no rule: no operator that is used changes text.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final

Position = tuple[int, int]
"""Line from 1, column in characters from 0."""
Span = tuple[Position, Position]

_IDLE_DECORATORS: Final = {
    "abstractmethod",
    "cache",
    "final",
    "lru_cache",
    "overload",
    "override",
    "runtime_checkable",
}
_IDLE_KEYWORDS: Final = {"dataclass": {"frozen", "slots", "kw_only"}, "zip": {"strict"}}
_BUILT_IN_TYPES: Final = {"bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple", "type"}
_CLASS_NAME: Final = re.compile(r"_*[A-Z]\w*[a-z]\w*$")


class Places:
    """What of one source may be changed.

    Args:
        text: the source.
    """

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        nodes = list(ast.walk(ast.parse(text)))
        sizes = {keyword.value.id for keyword in _sizes(nodes) if isinstance(keyword.value, ast.Name)}
        self._idle = [span for node in nodes for span in self._idle_spans(node, sizes)]
        self._signs = [(self._end(node.left), self._start(node.right)) for node in nodes if isinstance(node, ast.BinOp)]

    def may_change(self, position: Position) -> bool:
        """Return whether a change there could be noticed, and not by every run."""
        return not any(start <= position < end for start, end in self._idle)

    def is_binary(self, position: Position) -> bool:
        """Return whether a binary operator's sign stands there."""
        return any(start <= position < end for start, end in self._signs)

    def _idle_spans(self, node: ast.AST, sizes: set[str]) -> Iterator[Span]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                if _last_name(decorator) in _IDLE_DECORATORS:
                    yield (decorator.lineno, 0), self._end(decorator)
        elif isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING":
            yield self._start(node.test), self._end(node.body[-1])
        else:
            yield from map(self._span, _idle_expressions(node, sizes))
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(part, ast.expr):
                yield self._span(part)

    def _span(self, node: ast.expr | ast.stmt) -> Span:
        return self._start(node), self._end(node)

    def _start(self, node: ast.expr | ast.stmt) -> Position:
        return node.lineno, self._column(node.lineno, node.col_offset)

    def _end(self, node: ast.expr | ast.stmt) -> Position:
        line, offset = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return line, self._column(line, offset)

    def _column(self, line: int, offset: int) -> int:
        """Return the column in characters: `ast` counts bytes."""
        return len(self._lines[line - 1].encode()[:offset].decode())


def _idle_expressions(node: ast.AST, sizes: set[str]) -> Iterator[ast.expr]:
    """Yield arguments that refuse errors, numbers of remembered answers, and unions of types."""
    match node:
        case ast.Call(keywords=keywords):
            for keyword in keywords:
                if keyword.arg in _IDLE_KEYWORDS.get(_last_name(node), ()) or keyword.arg == "maxsize":
                    yield keyword.value
        case ast.BinOp(op=ast.BitOr()) if _is_type(node.left) or _is_type(node.right):
            yield node
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in sizes:
            yield value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name in sizes:
            yield value


def _sizes(nodes: list[ast.AST]) -> Iterator[ast.keyword]:
    """Yield what says how many answers are remembered."""
    return (node for node in nodes if isinstance(node, ast.keyword) and node.arg == "maxsize")


def _last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name, or of the function that is called."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=function):
            return _last_name(function)
    return ""


def _is_type(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=None):
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _BUILT_IN_TYPES or _CLASS_NAME.match(name) is not None
        case ast.Subscript(value=value):
            return _is_type(value)
        case ast.BinOp(op=ast.BitOr()):
            return _is_type(node.left) or _is_type(node.right)
    return False
