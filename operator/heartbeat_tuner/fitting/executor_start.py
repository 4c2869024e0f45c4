"""Starts the Java of a Spark executor, in a pod that Spark makes of the fit's image.

Spark's own images have a shell script for it; Spark tells it by the environment what it is to start. The process
becomes that Java, so that it gets the signals by which the kubelet ends it.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pyspark

_JARS: Final = Path(pyspark.__file__).parent / "jars"
_MAIN: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_JAVA_OPTION: Final = "SPARK_JAVA_OPT_"
_ARGUMENTS: Final = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}


def command(environ: Mapping[str, str], java: str) -> list[str]:
    """Return the command line of an executor.

    Args:
        environ: what Spark has set for the pod.
        java: the program.

    Raises:
        SystemExit: Spark has set too little; the message names it.
    """
    wanted = (*_ARGUMENTS.values(), "SPARK_EXECUTOR_MEMORY")
    if missing := [name for name in wanted if name not in environ]:
        raise SystemExit(
            f"{', '.join(missing)} not set: this starts a Spark executor, in a pod that Spark makes, and nowhere else"
        )
    numbers = sorted(int(name.removeprefix(_JAVA_OPTION)) for name in environ if name.startswith(_JAVA_OPTION))
    memory = environ["SPARK_EXECUTOR_MEMORY"]
    words = [java, *(environ[f"{_JAVA_OPTION}{number}"] for number in numbers), f"-Xms{memory}", f"-Xmx{memory}"]
    words += ["-cp", f"{_JARS}/*", _MAIN]
    for option, name in _ARGUMENTS.items():
        words += [option, environ[name]]
    return words


def main() -> None:
    """Become the executor."""
    java = shutil.which("java")
    if java is None:
        raise SystemExit("no Java in this image: executors need the fit's image, target `fitting` of the Dockerfile")
    os.execv(java, command(os.environ, java))  # noqa: S606 - the executor's own command


if __name__ == "__main__":
    main()
