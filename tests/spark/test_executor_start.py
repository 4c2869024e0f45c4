"""The start of an executor in a pod: from what Spark sets in the environment to Java's command line."""

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

from heartbeat_tuner.fitting import executor_start

SET: Final = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.1:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "1024m",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.2",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "fit-exec-3",
}


def test_java_gets_what_spark_has_set() -> None:
    """The options by their numbers, of which the tenth is not the second; then the executor's own."""
    options = {f"SPARK_JAVA_OPT_{number}": f"-Dn={number}" for number in (10, 2, 1)}
    words = executor_start.command({**SET, **options, "PATH": "/bin"}, "/bin/java")
    assert words[:6] == ["/bin/java", "-Dn=1", "-Dn=2", "-Dn=10", "-Xms1024m", "-Xmx1024m"]
    own = words[words.index("-cp") + 3 :]
    assert dict(zip(own[::2], own[1::2], strict=True)) == {
        "--driver-url": SET["SPARK_DRIVER_URL"],
        "--executor-id": "3",
        "--cores": "2",
        "--app-id": "spark-1",
        "--hostname": "10.0.0.2",
        "--resourceProfileId": "0",
        "--podName": "fit-exec-3",
    }


def test_the_class_is_one_that_this_spark_has() -> None:
    """It is no part of Spark's interface: another version may have moved it."""
    words = executor_start.command(SET, "java")
    folder, main = Path(words[words.index("-cp") + 1]).parent, words[words.index("-cp") + 2]
    (jar,) = folder.glob("spark-kubernetes_*.jar")
    assert f"{main.replace('.', '/')}.class" in zipfile.ZipFile(jar).namelist()


@pytest.mark.parametrize("missing", ["SPARK_DRIVER_URL", "SPARK_EXECUTOR_MEMORY"])
def test_what_is_not_set_is_named(missing: str) -> None:
    """By whoever starts the image with this command."""
    with pytest.raises(SystemExit, match=rf"^{missing} not set: this starts a Spark executor"):
        executor_start.command({name: value for name, value in SET.items() if name != missing}, "java")


def test_outside_of_such_a_pod_it_ends_with_a_sentence() -> None:
    """The argument is Spark's, as it is in a pod."""
    done = subprocess.run(
        [sys.executable, "-m", "heartbeat_tuner.fitting.executor_start", "executor"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("SPARK_DRIVER_URL, ")
    assert "Traceback" not in done.stderr
