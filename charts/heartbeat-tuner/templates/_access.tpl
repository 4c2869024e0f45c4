{{/*
How Prometheus and Kafka are reached. Values name keys of Secrets and ConfigMaps; the pods have each as a file of a
projected volume, which follows a change of the Secret; the configuration names the file.
*/}}
{{- define "heartbeat-tuner.secretsPath" -}}/etc/heartbeat-tuner-secrets{{- end -}}

{{/* The files of Prometheus: path in the volume -> where its content is. JSON. */}}
{{- define "heartbeat-tuner.prometheusFiles" -}}
{{- $prometheus := .Values.prometheus -}}
{{- $files := dict -}}
{{- with $prometheus.bearerToken }}{{ $_ := set $files "prometheus/token" (ternary . (dict "audience" (.audience | default "prometheus")) (hasKey . "secret")) }}{{ end -}}
{{- with $prometheus.basicAuth }}{{ $_ := set $files "prometheus/password" .password }}{{ end -}}
{{- with $prometheus.tls.ca }}{{ $_ := set $files "prometheus/ca.crt" . }}{{ end -}}
{{- with $prometheus.tls.cert }}{{ $_ := set $files "prometheus/tls.crt" . }}{{ end -}}
{{- with $prometheus.tls.key }}{{ $_ := set $files "prometheus/tls.key" . }}{{ end -}}
{{- toJson $files -}}
{{- end -}}

{{/* The same of all Kafka clusters. JSON. */}}
{{- define "heartbeat-tuner.kafkaFiles" -}}
{{- $files := dict -}}
{{- range $name, $cluster := .Values.kafka.clusters -}}
{{- $folder := printf "kafka/%s" $name -}}
{{- with $cluster.sasl -}}
{{- with .usernameFrom }}{{ $_ := set $files (printf "%s/username" $folder) . }}{{ end -}}
{{- $_ := set $files (printf "%s/password" $folder) .password -}}
{{- end -}}
{{- with $cluster.tls -}}
{{- with .ca }}{{ $_ := set $files (printf "%s/ca.crt" $folder) . }}{{ end -}}
{{- with .cert }}{{ $_ := set $files (printf "%s/tls.crt" $folder) . }}{{ end -}}
{{- with .key }}{{ $_ := set $files (printf "%s/tls.key" $folder) . }}{{ end -}}
{{- with .keyPassword }}{{ $_ := set $files (printf "%s/key-password" $folder) . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toJson $files -}}
{{- end -}}

{{/* The volume with these files. Takes path -> where its content is. */}}
{{- define "heartbeat-tuner.secretsVolume" -}}
- name: secrets
  projected:
    sources:
      {{- range $path, $from := . }}
      {{- if $from.audience }}
      # Of no use to anybody but who expects this audience: the API server does not.
      - serviceAccountToken: {audience: {{ $from.audience | quote }}, expirationSeconds: 3600, path: {{ $path | quote }}}
      {{- else }}
      {{- if $from.configMap }}
      - configMap:
          name: {{ $from.configMap }}
      {{- else }}
      - secret:
          name: {{ $from.secret }}
      {{- end }}
          items:
            - {key: {{ $from.key | quote }}, path: {{ $path | quote }}}
      {{- end }}
      {{- end }}
{{- end -}}

