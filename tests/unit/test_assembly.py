"""What the configuration says arrives where it is used."""

from pathlib import Path

from heartbeat_tuner import assembly, settings
from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess


def test_the_configuration_s_files_are_the_access_s(tmp_path: Path) -> None:
    """Each field has its own place."""
    (tmp_path / "config.yaml").write_text(
        """
        prometheus: {url: "http://prometheus:9090"}
        kafka: {clusters: {main: {
          bootstrapServers: "kafka:9093", securityProtocol: SASL_SSL,
          sasl: {mechanism: PLAIN, usernameFile: /user, passwordFile: /password},
          tls: {caFile: /ca, certFile: /cert, keyFile: /key, keyPasswordFile: /key-password}}}}
        """
    )
    (cluster,) = settings.load(tmp_path / "config.yaml").kafka.clusters.values()
    assert assembly.access(cluster) == KafkaAccess(
        "kafka:9093",
        security_protocol="SASL_SSL",
        mechanism="PLAIN",
        username=Path("/user"),
        password_file=Path("/password"),
        ca_file=Path("/ca"),
        cert_file=Path("/cert"),
        key_file=Path("/key"),
        key_password_file=Path("/key-password"),
    )
