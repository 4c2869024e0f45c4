"""The images are what docs/reference/images.md says: small, without what builds them, content with a read-only root."""

import os
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from release.bills import installed
from sandbox import images
from sandbox.container_node import enclosure
from sandbox.images import contents

CHECKOUT: Final = Path(__file__).parents[2]
MOST_ABOVE_BASE_BYTES: Final = 200_000_000
COMMAND: Final = "/opt/heartbeat-tuner/bin/heartbeat-tuner"
PYTHON: Final = "/opt/heartbeat-tuner/bin/python"

# No process that the machine has, no writable place but /tmp, no rights.
_CONTAINED: Final = """
mount --bind "$ROOT" "$ROOT"
mount -o remount,bind,ro "$ROOT"
mount -t proc proc "$ROOT/proc"
mount --rbind /dev "$ROOT/dev"
mount -t tmpfs tmpfs "$ROOT/tmp"
exec env --ignore-environment "$@"
"""

_OBSTACLE: Final = images.obstacle() or enclosure.obstacle()

pytestmark = [
    pytest.mark.skipif(_OBSTACLE is not None, reason=f"images: {_OBSTACLE}"),
    pytest.mark.timeout(1800),  # the first of them builds
]


class Image:
    """An image that was built, and its files unpacked."""

    def __init__(self, target: str, root: Path) -> None:
        self.target = target
        self.archive = images.build(target)
        self.settings = contents.configuration(self.archive)
        self.root = root
        contents.unpack(self.archive, root)
        root.chmod(0o755)  # its user has to pass
        for name in ("dev", "proc"):  # these, and the next, every runtime adds
            (root / name).mkdir(exist_ok=True)
        (root / "etc" / "hosts").write_text("127.0.0.1 localhost\n")

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the image as its user, on a read-only root."""
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", _CONTAINED, "sh"]
        entering = ["/usr/sbin/chroot", "--userspec=65532:65532", str(self.root)]
        return subprocess.run(
            [*words, *self.settings["Env"], *entering, *argv],
            env={"PATH": os.environ["PATH"], "ROOT": str(self.root)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def distributions(self) -> set[str]:
        """Return the names of the Python distributions in it."""
        found = self.root.glob("opt/heartbeat-tuner/lib/python3*/site-packages/*.dist-info")
        return {_normal(folder.name.split("-")[0]) for folder in found}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _locked(lock: str) -> set[str]:
    text = (CHECKOUT / "requirements" / lock).read_text()
    return {_normal(name) for name in re.findall(r"^([\w.-]+)(?:\[.*?\])?==", text, re.MULTILINE)}


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The operator's image."""
    return Image("operator", tmp_path_factory.mktemp("operator"))


