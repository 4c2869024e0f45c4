"""The node's Kubernetes programs: kubelet, kube-proxy, and the scheduler that sends pods to it."""

import os
from pathlib import Path
from typing import Final

import yaml

from sandbox.binaries import Binaries
from sandbox.container_node import enclosure, inside
from sandbox.container_node.runtime import Runtime
from sandbox.control_plane import ControlPlane
from sandbox.network import LOOPBACK, free_ports
from sandbox.processes import Process

NODE: Final = "node-1"
KUBELET_USER: Final = f"system:node:{NODE}"
PROXY_USER: Final = "system:kube-proxy"
SCHEDULER_USER: Final = "system:kube-scheduler"
USERS: Final = (KUBELET_USER, PROXY_USER, SCHEDULER_USER)
"""Who they are to the API server, which gives them their rights by these names."""


def kubelet(folder: Path, logs: Path, binaries: Binaries, plane: ControlPlane) -> Process:
    """Return the kubelet, not yet started.

    Args:
        folder: gets its configuration and the volumes of its pods.
        logs: gets `kubelet.log`.
        binaries: where it is.
        plane: whose node it is.
    """
    folder.mkdir(parents=True)
    configuration, names = folder / "kubelet.yaml", folder / "resolv.conf"
    names.write_text("# Names are not resolved here.\n")
    (port,) = free_ports(1)
    configuration.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "kubelet.config.k8s.io/v1beta1",
                "kind": "KubeletConfiguration",
                "address": inside.ADDRESS,
                "port": port,
                "healthzPort": 0,
                "containerRuntimeEndpoint": Runtime.endpoint,
                # Whoever shows a certificate of this run is the API server: nobody else gets one.
                "authentication": {
                    "anonymous": {"enabled": False},
                    "webhook": {"enabled": False},
                    "x509": {"clientCAFile": str(plane.ca_file.resolve())},
                },
                "authorization": {"mode": "AlwaysAllow"},
                "failCgroupV1": False,
                "cgroupDriver": "cgroupfs",
                "cgroupRoot": f"/{os.environ[enclosure.CGROUP_VARIABLE]}",
                "enforceNodeAllocatable": ["pods"],
                "failSwapOn": False,
                "oomScoreAdj": 0,
                "makeIPTablesUtilChains": False,
                "resolvConf": str(names.resolve()),
                "podLogsDir": str((logs / "pods").resolve()),
                "volumePluginDir": str((folder / "volume-plugins").resolve()),
                # The machine's disk may be as full as it is.
                "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
                "imageGCHighThresholdPercent": 100,
                # A ConfigMap or Secret that changed is in its pods within seconds, not a minute and a half.
                "syncFrequency": "10s",
            }
        )
    )
    arguments = {
        "config": configuration,
        "kubeconfig": plane.kubeconfig_for(KUBELET_USER),
        "hostname-override": NODE,
        "node-ip": inside.ADDRESS,
        "root-dir": (folder / "root").resolve(),
        "cert-dir": (folder / "pki").resolve(),
    }
    return _process("kubelet", binaries, arguments, logs)


def scheduler(logs: Path, binaries: Binaries, plane: ControlPlane) -> Process:
    """Return the scheduler, not yet started."""
    kubeconfig = plane.kubeconfig_for(SCHEDULER_USER)
    arguments = {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "leader-elect": "false",
        "secure-port": 0,
    }
    return _process("kube-scheduler", binaries, arguments, logs)


def proxy(logs: Path, binaries: Binaries, plane: ControlPlane) -> Process:
    """Return kube-proxy, which brings what is sent to a Service to one of its pods; not yet started."""
    metrics_port, health_port = free_ports(2)
    arguments = {
        "kubeconfig": plane.kubeconfig_for(PROXY_USER),
        "hostname-override": NODE,
        "proxy-mode": "nftables",
        "cluster-cidr": inside.POD_CIDR,
        "conntrack-max-per-core": 0,  # the machine's to say
        "metrics-bind-address": f"{LOOPBACK}:{metrics_port}",
        "healthz-bind-address": f"{LOOPBACK}:{health_port}",
    }
    return _process("kube-proxy", binaries, arguments, logs)


def _process(name: str, binaries: Binaries, arguments: dict[str, object], logs: Path) -> Process:
    flags = [f"--{flag}={value}" for flag, value in arguments.items()]
    return Process(name, [binaries.path(name), *flags], log=logs / f"{name}.log")
