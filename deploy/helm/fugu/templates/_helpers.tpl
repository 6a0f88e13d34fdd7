{{- define "fugu.name" -}}
{{- printf "%s" .Release.Name | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "fugu.selector" -}}
app.kubernetes.io/name: fugu
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "fugu.labels" -}}
{{ include "fugu.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "fugu.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The Secret with the 32 bytes. */}}
{{- define "fugu.secretName" -}}
{{- .Values.secret.existing | default (include "fugu.name" .) -}}
{{- end }}

{{/* Where the state of a shard is, on its volume. */}}
{{- define "fugu.state" -}}
/var/lib/fugu/state
{{- end }}

{{/* Refuse what would render, and then not run. */}}
{{- define "fugu.check" -}}
{{- $values := .Values -}}
{{- $file := $values.pipeline -}}
{{- range $section := list "name" "source" "operator" "sink" "kafka" -}}
{{- if not (hasKey $file $section) -}}
{{- fail (printf "pipeline.%s is missing: write the pipeline file under `pipeline`, as `fugu init` does" $section) -}}
{{- end -}}
{{- end -}}
{{- range $section := list "metrics" "logs" "secret" -}}
{{- if hasKey $file $section -}}
{{- fail (printf "pipeline.%s: the chart writes this section; delete it" $section) -}}
{{- end -}}
{{- end -}}
{{- $state := $file.state | default dict -}}
{{- range $field := list "directory" "shards" "store" -}}
{{- if hasKey $state $field -}}
{{- fail (printf "pipeline.state.%s: the chart writes it, from `store` and `replicas`; delete it" $field) -}}
{{- end -}}
{{- end -}}
{{- $secret := $values.secret -}}
{{- $chosen := 0 -}}
{{- range list $secret.existing $secret.external.store $secret.value -}}
{{- if . -}}{{- $chosen = add1 $chosen -}}{{- end -}}
{{- end -}}
{{- if ne (int $chosen) 1 -}}
{{- fail "secret: write exactly one of secret.existing, secret.external.store and secret.value" -}}
{{- end -}}
{{- if and $secret.value (ne $secret.encoding "hex") -}}
{{- fail "secret.encoding: secret.value is hex; keys that `fugu state rotate` wrote belong into secret.existing" -}}
{{- end -}}
{{- if and (eq $values.store "disk") (ne $values.autoscaling.kind "none") -}}
{{- fail "autoscaling: the shards of store: disk are fixed; write autoscaling.kind: none, or store: kafka" -}}
{{- end -}}
{{- $key := get $file.source "key" -}}
{{- $repartitions := and (kindIs "map" $key) (get $key "repartition" | default false) -}}
{{- $finds := and (not $repartitions) (eq (get $file.source "partitioner" | default "auto") "auto") -}}
{{- if and (eq $values.store "disk") (gt (int $values.replicas) 1) $finds -}}
{{- fail "pipeline.source.partitioner: each of several pods would find out by itself, from the keys that it happens to see, and two might find different ones. Write murmur2 (producers in Java, kafka-python), crc32 (librdkafka) or unchecked; for a pipeline that has run, what its log says was found" -}}
{{- end -}}
{{- if and (eq $values.store "kafka") $values.maintenance -}}
{{- fail "maintenance: store: kafka has no volumes; `fugu state move` takes a state to disk" -}}
{{- end -}}
{{- if gt (int $values.autoscaling.min) (int $values.autoscaling.max) -}}
{{- fail "autoscaling.min is above autoscaling.max" -}}
{{- end -}}
{{- end }}

{{/* The pipeline file, with what depends on where it runs. */}}
{{- define "fugu.pipeline" -}}
{{- $disk := dict "directory" (include "fugu.state" .) "shards" (int .Values.replicas) -}}
{{- $kafka := dict "store" "kafka" -}}
{{- $state := mergeOverwrite (deepCopy (.Values.pipeline.state | default dict)) (ternary $disk $kafka (eq .Values.store "disk")) -}}
{{- $written := dict
    "state" $state
    "secret" (dict "file" "/etc/fugu-secret/secret" "encoding" .Values.secret.encoding)
    "metrics" (dict "host" "0.0.0.0" "port" (int .Values.metrics.port))
    "logs" "json" -}}
{{- toYaml (merge $written (deepCopy .Values.pipeline)) -}}
{{- end }}

{{/* Where Kafka is, which a pipeline file may say in one text or in a list. */}}
{{- define "fugu.bootstrap" -}}
{{- $bootstrap := .Values.pipeline.kafka.bootstrap -}}
{{- if kindIs "slice" $bootstrap -}}{{- $bootstrap = join "," $bootstrap -}}{{- end -}}
{{- $bootstrap -}}
{{- end }}

{{/* Ports of Kafka, each once. */}}
{{- define "fugu.kafkaPorts" -}}
{{- $ports := list -}}
{{- range splitList "," (include "fugu.bootstrap" .) -}}
{{- $ports = append $ports (int (last (splitList ":" (trim .)))) -}}
{{- end -}}
{{- range .Values.networkPolicy.kafkaPorts -}}{{- $ports = append $ports (int .) -}}{{- end -}}
{{- $ports | uniq | toJson -}}
{{- end }}

{{/* Ports of schema registries and of the server that gives tokens, each once. */}}
{{- define "fugu.serverPorts" -}}
{{- $file := .Values.pipeline -}}
{{- $sections := list (dig "security" "oauth" dict $file.kafka) -}}
{{- range $section := list $file.source $file.sink -}}
{{- with get $section "format" -}}
{{- if kindIs "map" . -}}{{- $sections = append $sections (get . "registry") -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $ports := list -}}
{{- range $sections -}}
{{- with . -}}
{{- $url := urlParse (.url | default .token_url | default "") -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "80" "443" (eq $url.scheme "http")) -}}
{{- $ports = append $ports (int $port) -}}
{{- end -}}
{{- end -}}
{{- $ports | uniq | toJson -}}
{{- end }}
