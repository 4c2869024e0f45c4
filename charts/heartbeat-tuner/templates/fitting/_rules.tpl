{{/* All that the job may do: read and write models. It reads no workload, no pod and no secret. */}}
{{- define "heartbeat-tuner.fitRules" -}}
- apiGroups: [heartbeat-tuner.dev]
  resources: [consumergroupmodels]
  verbs: [list, create, patch]   # adapters/kubernetes/model_objects.py: what is there already; server-side apply of what differs
{{- end -}}
