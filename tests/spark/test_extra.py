"""The fit needs what its extra brings, and nothing of the operator's."""

import subprocess
import sys


def test_the_fit_loads_without_the_operators_packages() -> None:
    """They are 30 MB that a fit has no use for."""
    hidden = ("kopf", "confluent_kafka", "prometheus_client", "cryptography")
    program = "import sys; sys.modules.update(dict.fromkeys(sys.argv[1:])); import heartbeat_tuner.cli.fit_run.fit_job"
    subprocess.run([sys.executable, "-c", program, *hidden], check=True)
