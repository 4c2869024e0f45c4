"""B9: what is kept of a list of models, however many somebody writes."""

import time
from typing import Any

from heartbeat_tuner.api import model_documents
from heartbeat_tuner.api.model_choice import PER_GROUP, SPARE, ModelChoice
from heartbeat_tuner.domain.policies import ObjectKey


def document(namespace: str, group: object, name: str = "", *, at: int = 0) -> dict[str, Any]:
    """Return as much of an object as the choice looks at."""
    fitted_at = f"2026-03-02T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}Z"
    return {
        "metadata": {"namespace": namespace, "name": name or f"{group}"},
        "spec": {"groupId": group, "until": "2026-03-01", "fitTime": fitted_at},
    }


def choice_of(*asked: tuple[str, str]) -> ModelChoice[ObjectKey]:
    """Return a choice that holds keys."""
    return ModelChoice(asked, model_documents.key_of)


def names(choice: ModelChoice[ObjectKey], namespace: str) -> set[str]:
    """Return the objects that are kept of a namespace."""
    return {key.name for key in choice.kept if key.namespace == namespace}


def test_a_flood_leaves_what_policies_ask_for() -> None:
    """Five thousand newer objects of the same namespace, or of another one."""
    choice = choice_of(("shop", "orders"), ("evil", "own"))
    choice.add(document("shop", "orders"))
    choice.add(document("evil", "own"))
    began = time.monotonic()
    for number in range(5_000):
        choice.add(document("evil", f"flood-{number}", at=number + 1))
    assert time.monotonic() - began < 5
    assert names(choice, "shop") == {"orders"}
    stored = names(choice, "evil")
    assert stored == {"own", *(f"flood-{number}" for number in range(5_000 - SPARE, 5_000))}
    assert choice.left_out == {"evil": 5_000 - SPARE}


def test_of_one_group_the_newest_are_kept() -> None:
    """There may be one for each Kafka cluster, and not any number."""
    choice = choice_of(("shop", "orders"))
    for number in range(10):
        choice.add(document("shop", "orders", f"orders-{number}", at=number))
    assert names(choice, "shop") == {f"orders-{number}" for number in range(10 - PER_GROUP, 10)}
    assert choice.left_out == {"shop": 10 - PER_GROUP}


def test_what_names_no_group_is_no_model() -> None:
    """Whatever stands there instead."""
    choice = choice_of()
    choice.add({"metadata": {"namespace": "shop", "name": "a"}})
    choice.add(document("shop", 7))
    assert (choice.kept, choice.left_out) == ([], {})


def test_what_would_be_the_first_to_go_is_not_even_taken() -> None:
    """To take it costs time, and a flood may be of old objects."""
    held: list[str] = []
    choice = ModelChoice([("shop", "orders")], lambda document: held.append(document["metadata"]["name"]))
    for number in range(10, 0, -1):
        choice.add(document("shop", "orders", f"orders-{number}", at=number))
    assert held == [f"orders-{number}" for number in range(10, 10 - PER_GROUP, -1)]
    assert choice.left_out == {"shop": 10 - PER_GROUP}
