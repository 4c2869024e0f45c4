"""Which cluster, and which namespace of it: the flags that kubectl has, passed on to it."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from heartbeat_tuner.adapters.kubectl.kubectl_program import KubectlProgram

_Command = TypeVar("_Command", bound=Callable[..., Any])

POLICIES: Final = "consumergrouppolicies.heartbeat-tuner.dev"
MODELS: Final = "consumergroupmodels.heartbeat-tuner.dev"
"""What kubectl calls our kinds; the models of the API, which have the same names, take half a second to import."""

MANAGER: Final = "--field-manager=kubectl-heartbeat-tuner"
"""By which the API server, and the operator, know what this plugin wrote."""

LONGEST: Final = 1_000
"""Characters of a sentence that somebody else wrote."""

_CLUSTER: Final = (
    click.option("--kubeconfig", metavar="FILE", help="As kubectl takes it."),
    click.option("--context", "context_name", metavar="NAME", help="Of the kubeconfig, as kubectl takes it."),
)

_NAMESPACE: Final = click.option(
    "--namespace", "-n", metavar="NAME", help="Of the policies.  [default: the context's namespace]"
)

_EVERYWHERE: Final = click.option("--all-namespaces", "-A", "everywhere", is_flag=True, help="Of all namespaces.")


def cluster(command: _Command) -> _Command:
    """Give a command the flags that say which cluster."""
    for option in reversed(_CLUSTER):
        command = option(command)
    return command


def one_namespace(command: _Command) -> _Command:
    """Give a command the flags that say which cluster, and which namespace."""
    return cluster(_NAMESPACE(command))


def any_namespace(command: _Command) -> _Command:
    """Give a command the flags that say which cluster, and which namespace or all."""
    return cluster(_NAMESPACE(_EVERYWHERE(command)))


def kubectl(
    *, kubeconfig: str | None, context_name: str | None, namespace: str | None, everywhere: bool = False
) -> KubectlProgram:
    """Return kubectl with the flags that were given.

    Args:
        kubeconfig: the file; None for kubectl's own choice.
        context_name: a context of it; None for the current one.
        namespace: where; None for the context's.
        everywhere: whether to ask all namespaces.
    """
    given = {"--kubeconfig": kubeconfig, "--context": context_name, "--namespace": namespace}
    flags = [f"{name}={value}" for name, value in given.items() if value is not None]
    return KubectlProgram([*flags, "--all-namespaces"] if everywhere else flags)
