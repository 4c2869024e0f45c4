"""Where a name of the product is used: what else has to run for a line to matter that runs at import.

Names are compared as text, whatever they belong to: too many lines rather than too few.
"""

import ast
import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from tests.mutants.modules import Module

_FAR: Final = 4
"""Definitions between a line and where it is used at last."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclasses.dataclass(frozen=True, slots=True)
class Statement:
    """A statement without the block below it.

    Attributes:
        lines: it stands there.
        names: what it defines, where it runs when the module is imported; nothing in a function.
        inside: the names of the function that it stands in, and of its class.
        body: where it is a function's or a class's head, the lines of its functions.
    """

    lines: range
    names: frozenset[str] = frozenset()
    inside: frozenset[str] = frozenset()
    body: tuple[range, ...] = ()


class Uses:
    """The statements of all modules, and the lines in functions that have a name.

    Args:
        product: all modules in which a name may be used.
    """

    def __init__(self, product: Iterable[Module]) -> None:
        self._statements: dict[str, list[Statement]] = {}
        self._lines: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
        self._definitions: defaultdict[str, set[Statement]] = defaultdict(set)
        self._functions: defaultdict[str, set[Statement]] = defaultdict(set)
        for module in product:
            walked = _Walk()
            walked.visit(ast.parse(module.text))
            self._statements[module.path] = walked.statements
            for name, line, function in walked.used:
                self._lines[name].add((module.path, line))
                self._functions[name].add(function)
            for name, statement in walked.used_at_import:
                self._definitions[name].add(statement)

    def statement(self, path: str, line: int) -> Statement:
        """Return the innermost statement that stands in a line."""
        around = [statement for statement in self._statements[path] if line in statement.lines]
        return min(around, key=lambda statement: len(statement.lines), default=Statement(range(line, line + 1)))

    def of_statement(
        self, path: str, statement: Statement, *, through_functions: bool = False
    ) -> Iterator[tuple[str, int]]:
        """Yield the lines in functions, of any module, that use what a statement defines when it is imported.

        Of one in a function that is what the function makes when it is called at import; by another function, if they
        are looked through.
        """
        yield from ((path, line) for body in statement.body for line in body)
        names, seen = statement.names or statement.inside, set[str]()
        for _ in range(_FAR):
            seen |= names
            yield from (place for name in names for place in self._lines[name])
            further = [user for name in names for user in self._definitions[name]]
            if through_functions:
                further += [user for name in names for user in self._functions[name]]
            names = frozenset(name for user in further for name in user.names | user.inside if name not in seen)


class _Walk(ast.NodeVisitor):
    """Notes the statements of one module, and the names they use."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.used: list[tuple[str, int, Statement]] = []
        self.used_at_import: list[tuple[str, Statement]] = []
        self._function: frozenset[str] = frozenset()
        self._class_name: frozenset[str] = frozenset()
        self._current = Statement(range(0))

    def visit(self, node: ast.AST) -> None:
        """Note a statement, then what is in it."""
        outer = self._current, self._class_name, self._function
        if isinstance(node, ast.stmt):
            self._current = self._head(node)
            self.statements.append(self._current)
        if isinstance(node, ast.ClassDef):
            self._class_name = frozenset({node.name})
        super().visit(node)
        self._current, self._class_name, self._function = outer

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Look at defaults and decorators as what runs at import, and leave annotations out."""
        self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Likewise."""
        self._visit_function(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave the annotation out."""
        if node.value is not None:
            self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        """Note a name."""
        self._note(node.id, node.lineno)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Note an attribute."""
        self._note(node.attr, node.end_lineno or node.lineno)
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        """Note an argument's name."""
        if node.arg is not None:
            self._note(node.arg, node.lineno)
        self.generic_visit(node)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for part in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(part)
        self._function = self._function or self._class_name | {node.name}
        for statement in node.body:
            self.visit(statement)

    def _note(self, name: str, line: int) -> None:
        if self._function:
            self.used.append((name, line, self._current))
        else:
            self.used_at_import.append((name, self._current))

    def _head(self, node: ast.stmt) -> Statement:
        """Return a statement without the block below it."""
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        block = getattr(node, "body", None)
        last = max(first, block[0].lineno - 1) if block else node.end_lineno or node.lineno
        lines = range(first, last + 1)
        if self._function:
            return Statement(lines, inside=self._function)
        functions = [child for child in ast.walk(node) if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)]
        bodies = tuple(range(child.body[0].lineno, (child.end_lineno or child.lineno) + 1) for child in functions)
        return Statement(lines, self._class_name | _defined(node), body=bodies)


def _defined(node: ast.stmt) -> frozenset[str]:
    """Return the names that a statement gives."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return frozenset({name})
        case ast.Assign(targets=targets):
            return frozenset(part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            return frozenset({name})
    return frozenset()
