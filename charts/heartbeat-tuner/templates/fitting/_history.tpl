{{/* The claim of the volume with the history; empty where days are kept elsewhere. */}}
{{- define "heartbeat-tuner.historyClaim" -}}
{{- $history := .Values.fitting.history -}}
{{- if not $history.uri -}}
{{- $history.existingClaim | default (printf "%s-history" (include "heartbeat-tuner.fullname" .)) -}}
{{- end -}}
{{- end -}}
