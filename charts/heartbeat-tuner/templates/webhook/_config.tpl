{{/* The webhook's configuration: what `heartbeat_tuner.settings.webhook_settings` reads. */}}
{{- define "heartbeat-tuner.webhookConfig" -}}
configurationName: {{ include "heartbeat-tuner.fullname" . }}
installation: {{ .Release.Namespace }}/{{ include "heartbeat-tuner.fullname" . }}
certificate:
  secretName: {{ include "heartbeat-tuner.name" (list . "webhook") }}
  serviceName: {{ include "heartbeat-tuner.name" (list . "webhook") }}
kubernetes:
  {{- include "heartbeat-tuner.kubernetesConfig" (list . .Values.webhook) | fromJson | toYaml | nindent 2 }}
{{- end -}}
