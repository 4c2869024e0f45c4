{{/* Whether Spark runs in pods of its own, the executors; empty where not. */}}
{{- define "heartbeat-tuner.onPods" -}}
{{- if and .Values.fitting.enabled (hasPrefix "k8s://" .Values.fitting.master) }}true{{ end -}}
{{- end -}}

{{- define "heartbeat-tuner.sparkPath" -}}/etc/heartbeat-tuner-spark{{- end -}}

{{/* The files of secrets that driver and executors have: path in the volume -> where its content is. JSON. */}}
{{- define "heartbeat-tuner.fitFiles" -}}
{{- $files := include "heartbeat-tuner.prometheusFiles" . | fromJson -}}
{{- if include "heartbeat-tuner.onPods" . -}}
{{- $missing := "fitting.spark.authSecret is not set, and fitting.master begins with k8s://: create a Secret with random text, and name it and its key" -}}
{{- $_ := set $files "spark/secret" (required $missing .Values.fitting.spark.authSecret) -}}
{{- end -}}
{{- toJson $files -}}
{{- end -}}

{{/* What starts an executor in the fit's image; Spark adds an argument that means nothing to it. JSON, which is CEL, too. */}}
{{- define "heartbeat-tuner.executorCommand" -}}
["/opt/heartbeat-tuner/bin/python", "-m", "heartbeat_tuner.fitting.executor_start"]
{{- end -}}

{{/* The pods that Spark makes; it adds image, resources, environment and owner. */}}
{{- define "heartbeat-tuner.executorPod" -}}
{{- $values := .Values.fitting -}}
apiVersion: v1
kind: Pod
metadata:
  {{- include "heartbeat-tuner.podMetadata" (list . "fit-executor" $values "") | nindent 2 }}
spec:
  # The fit's account, by which Prometheus and buckets know it; without its token for the API server.
  serviceAccountName: {{ include "heartbeat-tuner.name" (list . "fit") }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  securityContext:
    {{- include "heartbeat-tuner.podSecurity" . | nindent 4 }}
    fsGroup: 65532
  {{- with include "heartbeat-tuner.placement" (list . $values) | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  containers:
    - name: executor
      command: {{ include "heartbeat-tuner.executorCommand" . }}
      env:
        # Spark reads a secret's file on Kubernetes alone, and tells executors where they are only after they have shown it.
        - {name: JDK_JAVA_OPTIONS, value: "-Dspark.master=k8s://"}
      securityContext:
        {{- include "heartbeat-tuner.containerSecurity" . | nindent 8 }}
      volumeMounts:
        - {name: spark-local-dir-1, mountPath: /tmp}   # by this name Spark knows where it may write
        - {name: secrets, mountPath: {{ include "heartbeat-tuner.secretsPath" . }}, readOnly: true}
  volumes:
    - name: spark-local-dir-1
      emptyDir: {sizeLimit: 2Gi}
    {{- include "heartbeat-tuner.secretsVolume" (include "heartbeat-tuner.fitFiles" . | fromJson) | nindent 4 }}
{{- end -}}
