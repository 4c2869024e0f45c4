{{/*
One of files/crds, with what the values say of it. Not in Helm's folder crds/, whose files it never upgrades. As text:
read as YAML and written again, numbers would look otherwise. Takes (list $ file).
*/}}
{{- define "heartbeat-tuner.definition" -}}
{{- $root := first . -}}
{{- if $root.Values.crds.install -}}
{{- $added := dict "labels" (include "heartbeat-tuner.labels" (list $root "crds") | fromYaml) -}}
{{- if $root.Values.crds.keep -}}
{{- $_ := set $added "annotations" (dict "helm.sh/resource-policy" "keep") -}}
{{- end -}}
{{- $text := $root.Files.Get (printf "files/crds/%s" (last .)) -}}
{{- $text | replace "\nmetadata:\n" (printf "\nmetadata:\n%s\n" (toYaml $added | indent 2)) -}}
{{- end -}}
{{- end -}}
