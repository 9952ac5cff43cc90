{{- define "kurz.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "kurz.selector" -}}
app.kubernetes.io/name: kurz
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kurz.labels" -}}
{{ include "kurz.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "kurz.image" -}}
{{- $repository := required "Set image.repository: kurz publishes no image, build one from deploy/Dockerfile." .Values.image.repository -}}
{{- $tag := required "Set image.tag to the version of kurz." .Values.image.tag -}}
{{ $repository }}:{{ $tag }}
{{- end }}

{{- define "kurz.host" -}}
{{- $url := urlParse (required "Set baseUrl to the address that short links start with." .Values.baseUrl) -}}
{{- $url.hostname | default (index (splitList ":" $url.host) 0) -}}
{{- end }}

{{/* What instances and the migration have in common. */}}
{{- define "kurz.environment" -}}
{{- $secret := required "Set existingSecret.name to a secret with the URL of the database." .Values.existingSecret.name -}}
- name: KURZ_BASE_URL
  value: {{ required "Set baseUrl to the address that short links start with." .Values.baseUrl | quote }}
- name: KURZ_TRUSTED_PROXIES
  value: {{ join "," .Values.trustedProxies | quote }}
- name: KURZ_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: {{ .Values.existingSecret.databaseUrl }}
- name: KURZ_SECRET
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: {{ .Values.existingSecret.secret }}
{{- with .Values.existingSecret.redisUrl }}
- name: KURZ_REDIS_URL
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: {{ . }}
{{- end }}
{{- with .Values.existingSecret.metricsToken }}
- name: KURZ_METRICS_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: {{ . }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "kurz.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "kurz.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "kurz.mounts" -}}
- name: data
  mountPath: /data
- name: tmp
  mountPath: /tmp
{{- end }}

{{- define "kurz.volumes" -}}
- name: data
  emptyDir:
    sizeLimit: {{ .Values.journals.sizeLimit }}
- name: tmp
  emptyDir: {}
{{- end }}
