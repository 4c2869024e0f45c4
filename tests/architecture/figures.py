"""How the product is built, in nine figures; each is defined by its function here. Pure.

| figure | counts |
|---|---|
| input_spread | files of the product that name the type of a decision's input |
| files_per_folder_max | Python files in the fullest folder, its `__init__.py` aside |
| functions_over_40 | functions and methods of more than 40 lines |
| functions_over_60 | those of more than 60 |
| files_over_300 | files of more than 300 lines |
| duplicate_names | names of classes, and of modules, that are given more than once |
| glossary_findings | names and words that the glossary rules out |
| names_elsewhere | parameters and locals beside the product whose names say nothing |
| product_lines | lines of all files, as `wc -l` counts them |
"""

import ast
import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from tests.architecture import bindings, prose
from tests.architecture.bindings import Function, Kind
from tests.architecture.glossary import Finding, Glossary
from tests.architecture.source import Module, Page

INPUTS: Final = ("DecisionInput", "Situation")
"""Names of the type of a decision's input: the first that the product defines is meant."""

SAY_NOTHING: Final = frozenset({"of", "one", "told", "kept"})
"""Names that the glossary rules out, and that nothing beside the product has; `found` and `said` it still has."""

LONG_FUNCTION: Final = 40
LONGEST_FUNCTION: Final = 60
LONG_FILE: Final = 300

Details = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """The figures, and which files, functions and names they are made of.

    Attributes:
        figures: by name, in the order of the table.
        details: for the person who goes to work on them; plain values, ready for JSON.
    """

    figures: dict[str, int]
    details: Details


class NoInputError(Exception):
    """The product defines no type that is known as a decision's input."""


def measure(
    product: Sequence[Module], elsewhere: Sequence[Module], pages: Sequence[Page], glossary: Glossary
) -> Measured:
    """Return all figures.

    Args:
        product: the modules that are shipped.
        elsewhere: those that serve the people who work on it.
        pages: of the documentation.
        glossary: the project's words.

    Raises:
        NoInputError: no class is called as one of `INPUTS`.
    """
    input_type = input_of(product)
    naming = files_that_name(product, input_type)
    folders, functions = files_by_folder(product), function_lengths(product)
    long_files = sorted((module for module in product if module.lines > LONG_FILE), key=lambda module: -module.lines)
    classes, modules = classes_twice(product), modules_twice(product)
    findings = [*names_and_words(product, glossary), *prose.in_pages(pages, glossary)]
    beside = list(names_elsewhere(elsewhere, glossary))
    return Measured(
        figures={
            "input_spread": len(naming),
            "files_per_folder_max": max(folders.values()),
            "functions_over_40": sum(1 for length in functions if length.lines > LONG_FUNCTION),
            "functions_over_60": sum(1 for length in functions if length.lines > LONGEST_FUNCTION),
            "files_over_300": len(long_files),
            "duplicate_names": len(classes) + len(modules),
            "glossary_findings": len(findings),
            "names_elsewhere": len(beside),
            "product_lines": sum(module.lines for module in product),
        },
        details={
            "input": {"type": input_type, "files": naming},
            "files_per_folder": dict(Counter(folders).most_common()),
            "functions_over_40": [dataclasses.asdict(length) for length in functions if length.lines > LONG_FUNCTION],
            "files_over_300": {module.path: module.lines for module in long_files},
            "classes_twice": classes,
            "modules_twice": modules,
            "glossary_by_word": by_word(findings),
            "glossary_by_file": dict(Counter(finding.path for finding in findings).most_common()),
            "glossary": [dataclasses.asdict(finding) for finding in findings],
            "names_elsewhere": [dataclasses.asdict(finding) for finding in beside],
            "glossary_terms_not_in_the_code_yet": missing_terms(product, glossary),
        },
    )


def input_of(product: Sequence[Module]) -> str:
    """Return what the type of a decision's input is called.

    Raises:
        NoInputError: no class is called as one of `INPUTS`.
    """
    classes = {node.name for module in product for node in module.nodes if isinstance(node, ast.ClassDef)}
    input_type = next((name for name in INPUTS if name in classes), None)
    if input_type is None:
        raise NoInputError(
            f"the product defines none of the classes {', '.join(INPUTS)}: add the name of the type that `decide` "
            f"takes to INPUTS in {__name__}"
        )
    return input_type


