"""librdkafka's admin client, and an ear for why it gets no answer.

By itself the library tries to connect until a request's time is over, and then says that it is over. What went wrong
goes to a callback. `KafkaClient` listens there while it waits: a refused password or certificate ends the wait, since
no later try will fare better, and any failure is told in a sentence that names the field to look at. The sentences hold
no times and no counts, so that an outage is told in the same words in each cycle.

A request for a group is never ended by librdkafka. Up to 2.16 it aborts the process when it ends one whose coordinator
has not been found and then finds it (its issue 4605), which is what happens to a slow broker's groups by the hundred.
So these requests get the longest time that there is. Who waits for an answer stops by a clock of its own, and a client
is closed before that time is over. It may be closed while requests have no answer, but what it was asked for is then
never freed, some 4 KB a request: it is better closed when they have one.
"""

import concurrent.futures
import queue
import re
import socket
import ssl
import time
from collections.abc import Iterable
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess, Keys
from heartbeat_tuner.domain.errors import ClusterUnreachableError

MARGIN_S: Final = 1.0
"""Wait so much longer than a request may take: librdkafka's own error says more than a wait that ends."""

UNENDED_S: Final = 3_600.0
"""The longest time that librdkafka gives a request; a client that has one without an answer must go well before."""

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

    def __init__(self, cluster: str, access: KafkaAccess, keys: Keys, *, timeout_s: float) -> None:
        self.keys = keys
        self._cluster = cluster
        self._access = access
        self._timeout_s = timeout_s
        heard: set[tuple[str, str]] = set()  # names of errors, and what was said
        self._heard = heard
        self._left: list[Future[Any]] = []  # what a wait gave up
        self._asked: dict[str, Future[Any]] = {}
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.waiting: dict[str, float] = {}
        """When each group was asked for that has no answer yet, by the monotonic clock."""
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
                    # Without `self`: in a cycle of references it would be destroyed in any thread, librdkafka's too.
                    "error_cb": lambda error: heard.add((error.name(), plain(error.str()))),
                }
            )
        except KafkaException as error:
            raise self._unreachable(f"cannot be asked: {_in_our_terms(error.args[0].str())}") from error

    @property
    def settled(self) -> bool:
        """Whether every request has been answered."""
        return not self.waiting and all(future.done() for future in self._left)

    @property
    def waits_for_s(self) -> float:
        """For how long the oldest request for a group has had no answer; 0 if there is none."""
        return time.monotonic() - min(self.waiting.values()) if self.waiting else 0.0

    def close(self) -> None:
        """End the connections, in this thread: it takes a moment."""
        del self.admin

    def forget(self) -> None:
        """Forget what was heard and answered: connections fail and are back, and what was true then may not be now."""
        while self.answer(0) is not None:
            pass
        self._heard.clear()

    def ask(self, group_id: str) -> None:
        """Send a request for a group that is not waited for."""
        self.waiting[group_id] = time.monotonic()
        future = self.admin.describe_consumer_groups([group_id], request_timeout=UNENDED_S)[group_id]
        self._asked[group_id] = future
        future.add_done_callback(lambda _: self._answers.put(group_id))

    def answer(self, timeout_s: float) -> tuple[str, Future[Any]] | None:
        """Return a group that was asked for and its answer, good or bad; None if none comes in time."""
        try:
            group_id = self._answers.get(timeout=timeout_s) if timeout_s else self._answers.get_nowait()
        except queue.Empty:
            self.admin.poll(0)
            return None
        del self.waiting[group_id]
        return group_id, self._asked.pop(group_id)

    def wait(self, futures: Iterable[Future[Any]], *, let_in: bool = True) -> None:
        """Wait until requests are answered, each well or badly.

        Args:
            futures: the requests.
            let_in: whether the cluster has answered before. If not, the wait ends when it is known why it will not.

        Raises:
            ClusterUnreachableError: no answer in time, or none to be expected.
        """
        deadline = time.monotonic() + self._timeout_s + MARGIN_S
        self._left = list(futures)
        for future in self._left:
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


def plain(text: str) -> str:
    """Return what the library says without what differs from try to try."""
    return _NOISE.sub("", text)[:_SHOWN]


def _in_our_terms(text: str) -> str:
    """Return why there is no client, with the configuration's names in place of librdkafka's."""
    text = plain(text.removeprefix("Failed to create admin client: "))
    for theirs, ours in _FIELDS.items():
        text = text.replace(theirs, ours)
    return text
