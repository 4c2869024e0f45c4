{{/*
ValidatingAdmissionPolicies: what a role cannot say, since a role gives an object as a whole or not at all. Every
expression fails closed, and is about our own accounts and kinds alone. The group is there since Kubernetes 1.30, which
is older than the oldest that this chart takes; where the API server has switched it off, nothing is made.
*/}}
{{- define "heartbeat-tuner.fenced" -}}
{{- if and .Values.fences.enabled (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1") }}true{{ end -}}
{{- end -}}

{{/* They stand in no namespace: the release's is part of the name. Takes (list $ component purpose). */}}
{{- define "heartbeat-tuner.fenceName" -}}
{{- $root := first . -}}
{{- printf "%s-%s.%s" (include "heartbeat-tuner.name" (list $root (index . 1))) (last .) $root.Release.Namespace -}}
{{- end -}}

{{/* Takes (list $ component purpose). */}}
{{- define "heartbeat-tuner.fenceMetadata" -}}
name: {{ include "heartbeat-tuner.fenceName" . }}
labels:
  {{- include "heartbeat-tuner.labels" (list (first .) (index . 1)) | nindent 2 }}
{{- end -}}

{{/* A component's account, as the API server calls it. Takes (list $ component). */}}
{{- define "heartbeat-tuner.username" -}}
{{- $root := first . -}}
system:serviceaccount:{{ $root.Release.Namespace }}:{{ include "heartbeat-tuner.name" . }}
{{- end -}}

{{/* The binding of a policy. Takes (list $ component purpose namespaces); in all namespaces if there are none. */}}
{{- define "heartbeat-tuner.fenceBinding" -}}
{{- $root := first . -}}
{{- $named := list $root (index . 1) (index . 2) -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  {{- include "heartbeat-tuner.fenceMetadata" $named | nindent 2 }}
spec:
  policyName: {{ include "heartbeat-tuner.fenceName" $named }}
  validationActions: [Deny]
  {{- with last . }}
  matchResources:
    namespaceSelector:
      matchExpressions:
        - key: kubernetes.io/metadata.name
          operator: In
          values:
            {{- toYaml . | nindent 12 }}
  {{- end }}
{{- end -}}

{{/* An Event as our programs write it: about a policy, or about a pod of the release. Takes $. */}}
{{- define "heartbeat-tuner.ourEvent" -}}
object.?source.?component.orValue('') == 'heartbeat-tuner' &&
object.involvedObject.?namespace.orValue('') == request.namespace && (
  (object.involvedObject.?kind.orValue('') == 'ConsumerGroupPolicy' &&
   object.involvedObject.?apiVersion.orValue('').startsWith('heartbeat-tuner.dev/')) ||
  (object.involvedObject.?kind.orValue('') == 'Pod' && request.namespace == {{ .Release.Namespace | squote }}))
{{- end -}}

{{/* Whether two maps have the same entries, but for some keys. Takes (list old new keys…). */}}
{{- define "heartbeat-tuner.sameBut" -}}
{{- $old := first . -}}
{{- $new := index . 1 -}}
{{- $keys := list -}}
{{- range slice . 2 }}{{ $keys = append $keys (squote .) }}{{ end -}}
dyn({{ $new }}).all(key, key in [{{ join ", " $keys }}] || (key in dyn({{ $old }}) && dyn({{ $new }})[key] == dyn({{ $old }})[key])) &&
dyn({{ $old }}).all(key, key in [{{ join ", " $keys }}] || key in dyn({{ $new }}))
{{- end -}}

{{/* Whether an entry of env is one that the operator may set. Takes (list entry number duration). */}}
{{- define "heartbeat-tuner.ourEntry" -}}
{{- $entry := first . -}}
dyn({{ $entry }}).all(key, key in ['name', 'value']) && ({{ $entry }}.?value.orValue('').matches('{{ index . 1 }}') || {{ $entry }}.?value.orValue('').matches('{{ last . }}'))
{{- end -}}
