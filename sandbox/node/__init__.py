"""The process node: a Kubernetes node whose containers are plain local processes.

It needs no root and no images: it registers a Node, binds pending pods to it, and runs each container's `command` as a
child process with the env Kubernetes would give it, on a loopback address of the pod's own. Probes, restarts, back-off,
statuses and deletion follow the kubelet, so that a Deployment rolls out for real.

What a process cannot have is not there: no images, volumes, resource limits or isolation; a pod that asks for init
containers, lifecycle hooks or gRPC probes fails and says so. Rooms: `process_node` (starts it, for everyone else);
`agent` (the node), `pod_worker` (one pod), `container` (one container), `probes`, and the pure `env` and `status`;
`api` and `addresses` serve them.
"""

from sandbox.node.process_node import ProcessNode

__all__ = ["ProcessNode"]
