"""The slots of static membership: which pod of a Deployment joins its group as which member. Pure.

A slot is a number; its `group.instance.id` is made of a prefix and that number. One Lease per slot is the whole memory:
the webhook has none. `claiming` answers a pod's creation, `settling` says what is to be written into the Leases
afterwards, `lifting` lets gated pods go, `status` tells people. All of them judge by `standing`; `values` are the
nouns, `records` how a Lease carries one, `limits` the times and why they are as long as they are.

A new rule about ids belongs in the module that acts on it; what the webhook does with a pod is `webhook.admission`.

Many replicas act at once, each on a view that may be old. What keeps them from giving one id twice stands in
`docs/explanation/static-membership.md`.
"""
