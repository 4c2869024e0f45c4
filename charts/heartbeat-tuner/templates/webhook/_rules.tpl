{{/* What the webhook does where policies are. Equal to docs/how-to/webhook.yaml, but for the last rule of that. */}}
{{- define "heartbeat-tuner.webhookRules" -}}
- apiGroups: [heartbeat-tuner.dev]
  resources: [consumergrouppolicies]
  verbs: [list, watch]                          # webhook/replica.py: which workloads have static membership
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get]                                  # adapters/workloads/workload_sizes.py: how many pods there may be
{{- if .Values.operator.argoRollouts }}
- apiGroups: [argoproj.io]
  resources: [rollouts]
  verbs: [get]                                  # adapters/workloads/workload_sizes.py, as of Deployments
{{- end }}
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, patch, delete]      # adapters/slots/slot_pods.py: which have a slot; adapters/slots/slot_leases.py: gates, pods without their slot
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, list, watch, create, update, delete]   # adapters/slots/slot_leases.py: one for each slot, beside its policy
{{- end -}}