@pytest.fixture(scope="module")
def fitting(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The fit's image."""
    return Image("fitting", tmp_path_factory.mktemp("fitting"))


def test_the_operators_image_is_small(operator: Image) -> None:
    """Nodes pull it before the operator can start."""
    _, *own = contents.layer_sizes_bytes(operator.archive)
    assert 0 < sum(own) <= MOST_ABOVE_BASE_BYTES


def test_the_operators_image_holds_what_is_locked_and_nothing_else(operator: Image) -> None:
    """No pip, no build tools, no Spark, no Java."""
    assert operator.distributions() == _locked("runtime.lock") | {"heartbeat-tuner"}
    assert not operator.distributions() & {"pip", "setuptools", "hatchling", "pyspark", "pandas", "pyarrow"}
    assert not list(operator.root.glob("**/bin/java"))
    assert not list((operator.root / "opt").glob("**/*.jar"))


def test_the_fits_image_holds_what_is_locked_and_a_java(fitting: Image) -> None:
    """Spark comes with what the lock says, and needs a Java."""
    assert fitting.distributions() == _locked("fit.lock") | {"heartbeat-tuner"}
    assert list(fitting.root.glob("usr/lib/jvm/*/bin/java"))


@pytest.mark.parametrize("target", ["operator", "fitting"])
def test_it_is_named_and_runs_as_nobody_with_the_command(target: str) -> None:
    """The chart relies on all of this."""
    archive = images.build(target)
    settings = contents.configuration(archive)
    assert contents.names(archive) == [images.reference(target)]
    assert settings["User"] == "65532:65532"
    assert settings["Entrypoint"] == ["heartbeat-tuner"]


def test_the_pause_image_has_the_name_that_a_node_is_told() -> None:
    """It needs no root either."""
    archive = images.build("pause")
    assert contents.names(archive) == ["localhost/pause:1"]
    assert contents.configuration(archive)["User"] == "65535:65535"


def test_an_image_is_built_once() -> None:
    """What is made from the same files is the same archive."""
    first = images.build("pause")
    made = first.stat().st_mtime_ns
    assert images.build("pause") == first
    assert first.stat().st_mtime_ns == made


def test_the_root_that_these_tests_run_on_is_read_only(operator: Image) -> None:
    """Else the others would show nothing."""
    written = operator.run(PYTHON, "-c", "open('/opt/heartbeat-tuner/new', 'w')")
    assert "Read-only file system" in written.stderr


def test_the_operators_image_has_no_program_but_python_and_ours(operator: Image) -> None:
    """No shell, no package manager: nothing that an intruder could use but what the operator is."""
    executables = [path for path in operator.root.rglob("*") if path.is_file() and os.access(path, os.X_OK)]
    programs = {path.name for path in executables if ".so" not in path.name and path.suffix != ".py"}
    ours = {path.name for path in (operator.root / "opt" / "heartbeat-tuner" / "bin").iterdir()}
    assert programs - ours == set()  # the base's python has the name that it has beside ours
    assert not ours & {"sh", "bash", "pip"}


def test_the_interpreter_has_all_of_its_own_libraries(operator: Image) -> None:
    """Every extension of the standard library loads, certificates are there, and names and threads work."""
    used = operator.run(
        PYTHON,
        "-c",
        "import importlib, pathlib, socket, ssl, sysconfig, threading\n"
        "folder = pathlib.Path(sysconfig.get_path('stdlib'), 'lib-dynload')\n"
        "names = sorted(path.name.partition('.')[0] for path in folder.glob('*.so'))\n"
        "for name in names:\n"
        "    if not name.startswith(('_test', '_xx', 'xx', '_tkinter', '_ctypes_test')):\n"
        "        importlib.import_module(name)\n"
        "thread = threading.Thread(target=print); thread.start(); thread.join()\n"
        "certificates = list(pathlib.Path(ssl.get_default_verify_paths().capath).glob('*.0'))\n"
        "print(len(names), socket.getaddrinfo('localhost', 1)[0][4][0], len(certificates))",
    )
    assert used.returncode == 0, used.stderr
    extensions, address, certificates = used.stdout.split()
    assert int(extensions) > 20
    assert address == "127.0.0.1"
    assert int(certificates) > 50


def test_scanners_find_the_debian_packages_that_are_there(operator: Image) -> None:
    """Those that own a file of the image, and no others: not the shell's, not the package manager's."""
    status = (operator.root / "var" / "lib" / "dpkg" / "status").read_text()
    names = {package.name for package in installed(status)}
    assert {"libc6", "libssl3", "ca-certificates"} <= names
    assert not names & {"dash", "bash", "apt", "dpkg", "perl-base", "coreutils"}
    assert len(names) < 40


def test_the_operators_command_runs_without_a_shell(operator: Image) -> None:
    """Asked for help, and for the clients it knows."""
    helped = operator.run(COMMAND, "--help")
    assert helped.returncode == 0, helped.stderr
    assert "Usage: heartbeat-tuner" in helped.stdout
    listed = operator.run(COMMAND, "clients")
    assert listed.returncode == 0, listed.stderr
    assert "kafkajs" in listed.stdout


@pytest.mark.parametrize("command", ["run", "webhook"])
def test_what_serves_loads_all_it_needs(operator: Image, command: str) -> None:
    """It gets as far as its configuration, which is after every import."""
    report = operator.run(COMMAND, command, "--config", "/etc/heartbeat-tuner/config.yaml")
    assert report.returncode != 0
    assert "/etc/heartbeat-tuner/config.yaml" in report.stderr
    assert "Traceback" not in report.stderr


def test_every_client_of_the_operator_can_be_used(operator: Image) -> None:
    """Libraries that load parts of themselves late have those parts."""
    used = operator.run(
        PYTHON,
        "-c",
        "import confluent_kafka.admin as a, numpy, cryptography.x509, kopf, prometheus_api_client\n"
        "from kubernetes.aio import client as c\n"
        "a.AdminClient({'bootstrap.servers': '127.0.0.1:1'})\n"
        "print(c.AppsV1Api, c.CoreV1Api, c.CustomObjectsApi, c.CoordinationV1Api, numpy.linalg.inv([[2.0]])[0, 0])",
    )
    assert used.returncode == 0, used.stderr
    assert used.stdout.strip().endswith(" 0.5")


def test_spark_counts_on_a_read_only_root(fitting: Image) -> None:
    """The Java, Spark, Arrow and pandas of the image work together, and write nowhere but to /tmp."""
    counted = fitting.run(
        PYTHON,
        "-c",
        "import pathlib\n"
        "from heartbeat_tuner.fitting.session import session\n"
        "with session('local[1]', log=pathlib.Path('/tmp/spark.log')) as spark:\n"
        "    doubled = spark.range(4).mapInPandas(lambda frames: (frame * 2 for frame in frames), 'id long')\n"
        "    print(doubled.toPandas()['id'].sum())",
    )
    assert counted.returncode == 0, counted.stderr
    assert counted.stdout.strip().endswith("12")


def test_java_trusts_the_certificates_of_the_base(fitting: Image) -> None:
    """Its store was written again without the time of the build; a lake behind TLS needs it."""
    listed = fitting.run("/usr/bin/keytool", "-list", "-cacerts", "-storepass", "changeit")
    assert listed.returncode == 0, listed.stdout + listed.stderr
    added = re.findall(r"^debian:.*, (\w+ \d+, \d+), trustedCertEntry", listed.stdout, re.MULTILINE)
    assert len(added) > 100
    assert set(added) == {"Jan 1, 1970"}


def test_the_fits_command_runs(fitting: Image) -> None:
    """All of the fit's own modules are there."""
    helped = fitting.run(COMMAND, "fit", "--help")
    assert helped.returncode == 0, helped.stderr
    assert "--history" in helped.stdout
