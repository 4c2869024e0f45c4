"""What is changed: places where a change could be noticed, and not by every run."""

import textwrap

import pytest

from tests.mutants.places import Places


def place(text: str, mark: str) -> tuple[int, int]:
    """Return where `mark` stands in a source."""
    before = text[: text.index(mark)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1)


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("def f(a: int | None) -> int | str: ...", "| None"),
        ("def f(a: int | None) -> int | str: ...", "| str"),
        ("wait: Final[int | None] = 3", "| None"),
        ("Step = Callable[[Input], Decision | None]", "| None"),
        ("isinstance(pod, Ready | Ended)", "| Ended"),
        ("if TYPE_CHECKING:\n    SIZE = 3\n", "3"),
        ("@functools.lru_cache(maxsize=64)\ndef f(): ...", "@functools"),
        ("@functools.lru_cache(maxsize=64)\ndef f(): ...", "64"),
        ("_KEPT: Final = 64\ncached = functools.lru_cache(maxsize=_KEPT)(f)", "64"),
        ("@dataclasses.dataclass(frozen=True, slots=True)\nclass A: ...", "True, slots"),
        ("zip(a, b, strict=True)", "True"),
    ],
)
def test_what_nobody_could_notice_is_left_as_it_is(text: str, mark: str) -> None:
    """Types, what is only remembered, and what refuses errors that nobody makes."""
    assert not Places(text).may_change(place(text, mark))


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("wait: Final[int | None] = 3", "3"),
        ("allowed = OPEN | CLOSED", "| CLOSED"),
        ("@dataclasses.dataclass(frozen=True, order=True)\nclass A: ...", "True)"),
        ("@functools.lru_cache(maxsize=64)\ndef f(): return 3", "3"),
        ('wait("äöü", int | None, 3)', "3"),
        ("@property\ndef f(): ...", "@property"),
    ],
)
def test_what_runs_may_be_changed(text: str, mark: str) -> None:
    """Also beside what may not, and behind letters of several bytes."""
    assert Places(text).may_change(place(text, mark))


def test_a_sign_is_an_operator_only_between_two_values() -> None:
    """Neither between parameters nor before a mapping."""
    text = textwrap.dedent(
        """
        def f(a, *, b):
            return {**a, "sum": (a - 2) / b}
        """
    )
    places = Places(text)
    assert [mark for mark in ("*,", "**", "- 2", "/ b") if places.is_binary(place(text, mark))] == ["- 2", "/ b"]
