"""The names that a module gives to things, each with what kind of thing it is.

Only names that the module binds itself: what it imports, calls or reads was named elsewhere, and is found there.
"""

import ast
import dataclasses
import enum

from tests.architecture.source import Module

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Kind(enum.StrEnum):
    """What a name is given to."""

    MODULE = "module"
    CLASS = "class"
    FUNCTION = "function"
    PARAMETER = "parameter"
    LOCAL = "local"  # a variable of a function, or the loop variable of a comprehension
    CONSTANT = "constant"  # a variable of a module
    FIELD = "field"  # a variable of a class, or an attribute that is assigned


@dataclasses.dataclass(frozen=True, slots=True)
class Binding:
    """A name, the kind of thing that it is given to, and the line where that happens."""

    name: str
    kind: Kind
    line: int


def bindings(module: Module) -> list[Binding]:
    """Return every name that a module binds, its own first."""
    visitor = _Visitor()
    if module.name not in {"__init__", "__main__"}:
        visitor.bind(module.name, Kind.MODULE, 1)
    visitor.visit(module.tree)
    return visitor.bound


class _Visitor(ast.NodeVisitor):
    """Walks through a module and notes what is bound where."""

    def __init__(self) -> None:
        self.bound: list[Binding] = []
        self._variable = Kind.CONSTANT
        """The kind of a plain variable at this place."""

    def bind(self, name: str | None, kind: Kind, line: int) -> None:
        if name is not None and name.strip("_"):
            self.bound.append(Binding(name, kind, line))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bind(node.name, Kind.CLASS, node.lineno)
        self._inside(Kind.FIELD, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._inside(Kind.LOCAL, node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._inside(Kind.LOCAL, node)

    def visit_arg(self, node: ast.arg) -> None:
        self.bind(node.arg, Kind.PARAMETER, node.lineno)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.bind(node.id, self._variable, node.lineno)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Store):
            self.bind(node.attr, Kind.FIELD, node.lineno)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self.bind(node.name, self._variable, node.lineno)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self.bind(node.name, self._variable, node.lineno)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        self.bind(node.name, self._variable, node.lineno)

    def visit_alias(self, node: ast.alias) -> None:
        self.bind(node.asname, self._variable, node.lineno)

    def _function(self, node: Function) -> None:
        self.bind(node.name, Kind.FUNCTION, node.lineno)
        self._inside(Kind.LOCAL, node)

    def _inside(self, variable: Kind, node: ast.AST) -> None:
        outside, self._variable = self._variable, variable
        self.generic_visit(node)
        self._variable = outside
