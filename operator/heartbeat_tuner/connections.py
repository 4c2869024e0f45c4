"""From settings to adapters, where more than the operator needs them: the command line asks Prometheus, too."""

from heartbeat_tuner.adapters.prometheus.prometheus_access import BasicAuth, ClientCertificate, PrometheusAccess
from heartbeat_tuner.adapters.prometheus.prometheus_failures import OPERATOR, SettingsWords
from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.ports.wall_clock import Clock
from heartbeat_tuner.settings.prometheus_settings import PrometheusSettings, PrometheusTlsSettings


def prometheus_source(settings: PrometheusSettings, clock: Clock, words: SettingsWords = OPERATOR) -> PrometheusSource:
    """Return the metrics source that the settings describe; the caller closes it.

    Args:
        settings: where it is, and who we are.
        clock: what its clock is compared with.
        words: of who reads what goes wrong.
    """
    basic, tls = settings.basic_auth, settings.tls or PrometheusTlsSettings()
    certificate = ClientCertificate(tls.cert_file, tls.key_file) if tls.cert_file and tls.key_file else None
    access = PrometheusAccess(
        settings.url,
        headers=settings.headers,
        bearer_token_file=settings.bearer_token_file,
        basic_auth=BasicAuth(basic.username, basic.password_file) if basic else None,
        ca_file=tls.ca_file,
        client_certificate=certificate,
        server_name=tls.server_name,
    )
    return PrometheusSource(
        access, timeout=settings.timeout, max_answer_bytes=settings.max_answer_bytes, clock=clock, words=words
    )
