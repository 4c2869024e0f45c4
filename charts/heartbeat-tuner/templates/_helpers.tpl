{{/* The name of all objects: short enough for the longest suffix and for a CronJob's jobs. */}}
{{- define "heartbeat-tuner.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* A component's objects: the operator has the bare name. Takes (list $ component). */}}
{{- define "heartbeat-tuner.name" -}}
{{- $fullname := include "heartbeat-tuner.fullname" (first .) -}}
{{- if eq (last .) "operator" }}{{ $fullname }}{{ else }}{{ $fullname }}-{{ last . }}{{ end -}}
{{- end -}}

{{/* Labels that never change: what selectors may use. Takes (list $ component). */}}
{{- define "heartbeat-tuner.selectorLabels" -}}
{{- $root := first . -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ last . }}
{{- end -}}

{{/* Labels of every object. Takes (list $ component). */}}
{{- define "heartbeat-tuner.labels" -}}
{{- $root := first . -}}
{{ include "heartbeat-tuner.selectorLabels" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* An object's metadata. Takes (list $ component). */}}
{{- define "heartbeat-tuner.metadata" -}}
name: {{ include "heartbeat-tuner.name" . }}
namespace: {{ (first .).Release.Namespace }}
labels:
  {{- include "heartbeat-tuner.labels" . | nindent 2 }}
{{- end -}}

{{/* The same of an object without a namespace. Takes (list $ component). */}}
{{- define "heartbeat-tuner.clusterMetadata" -}}
name: {{ include "heartbeat-tuner.name" . }}
labels:
  {{- include "heartbeat-tuner.labels" . | nindent 2 }}
{{- end -}}

{{/* Who is bound to a component's role of this kind. Takes (list $ kind component). */}}
{{- define "heartbeat-tuner.binding" -}}
{{- $root := first . -}}
{{- $name := include "heartbeat-tuner.name" (list $root (last .)) -}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ index . 1 }}
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ $name }}
    namespace: {{ $root.Release.Namespace }}
{{- end -}}

{{/*
A Role for each of `watchNamespaces`, bound to a component's account; nothing where all namespaces are watched. Takes
(list $ component rules).
*/}}
{{- define "heartbeat-tuner.watchedRoles" -}}
{{- $root := first . -}}
{{- $component := index . 1 -}}
{{- $rules := last . -}}
{{- $account := include "heartbeat-tuner.name" (list $root $component) -}}
{{- range $namespace := $root.Values.watchNamespaces }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $account }}-watched
  namespace: {{ $namespace }}
  labels:
    {{- include "heartbeat-tuner.labels" (list $root $component) | nindent 4 }}
rules:
  {{- $rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $account }}-watched
  namespace: {{ $namespace }}
  labels:
    {{- include "heartbeat-tuner.labels" (list $root $component) | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $account }}-watched
subjects:
  - kind: ServiceAccount
    name: {{ $account }}
    namespace: {{ $root.Release.Namespace }}
{{- end }}
{{- end -}}

{{/* How many pods the operator has: one for each shard, and one to take over. */}}
{{- define "heartbeat-tuner.replicas" -}}
{{- $operator := .Values.operator -}}
{{- $shards := int $operator.shards -}}
{{- if kindIs "invalid" $operator.replicas -}}
{{- add $shards 1 -}}
{{- else -}}
{{- $replicas := int $operator.replicas -}}
{{- if and $replicas (lt $replicas $shards) }}{{ fail (printf "operator.replicas %d is less than operator.shards %d, and each shard needs a pod to lead it: set %d, or leave operator.replicas out" $replicas $shards (add $shards 1)) }}{{ end -}}
{{- $replicas -}}
{{- end -}}
{{- end -}}

{{/*
The leases by which the operator's replicas agree, as a list in YAML and CEL: the one, and with shards one for each and
that of a replica which waits for one (leader_election/candidates.py).
*/}}
{{- define "heartbeat-tuner.leases" -}}
{{- $name := include "heartbeat-tuner.fullname" . -}}
{{- $names := list $name -}}
{{- if gt (int .Values.operator.shards) 1 -}}
{{- range $number := until (int .Values.operator.shards) }}{{ $names = append $names (printf "%s-shard-%d" $name $number) }}{{ end -}}
{{- $names = append $names (printf "%s-shard-idle" $name) -}}
{{- end -}}
{{- toJson $names -}}
{{- end -}}

{{/* An image's full name. Takes (list $ image path-in-values). */}}
{{- define "heartbeat-tuner.image" -}}
{{- $image := index . 1 -}}
{{- $missing := printf "%s.repository is not set: no image is published yet; build one from the Dockerfile, push it, and set its name" (last .) -}}
{{- $repository := required $missing $image.repository -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository ($image.tag | default (first .).Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* A pod template's metadata. Takes (list $ component values checksum). */}}
{{- define "heartbeat-tuner.podMetadata" -}}
{{- $root := first . -}}
{{- $values := index . 2 -}}
labels:
  {{- include "heartbeat-tuner.selectorLabels" (list $root (index . 1)) | nindent 2 }}
  {{- with $values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $annotations := dict }}
{{- with last . }}
{{- $annotations = dict "checksum/config" . }}
{{- end }}
{{- with merge $annotations $values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where pods may run, and who pulls their images; may be empty. Takes (list $ values). */}}
{{- define "heartbeat-tuner.placement" -}}
{{- with (first .).Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $key := list "nodeSelector" "tolerations" "affinity" }}
{{- with get (last $) $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with (last .).priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Nobody in particular, and no system call out of the ordinary. */}}
{{- define "heartbeat-tuner.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "heartbeat-tuner.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* What a program has to know of its pod to write an Event about it. */}}
{{- define "heartbeat-tuner.podIdentity" -}}
env:   # of whom an Event says why the start was refused
  - name: POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  - name: POD_NAMESPACE
    valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
  - name: POD_UID
    valueFrom: {fieldRef: {fieldPath: metadata.uid}}
{{- end -}}

{{/* One replica on each node, if there are as many. Takes (list $ component). */}}
{{- define "heartbeat-tuner.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "heartbeat-tuner.selectorLabels" . | nindent 8 }}
{{- end -}}

{{/* The probes of a process that answers on the port `probes`. Takes seconds between two looks at readiness. */}}
{{- define "heartbeat-tuner.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: probes}
  periodSeconds: 2
  failureThreshold: 30
livenessProbe:
  httpGet: {path: /healthz, port: probes}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: probes}
  periodSeconds: {{ . }}
  timeoutSeconds: 5
{{- end -}}

{{/* Rules of a NetworkPolicy for the page of metrics; none where nobody may read it. */}}
{{- define "heartbeat-tuner.metricsIngress" -}}
{{- with .Values.networkPolicy.metricsFrom }}
- ports: [{port: http, protocol: TCP}]
  from:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end -}}
