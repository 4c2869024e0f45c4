"""Certificates and keys for one control plane, made again for each run folder.

One authority signs the API server's serving certificate, and the one that it shows to kubelets; its own clients prove
themselves by token, not by certificate. The service-account key is apart: with it the API server signs tokens and the
controller manager issues them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import trustme


@dataclass(frozen=True)
class Pki:
    """Paths of PEM files."""

    ca_cert: Path
    ca_key: Path
    server_cert: Path
    server_key: Path
    client_cert: Path
    client_key: Path
    service_account_key: Path

    @classmethod
    def create(cls, folder: Path, server_names: list[str]) -> Self:
        """Make everything in `folder`.

        Args:
            folder: created if need be.
            server_names: host names and addresses under which the API server is reached.
        """
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        names = ("ca.crt", "ca.key", "server.crt", "server.key", "client.crt", "client.key", "sa.key")
        paths = cls(*(folder / name for name in names))
        ca = trustme.CA(organization_unit_name="heartbeat-tuner sandbox")
        server = ca.issue_cert(*server_names)
        # Go refuses a certificate without any alternative name, the way that one with a common name only is made.
        client = ca.issue_cert("kube-apiserver", common_name="kube-apiserver")
        ca.cert_pem.write_to_path(str(paths.ca_cert))
        ca.private_key_pem.write_to_path(str(paths.ca_key))
        server.cert_chain_pems[0].write_to_path(str(paths.server_cert))
        server.private_key_pem.write_to_path(str(paths.server_key))
        client.cert_chain_pems[0].write_to_path(str(paths.client_cert))
        client.private_key_pem.write_to_path(str(paths.client_key))
        # The tokens' issuer is not a certificate, only a key; trustme makes keys with certificates.
        ca.issue_cert("service-accounts").private_key_pem.write_to_path(str(paths.service_account_key))
        return paths