def files_that_name(product: Iterable[Module], input_type: str) -> list[str]:
    """Return the files whose code names a type: define, import or use it; what docstrings say does not count."""
    return [module.path for module in product if any(_names(node, input_type) for node in module.nodes)]


def _names(node: ast.AST, name: str) -> bool:
    match node:
        case ast.ClassDef(name=given) | ast.alias(name=given) | ast.Name(id=given) | ast.Attribute(attr=given):
            return given == name
        case ast.arg(annotation=ast.Constant(value=str(text))) | ast.FunctionDef(returns=ast.Constant(value=str(text))):
            return text == name  # a type that is quoted since it is defined further down
        case _:
            return False


def files_by_folder(product: Iterable[Module]) -> dict[str, int]:
    """Return how many Python files each folder holds, in it and not below it; `__init__.py` is not counted."""
    return dict(Counter(module.folder for module in product if module.name != "__init__"))


@dataclasses.dataclass(frozen=True, slots=True)
class Length:
    """How long a function is."""

    path: str
    line: int
    name: str
    lines: int


def function_lengths(product: Iterable[Module]) -> list[Length]:
    """Return the length of each function and method, the longest first.

    Lines from `def` to the last one, with signature, comments and blank lines, and with functions inside it, which
    count for themselves too. Decorators and the docstring are left out: nobody should save words to make a function
    shorter.
    """
    lengths = [
        Length(module.path, node.lineno, node.name, _length(node))
        for module in product
        for node in module.nodes
        if isinstance(node, Function)
    ]
    return sorted(lengths, key=lambda length: (-length.lines, length.path, length.line))


def _length(node: Function) -> int:
    first = node.body[0]
    docstring = _lines(first) if ast.get_docstring(node, clean=False) is not None else 0
    return _lines(node) - docstring


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def classes_twice(product: Iterable[Module]) -> dict[str, list[str]]:
    """Return the names that more than one class has, private ones and those inside others too, with their places."""
    return _twice(
        (node.name, f"{module.path}:{node.lineno}")
        for module in product
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
    )


def modules_twice(product: Iterable[Module]) -> dict[str, list[str]]:
    """Return the names that more than one file has, whatever its folder; `__init__.py` is not counted."""
    return _twice((module.name, module.path) for module in product if module.name != "__init__")


def _twice(named: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    places = defaultdict(list)
    for name, place in named:
        places[name].append(place)
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def names_and_words(modules: Iterable[Module], glossary: Glossary) -> Iterator[Finding]:
    """Yield what the glossary rules out in modules: in the names that they give, and in their prose."""
    for module in modules:
        yield from _names_in(module, glossary)
        yield from prose.in_module(module, glossary)


def names_elsewhere(modules: Iterable[Module], glossary: Glossary) -> Iterator[Finding]:
    """Yield the names that say nothing in modules beside the product, where the glossary rules them out."""
    for module in modules:
        yield from (finding for finding in _names_in(module, glossary) if finding.what.lstrip("_") in SAY_NOTHING)


def _names_in(module: Module, glossary: Glossary) -> Iterator[Finding]:
    for binding in bindings.bindings(module):
        better = glossary.better_name(binding)
        if better is not None:
            yield Finding(module.path, binding.line, binding.kind.value, binding.name, better)


def by_word(findings: Iterable[Finding]) -> dict[str, int]:
    """Return how often each thing is found, the most frequent first."""
    return dict(Counter(f"{finding.kind} {finding.what.lower()}" for finding in findings).most_common())


def missing_terms(product: Iterable[Module], glossary: Glossary) -> list[str]:
    """Return the glossary's names of things that the product does not have."""
    there = {
        binding.name for module in product for binding in bindings.bindings(module) if binding.kind is not Kind.LOCAL
    }
    return [name for name in glossary.in_code if name not in there]
