"""Mutants by the operators of cosmic-ray: one change of one place.

Why cosmic-ray, and of it the operators alone: mutmut 3 changes the bodies of functions only, and leaves out those with
a decorator and every class with one; here most classes are dataclasses, and many constants decide. cosmic-ray's
operators are functions of a syntax tree, and change whatever stands in a module. What it has beside them starts one
process for a mutant with all tests, and writes into the checkout.

Of its operators those are used whose mutants are mistakes that somebody could make. Each arithmetic operator becomes
its nearest, since a duration shifted by a number ends any run; each comparison becomes its contrary, and the one that
differs at the boundary. `is` and `==` are not exchanged: what tells them apart is how objects happen to be made.
Variables are not replaced by random numbers.
"""

import ast
import dataclasses
from collections import defaultdict
from typing import Any, Final

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from tests.mutants.modules import Module
from tests.mutants.mutant import Mutant
from tests.mutants.places import Places, Position

_PLAIN: Final = (
    "AddNot",
    "ExceptionReplacer",
    "NumberReplacer",
    "RemoveDecorator",
    "ReplaceAndWithOr",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ReplaceFalseWithTrue",
    "ReplaceOrWithAnd",
    "ReplaceTrueWithFalse",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceUnaryOperator_Delete_USub",
    "ZeroIterationForLoop",
)
_NEAREST: Final = (
    "Add_Sub",
    "Sub_Add",
    "Mul_Div",
    "Div_Mul",
    "FloorDiv_Div",
    "Mod_FloorDiv",
    "Pow_Mul",
    "BitOr_BitAnd",
    "BitAnd_BitOr",
    "BitXor_BitOr",
    "LShift_RShift",
    "RShift_LShift",
)
_COMPARISONS: Final = (
    "Eq_NotEq",
    "NotEq_Eq",
    "Is_IsNot",
    "IsNot_Is",
    "Lt_LtE",
    "Lt_GtE",
    "LtE_Lt",
    "LtE_Gt",
    "Gt_GtE",
    "Gt_LtE",
    "GtE_Gt",
    "GtE_Lt",
)
_BINARY: Final = "ReplaceBinaryOperator_"

OPERATORS: Final = (
    *_PLAIN,
    *(f"{_BINARY}{change}" for change in _NEAREST),
    *(f"ReplaceComparisonOperator_{change}" for change in _COMPARISONS),
)
"""By the names that cosmic-ray has for them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """What can be done somewhere: an operator, and which of the places that it could change in the module."""

    operator: str
    occurrence: int


def changes(module: Module) -> dict[Position, list[Change]]:
    """Return what can be changed in a module, and how, by place."""
    places = Places(module.text)
    operators = {name: _operator(name) for name in OPERATORS}
    seen: defaultdict[str, int] = defaultdict(int)
    possible: defaultdict[Position, list[Change]] = defaultdict(list)
    for node in ast_nodes(get_ast(module.text)):
        for name, operator in operators.items():
            for start, _ in operator.mutation_positions(node):
                position = (start[0], start[1])
                if places.may_change(position) and (not name.startswith(_BINARY) or places.is_binary(position)):
                    possible[position].append(Change(name, seen[name]))
                seen[name] += 1
    return dict(possible)


def mutant(module: Module, position: Position, change: Change) -> Mutant | None:
    """Return the module with a change; None where it is no program any more, or the same one."""
    text = mutate_code(module.text, _operator(change.operator), change.occurrence)
    if text is None:
        return None
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    if ast.dump(tree) == ast.dump(ast.parse(module.text)):
        return None
    return Mutant(module, position, change.operator, text)


def _operator(name: str) -> Any:
    return cosmic_ray.plugins.get_operator(f"core/{name}")()
