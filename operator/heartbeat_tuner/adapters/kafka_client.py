"""librdkafka's admin client, and an ear for why it gets no answer.

By itself the library tries to connect until a request's time is over, and then says that it is over. What went wrong
goes to a callback. `KafkaClient` listens there while it waits: a refused password or certificate ends the wait, since
no later try will fare better, and any failure is told in a sentence that names the field to look at. The sentences hold
no times and no counts, so that an outage is told in the same words in each cycle.
"""

import concurrent.futures
import re
import socket
import ssl
import time
from collections.abc import Iterable
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from heartbeat_tuner.adapters.kafka_access import Access, Keys
from heartbeat_tuner.domain.errors import ClusterUnreachableError

MARGIN_S: Final = 1.0
"""Wait so much longer than a request may take: librdkafka's own error says more than a wait that ends."""

_LISTEN_S: Final = 0.05
_SHOWN: Final = 300
"""Characters that a sentence repeats of what the library or the broker said."""

_FIELDS: Final = MappingProxyType(
    {
        "ssl.ca.location": "tls.caFile",
        "ssl.certificate.location": "tls.certFile",
        "ssl.key.location": "tls.keyFile (by tls.keyPasswordFile, if it is encrypted)",
    }
)

_NOISE: Final = re.compile(
    r"^\S*/(bootstrap|\d+): |Connect to \S+ failed: | \(after \d+ms in state .*\)$|error:[0-9A-F]{8}:"
)
"""What differs between two tries that fail for the same reason (which broker and address, after what time), and numbers
that OpenSSL gives its errors."""

_ALL_DOWN: Final = "_ALL_BROKERS_DOWN"
_UNTRUSTED: Final = "certificate verify failed"
_NO_TLS: Final = "connecting to a PLAINTEXT broker listener"
_TLS_ALERT: Final = re.compile(r"SSL routines::(?:ssl/tls|tlsv1|tlsv13|sslv3) alert ([a-z ]+)")


class KafkaClient:
    """A client of one cluster.

    Args:
        cluster: its name in the configuration.
        access: how it is reached.
        keys: what the files of `access` hold.
        timeout_s: for one request.

    Raises:
        ClusterUnreachableError: the library does not take the certificates or the key.
    """

    def __init__(self, cluster: str, access: Access, keys: Keys, *, timeout_s: float) -> None:
        self.keys = keys
        self._cluster = cluster
        self._access = access
        self._timeout_s = timeout_s
        self._heard: set[tuple[str, str]] = set()  # names of errors, and what was said
        # A connection that is given up for its silence would be heard like one that the broker closes: the wait for the
        # answer is to end first.
        silence_ms = round((timeout_s + 2 * MARGIN_S) * 1_000)
        try:
            self.admin = AdminClient(
                {
                    **keys.properties,
                    "client.id": "heartbeat-tuner",
                    "socket.timeout.ms": silence_ms,
                    "api.version.request.timeout.ms": silence_ms,
                    "log_level": 0,  # it would write every failed connection to stderr; conditions tell it once
                    "error_cb": self._hear,
                }
            )
        except KafkaException as error:
            raise self._unreachable(f"cannot be asked: {_in_our_terms(error.args[0].str())}") from error

    def forget_errors(self) -> None:
        """Forget what was heard: connections may fail between two requests and be back."""
        self.admin.poll(0)
        self._heard.clear()

    def wait(self, futures: Iterable[Future[Any]], *, let_in: bool = True) -> None:
        """Wait until requests are answered, each well or badly.

        Args:
            futures: the requests.
            let_in: whether the cluster has answered before. If not, the wait ends when it is known why it will not. If
                so, librdkafka is left the time to end its requests: it may crash when it is closed amid them.

        Raises:
            ClusterUnreachableError: no answer in time, or none to be expected.
        """
        deadline = time.monotonic() + self._timeout_s + MARGIN_S
        for future in futures:
            while not concurrent.futures.wait([future], timeout=_LISTEN_S).done:
                self.admin.poll(0)
                refusal = None if let_in else self._refusal()
                if refusal is not None:
                    raise self._unreachable(refusal)
                if time.monotonic() > deadline:
                    raise self.silence()

    def silence(self) -> ClusterUnreachableError:
        """Return the error for a cluster that gave no answer, with the cause as far as it was heard."""
        self.admin.poll(0)
        return self._unreachable(self._refusal() or f"did not answer: {self._cause_of_silence()}")

    def _hear(self, error: KafkaError) -> None:
        self._heard.add((error.name(), _plain(error.str())))

    def _unreachable(self, sentence: str) -> ClusterUnreachableError:
        return ClusterUnreachableError(f"Kafka cluster {self._cluster} ({self._access.bootstrap_servers}) {sentence}")

    def _refusal(self) -> str | None:
        """Return why no broker lets us in, if that is known: a single broker's trouble may not be the others'."""
        if not any(name == _ALL_DOWN for name, _ in self._heard):
            return None
        return next(filter(None, (self._explained(name, text) for name, text in sorted(self._heard))), None)

    def _explained(self, name: str, text: str) -> str | None:
        """Return an error as a sentence, if trying again is of no use."""
        if name == "_AUTHENTICATION":
            words = text.removeprefix("SASL authentication error: ")
            return f"does not accept the operator's user name or password by {self._access.mechanism}: {words}"
        if _UNTRUSTED in text:
            return f"shows a certificate that is not trusted: {self._why_untrusted()}"
        if _NO_TLS in text:
            return (
                f"does not speak TLS there, and securityProtocol is {self._access.security_protocol}; use the port of "
                f"its TLS listener, or another securityProtocol"
            )
        alert = _TLS_ALERT.search(text)
        if alert is not None:
            shown = "none is set" if self._access.cert_file is None else f"it is {self._access.cert_file}"
            return f"does not accept the certificate of tls.certFile ({shown}): {alert[1].strip()}"
        return f"breaks off TLS: {text}" if name == "_SSL" else None

    def _why_untrusted(self) -> str:
        """Return what OpenSSL has against a broker's certificate, which librdkafka does not say: ask once ourselves."""
        trusted = "the system's authorities" if self._access.ca_file is None else "tls.caFile"
        for server in self._access.bootstrap_servers.split(","):
            host, _, port = server.rpartition(":")
            host = host.strip("[]")
            try:
                context = ssl.create_default_context(cafile=self._access.ca_file)
                with (
                    socket.create_connection((host, int(port)), timeout=self._timeout_s) as raw,
                    context.wrap_socket(raw, server_hostname=host),
                ):
                    continue
            except ssl.SSLCertVerificationError as error:
                return f"{error.verify_message} ({server}, by {trusted})"
            except OSError:  # SSL errors among them
                continue
        return f"it does not fit {trusted} or the host names of bootstrapServers, or has expired"

    def _cause_of_silence(self) -> str:
        causes = {text for name, text in self._heard if name != _ALL_DOWN}
        if causes:
            return min(causes)
        if self._heard:  # librdkafka does not tell why, since brokers do not
            return (
                f"it closes connections without a word, as a listener does for which securityProtocol "
                f"{self._access.security_protocol} is the wrong one"
            )
        return "timed out"


def _plain(text: str) -> str:
    """Return what the library says without what differs from try to try."""
    return _NOISE.sub("", text)[:_SHOWN]


def _in_our_terms(text: str) -> str:
    """Return why there is no client, with the configuration's names in place of librdkafka's."""
    text = _plain(text.removeprefix("Failed to create admin client: "))
    for theirs, ours in _FIELDS.items():
        text = text.replace(theirs, ours)
    return text