{{/* The operator's configuration: what `heartbeat_tuner.settings` reads. */}}
{{- define "heartbeat-tuner.config" -}}
{{- $secrets := include "heartbeat-tuner.secretsPath" . -}}
{{- $given := .Values.prometheus -}}
{{- $url := required "prometheus.url is not set: give the base address of the Prometheus that scrapes your consumers" $given.url -}}
{{- $prometheus := dict "url" $url "timeout" $given.timeout "maxAnswerBytes" $given.maxAnswerBytes -}}
{{- with $given.headers }}{{ $_ := set $prometheus "headers" . }}{{ end -}}
{{- with include "heartbeat-tuner.bearerTokenFile" . }}{{ $_ := set $prometheus "bearerTokenFile" . }}{{ end -}}
{{- if $given.allowCredentialsOverHttp }}{{ $_ := set $prometheus "allowCredentialsOverHttp" true }}{{ end -}}
{{- with $given.basicAuth -}}
{{- $_ := set $prometheus "basicAuth" (dict "username" .username "passwordFile" (printf "%s/prometheus/password" $secrets)) -}}
{{- end -}}
{{- with $given.tls }}{{ $_ := set $prometheus "tls" (include "heartbeat-tuner.tls" (list . (printf "%s/prometheus" $secrets)) | fromJson) }}{{ end -}}
{{- $clusters := dict -}}
{{- range $name, $cluster := .Values.kafka.clusters -}}
{{- $folder := printf "%s/kafka/%s" $secrets $name -}}
{{- $one := pick $cluster "bootstrapServers" "securityProtocol" "heartbeatBudget" "grants" "alterGroups" -}}
{{- with $cluster.sasl -}}
{{- $sasl := merge (pick . "mechanism" "username") (dict "passwordFile" (printf "%s/password" $folder)) -}}
{{- if .usernameFrom }}{{ $_ := set $sasl "usernameFile" (printf "%s/username" $folder) }}{{ end -}}
{{- $_ := set $one "sasl" $sasl -}}
{{- end -}}
{{- with $cluster.tls }}{{ $_ := set $one "tls" (include "heartbeat-tuner.tls" (list . $folder) | fromJson) }}{{ end -}}
{{- $_ := set $clusters $name $one -}}
{{- end -}}
{{- if not $clusters }}{{ fail "kafka.clusters is empty: name at least one Kafka cluster, like kafka.clusters.main.bootstrapServers=kafka.kafka:9092" }}{{ end -}}
{{- $operator := .Values.operator -}}
{{- if and $operator.maxConcurrentRollouts (lt (int $operator.maxConcurrentRollouts) (int $operator.shards)) }}{{ fail (printf "operator.maxConcurrentRollouts %d is less than operator.shards %d, and each shard has its part of them: raise the one, or lower the other" (int $operator.maxConcurrentRollouts) (int $operator.shards)) }}{{ end -}}
{{- if and $operator.evictions (not .Values.webhook.enabled) }}{{ fail "operator.evictions is true, and webhook.enabled is false: only the webhook gives new values to a part of the pods; enable it, or leave operator.evictions out" }}{{ end -}}
{{- toYaml (dict
  "prometheus" $prometheus
  "kafka" (dict "clusters" $clusters "timeout" .Values.kafka.timeout)
  "kubernetes" (merge (dict "argoRollouts" $operator.argoRollouts) (include "heartbeat-tuner.kubernetesConfig" (list . $operator) | fromJson))
  "leaderElection" (merge (dict "leaseName" (include "heartbeat-tuner.fullname" .)) $operator.leaderElection)
  "rollout" (dict "maxConcurrent" $operator.maxConcurrentRollouts "canaries" $operator.evictions)
  "interval" $operator.interval
  "shards" $operator.shards
) -}}
{{- end -}}

{{/* A section `kubernetes` of a configuration. Takes (list $ values-of-the-component). JSON. */}}
{{- define "heartbeat-tuner.kubernetesConfig" -}}
{{- $section := dict "timeout" (last .).kubernetesTimeout -}}
{{- with (first .).Values.watchNamespaces }}{{ $_ := set $section "namespaces" . }}{{ end -}}
{{- toJson $section -}}
{{- end -}}

{{/* A section `tls` of the configuration. Takes (list tls-in-values folder). JSON. */}}
{{- define "heartbeat-tuner.tls" -}}
{{- $given := first . -}}
{{- $folder := last . -}}
{{- $tls := pick $given "serverName" -}}
{{- range $key, $file := dict "ca" "ca.crt" "cert" "tls.crt" "key" "tls.key" "keyPassword" "key-password" -}}
{{- if hasKey $given $key }}{{ $_ := set $tls (printf "%sFile" $key) (printf "%s/%s" $folder $file) }}{{ end -}}
{{- end -}}
{{- toJson $tls -}}
{{- end -}}

{{/* The file of what is sent to Prometheus as a bearer token; empty where nothing is. */}}
{{- define "heartbeat-tuner.bearerTokenFile" -}}
{{- with .Values.prometheus.bearerToken -}}
{{- include "heartbeat-tuner.secretsPath" $ }}/prometheus/token
{{- end -}}
{{- end -}}
