"""Configuration as it comes: a YAML file, and what a pod knows of itself."""

from pathlib import Path
from typing import Final, TypeVar

import pydantic
import yaml

from heartbeat_tuner.api.v1alpha1 import validation_words
from heartbeat_tuner.domain.errors import InvalidSettingsError
from heartbeat_tuner.settings.sections import Section

SERVICE_ACCOUNT_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""Where a pod finds the namespace it runs in."""

Whole = TypeVar("Whole", bound=Section)


def read(path: Path, kind: type[Whole]) -> Whole:
    """Return the settings in `path`.

    Raises:
        InvalidSettingsError: the file cannot be read, or a field does not fit.
    """
    try:
        document = yaml.safe_load(path.read_text())
    except UnicodeDecodeError as error:
        raise InvalidSettingsError(f"{path} is no text in UTF-8") from error
    except OSError as error:
        raise InvalidSettingsError(f"{path} cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise InvalidSettingsError(f"{path} is no YAML: {error}") from error
    except RecursionError:
        raise InvalidSettingsError(f"{path} is nested too deep; five levels are enough") from None
    except (ValueError, ArithmeticError, LookupError, AttributeError) as error:  # as PyYAML lets them through
        raise InvalidSettingsError(
            f"{path} is not valid YAML: it has an impossible number or date; put it in quotes"
        ) from error
    try:
        # By the names of the reference alone: `bootstrap_servers` beside `bootstrapServers` would hide one of the two.
        return kind.model_validate(document, by_alias=True, by_name=False)
    except pydantic.ValidationError as error:
        lines = [
            f"  {'.'.join(map(str, fault['loc'])) or '(whole file)'}: {validation_words.sentence(fault, kind)}"
            for fault in error.errors()
        ]
        raise InvalidSettingsError(f"{path} does not fit:\n" + "\n".join(lines)) from error


def namespace_or_own(given: str | None, field: str, what: str, service_account: Path) -> str:
    """Return a namespace: the one that is set, else the pod's own.

    Args:
        given: what is set.
        field: where that would be.
        what: what must have a namespace.
        service_account: the file in which a pod finds its namespace.

    Raises:
        InvalidSettingsError: there is neither.
    """
    if given is not None:
        return given
    try:
        return service_account.read_text().strip()
    except OSError as error:
        raise InvalidSettingsError(
            f"{field} is not set, and {service_account} cannot be read ({error.strerror}): {what} must have a "
            f"namespace; outside a pod set {field}"
        ) from error
