{{/*
What the operator does where policies are. Equal to sandbox/manifests/operator-role.yaml; each rule names the code that
needs it, and a test runs the operator with these rights and finds each of them used.
*/}}
{{- define "heartbeat-tuner.operatorRules" -}}
- apiGroups: [heartbeat-tuner.dev]
  resources: [consumergrouppolicies]
  verbs: [get, list, watch]       # handlers/__init__.py watches; adapters/kubernetes/policy_objects.py lists, and looks once more before a write
- apiGroups: [heartbeat-tuner.dev]
  resources: [consumergroupmodels]
  verbs: [list]                   # adapters/kubernetes/model_objects.py: what the fit says of groups; the operator writes none
- apiGroups: [heartbeat-tuner.dev]
  resources: [consumergrouppolicies/status]
  verbs: [update]                 # adapters/kubernetes/policy_objects.py: conditions, recommendation, what was applied
- apiGroups: [apps]
  resources: [deployments, statefulsets]
  verbs: [get, list, watch, patch]   # adapters/workloads/live_workloads.py: what is set now; adapters/workloads/workload_objects.py: server-side apply of our env entries
{{- if .Values.operator.argoRollouts }}
- apiGroups: [argoproj.io]
  resources: [rollouts]
  verbs: [get, list, watch, patch]   # adapters/workloads/live_workloads.py and workload_objects.py, as of Deployments
{{- end }}
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]            # adapters/workloads/live_workloads.py: what the running pods have, and their slots
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [list, watch]            # adapters/slots/slot_views.py: who has which slot; the webhook writes them
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch]       # adapters/workloads/live_workloads.py: values that come from envFrom
- apiGroups: [""]
  resources: [events]
  verbs: [create]                 # adapters/kubernetes/kubernetes_events.py: transitions of policies, and why the start was refused
{{- if .Values.operator.evictions }}
- apiGroups: [""]
  resources: [pods/eviction]
  verbs: [create]                 # adapters/workloads/workload_objects.py: pods of a canary, one at a time, as far as PodDisruptionBudgets allow
{{- end }}
{{- end -}}
