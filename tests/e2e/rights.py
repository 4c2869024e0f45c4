"""What the chart's roles grant, and what the audit log says was used of it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sandbox.audit import Access


class Right(NamedTuple):
    """One verb for one resource by one role.

    Attributes:
        resource: with its subresource after a slash.
        group: of its API; empty for the core.
    """

    role: tuple[str, str]
    verb: str
    resource: str
    group: str

    def __str__(self) -> str:
        kind, name = self.role
        return f"{kind} {name}: {self.verb} {self.resource}{f'.{self.group}' if self.group else ''}"


def granted(roles: Iterable[Mapping[str, Any]]) -> set[Right]:
    """Return every single right of roles; a wildcard would be none that anybody uses."""
    return {
        Right((role["kind"], role["metadata"]["name"]), verb, resource, group)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used(accesses: Iterable[Access]) -> set[Right]:
    """Return the rights by which requests were allowed, those of every authenticated user too."""
    return {right for access in accesses if access.role is not None for right in _used(access, access.role)}


def refused(accesses: Iterable[Access]) -> list[str]:
    """Return what was refused."""
    return sorted({f"{access.user} {access.verb} {access.resource}" for access in accesses if access.role is None})


def _used(access: Access, role: tuple[str, str]) -> Iterator[Right]:
    yield Right(role, access.verb, access.resource, access.group)
    if access.made and access.verb in {"patch", "update"}:
        # The API server asks for it within the request, which stands in the log once.
        yield Right(role, "create", access.resource, access.group)
