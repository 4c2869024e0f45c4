"""A node that runs real containers: containerd, kubelet, kube-proxy and scheduler beside the sandbox's control plane.

Root only, and nothing of it touches the machine: `enclosure` runs a command (the tests) in namespaces of its own, where
there is a network without a way out, and from which nothing can be left behind. `inside` is what that command begins
with. In there, `cluster` is the whole environment; `runtime` is containerd, `kubelet` and `services` are the node's
Kubernetes programs.
"""
