"""The webhook's own configuration: one YAML file, in which everything has a default inside a cluster."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import Field

from heartbeat_tuner.api.v1alpha1 import installation_v1alpha1
from heartbeat_tuner.settings import files
from heartbeat_tuner.settings.sections import HttpSettings, KubernetesSettings, Name, Port, Section, between

HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([-.:A-Za-z0-9]*[A-Za-z0-9])?$", max_length=253)]


class AdmissionSettings(Section):
    """Where the API server asks."""

    address: str = ""  # all of them: the API server comes from outside the pod
    port: Port = 8443


class CertificateSettings(Section):
    """The Secret with the webhook's own certificate, and the names that it is made out to."""

    namespace: Name | None = None
    secret_name: Name = "heartbeat-tuner-webhook"  # noqa: S105 - an object's name
    service_name: Name = "heartbeat-tuner-webhook"
    names: Annotated[list[HostName], Field(max_length=16)] = []  # noqa: RUF012 - pydantic copies defaults

    def where(self, service_account: Path = files.SERVICE_ACCOUNT_NAMESPACE) -> str:
        """Return the Secret's namespace: the one that is set, else the pod's own.

        Args:
            service_account: the file in which a pod finds its namespace.

        Raises:
            InvalidSettingsError: there is neither.
        """
        return files.namespace_or_own(self.namespace, "certificate.namespace", "the Secret", service_account)

    def made_out_to(self, namespace: str) -> tuple[str, ...]:
        """Return the names under which the API server calls: the Service in this namespace, and those that are set."""
        return (f"{self.service_name}.{namespace}.svc", *self.names)


class WebhookSettings(Section):
    """Everything the webhook is told."""

    configuration_name: Name = "heartbeat-tuner"
    installation: Annotated[str, Field(pattern=installation_v1alpha1.NAME, max_length=317)] | None = None
    """Of the operator whose policies are served, as `status.installation` shows it; all policies, if it is not set."""
    admission: AdmissionSettings = AdmissionSettings()
    certificate: CertificateSettings = CertificateSettings()
    http: HttpSettings = HttpSettings()
    kubernetes: KubernetesSettings = KubernetesSettings()
    drain: Annotated[timedelta, between(timedelta(0), timedelta(minutes=1))] = timedelta(seconds=5)
    """How long it goes on answering after SIGTERM, until no API server asks it any more."""


def load(path: Path) -> WebhookSettings:
    """Return the settings in `path`.

    Raises:
        InvalidSettingsError: the file cannot be read, or a field does not fit.
    """
    return files.read(path, WebhookSettings)
