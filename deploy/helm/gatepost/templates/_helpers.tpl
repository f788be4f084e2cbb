{{- define "gatepost.labels" -}}
app.kubernetes.io/name: gatepost
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "gatepost.selector" -}}
app.kubernetes.io/name: gatepost
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "gatepost.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ required "image.tag or image.digest: the version of the image" $image.tag }}
{{- end -}}
{{- end }}

{{- define "gatepost.podMetadata" -}}
labels:
  {{- include "gatepost.labels" . | nindent 2 }}
{{- with .root.Values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What all pods have: no rights, no token of the cluster, spread over nodes. */}}
{{- define "gatepost.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "gatepost.selector" . | nindent 8 }}
{{- end }}

{{- define "gatepost.container" -}}
image: {{ include "gatepost.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "gatepost.environment" -}}
{{- $values := .root.Values -}}
- name: GATEPOST_ROLE
  value: {{ .role }}
- name: DATABASE_URL
  value: {{ required "database.url: the address for the role of web and workers" $values.database.url | quote }}
- name: DATABASE_PASSWORD_FILE
  value: /run/secrets/gatepost/database_password
- name: REDIS_URL
  value: {{ required "valkey.url: the Valkey of messages" $values.valkey.url | quote }}
- name: REDIS_PASSWORD_FILE
  value: /run/secrets/gatepost/valkey_password
{{- if $values.hot.url }}
- name: GATEPOST_HOT_URL
  value: {{ $values.hot.url | quote }}
- name: GATEPOST_HOT_PASSWORD_FILE
  value: /run/secrets/gatepost/{{ $values.hot.passwordKey }}
{{- end }}
- name: GATEPOST_SECRET_KEY_FILE
  value: /run/secrets/gatepost/secret_key
- name: GATEPOST_ENCRYPTION_KEYS_FILE
  value: /run/secrets/gatepost/encryption_keys
{{- if $values.storage.url }}
- name: GATEPOST_STORAGE
  value: {{ $values.storage.url | quote }}
{{- else if not $values.storage.existingClaim }}
{{- fail "storage.url or storage.existingClaim: web and workers share files" }}
{{- end }}
{{- range $name := list "GATEPOST_ALLOWED_HOSTS" "GATEPOST_BASE_URL" }}
{{- if not (index $values.settings $name) }}
{{- fail (printf "settings.%s: the public name of this installation" $name) }}
{{- end }}
{{- end }}
{{- range $name, $value := merge (deepCopy (default dict .settings)) $values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "gatepost.environmentFrom" -}}
{{- with .Values.secrets.environment -}}
envFrom:
  {{- range . }}
  - secretRef:
      name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "gatepost.mounts" -}}
- name: tmp
  mountPath: /tmp
- name: data
  mountPath: /data
- name: secrets
  mountPath: /run/secrets/gatepost
  readOnly: true
{{- end }}

{{- define "gatepost.volumes" -}}
- name: tmp
  emptyDir: {}
- name: data
  {{- if .Values.storage.existingClaim }}
  persistentVolumeClaim:
    claimName: {{ .Values.storage.existingClaim }}
  {{- else }}
  emptyDir: {}
  {{- end }}
- name: secrets
  secret:
    secretName: {{ required "secrets.runtime: the Secret with the passwords and keys of web and workers" .Values.secrets.runtime }}
    defaultMode: 0440
    items:
      {{- $keys := list "database_password" "valkey_password" "secret_key" "encryption_keys" }}
      {{- if .Values.hot.url }}
      {{- $keys = uniq (append $keys .Values.hot.passwordKey) }}
      {{- end }}
      {{- range $keys }}
      - key: {{ . }}
        path: {{ . }}
      {{- end }}
{{- end }}
