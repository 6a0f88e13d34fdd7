{{/* What a StatefulSet and a Deployment have in common: the template of a pod. */}}
{{- define "fugu.pod" -}}
metadata:
  labels:
    {{- include "fugu.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations:
    # Another pipeline file, or another file that it names, is another checksum: Kubernetes then rolls it out.
    fugu/pipeline: {{ list (include "fugu.pipeline" .) .Values.files .Values.binaryFiles | toJson | sha256sum }}
    {{- with .Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  serviceAccountName: {{ include "fugu.name" . }}
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- if .Values.topologySpread.enabled }}
  topologySpreadConstraints:
    {{- range .Values.topologySpread.keys }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "fugu.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  containers:
    - name: fugu
      image: {{ include "fugu.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      {{- if .Values.maintenance }}
      command: [sh, -c, "trap 'exit 0' TERM; sleep infinity & wait"]
      {{- else }}
      args:
        - run
        - /etc/fugu/pipeline.yaml
        {{- if eq .Values.store "disk" }}
        - --shard
        - $(FUGU_SHARD)/{{ .Values.replicas }}
        {{- end }}
      {{- end }}
      env:
        {{- if .Values.maintenance }}
        - name: FUGU_MAINTENANCE
          value: {{ include "fugu.state" . }}
        {{- end }}
        {{- if eq .Values.store "disk" }}
        - name: FUGU_SHARD
          valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}
        {{- else }}
        # A container that starts again in its pod ends the open transaction of the one before at once.
        - name: FUGU_INSTANCE
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        {{- end }}
        # What the image brings is read; what it lacks for this processor is kept in the second folder.
        - name: FUGU_CACHE_DIR
          value: /opt/fugu/compiled:/var/cache/fugu
        {{- with .Values.env }}{{ toYaml . | nindent 8 }}{{ end }}
      ports:
        - {name: metrics, containerPort: {{ .Values.metrics.port }}, protocol: TCP}
      {{- if not .Values.maintenance }}
      # A pipeline that waits for Kafka is not ready, and no restart would help it: see /livez.
      startupProbe:
        httpGet: {path: /livez, port: metrics}
        periodSeconds: 5
        failureThreshold: {{ div (add .Values.probes.startupSeconds 4) 5 }}
      livenessProbe:
        httpGet: {path: /livez, port: metrics}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet: {path: /healthz, port: metrics}
        periodSeconds: 5
        timeoutSeconds: 5
      {{- end }}
      resources: {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: pipeline, mountPath: /etc/fugu, readOnly: true}
        - {name: secret, mountPath: /etc/fugu-secret, readOnly: true}
        {{- range .Values.kafkaSecrets }}
        - {name: {{ printf "kafka-%s" . }}, mountPath: {{ printf "/etc/fugu-secrets/%s" . }}, readOnly: true}
        {{- end }}
        - {name: cache, mountPath: /var/cache/fugu}
        - {name: temporary, mountPath: /tmp}
        {{- if eq .Values.store "disk" }}
        - {name: state, mountPath: /var/lib/fugu}
        {{- end }}
  volumes:
    - name: pipeline
      configMap: {name: {{ include "fugu.name" . }}}
    - name: secret
      secret:
        secretName: {{ include "fugu.secretName" . }}
        defaultMode: 0440
        items: [{key: {{ ternary .Values.secret.key "secret" (ne .Values.secret.existing "") }}, path: secret}]
    {{- range .Values.kafkaSecrets }}
    - name: {{ printf "kafka-%s" . }}
      secret: {secretName: {{ . }}, defaultMode: 0440}
    {{- end }}
    - name: cache
      emptyDir: {sizeLimit: 1Gi}
    - name: temporary
      emptyDir: {sizeLimit: 1Gi}
{{- end }}
