{{- define "plinth.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "plinth.labels" -}}
app.kubernetes.io/name: plinth
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Labels by which pods are selected: (dict "root" $ "component" "api") */}}
{{- define "plinth.selector" -}}
app.kubernetes.io/name: plinth
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "plinth.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "plinth.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "plinth.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Variables of all processes; the number of connections differs: (dict "root" $ "connections" 4) */}}
{{- define "plinth.environment" -}}
{{- $values := .root.Values -}}
- name: PLINTH_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ $values.database.existingSecret }}
      key: {{ $values.database.key }}
- name: PLINTH_DATABASE_CONNECTIONS
  value: {{ .connections | quote }}
- name: PLINTH_DATA_DIR
  value: /var/lib/plinth
- name: PLINTH_STORE_URL
  value: {{ $values.store.url | quote }}
{{- with $values.store.publicEndpoint }}
- name: PLINTH_STORE_PUBLIC_ENDPOINT
  value: {{ . | quote }}
{{- end }}
{{- with $values.store.endpoint }}
- name: AWS_ENDPOINT_URL
  value: {{ . | quote }}
{{- end }}
- name: AWS_REGION
  value: {{ $values.store.region | quote }}
{{- with $values.store.existingSecret }}
{{- range list "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY" }}
- name: {{ . }}
  valueFrom:
    secretKeyRef:
      name: {{ $values.store.existingSecret }}
      key: {{ . }}
{{- end }}
{{- end }}
- name: PLINTH_PUBLIC_URL
  value: {{ $values.publicUrl | quote }}
- name: PLINTH_RENDER_TIMEOUT_SECONDS
  value: {{ $values.renderTimeoutSeconds | int | quote }}
- name: PLINTH_WORKER_OUTAGE_SECONDS
  value: {{ include "plinth.workerOutage" .root | quote }}
- name: PLINTH_FENCE
  value: {{ $values.fence }}
- name: PLINTH_LOG_FORMAT
  value: json
- name: PLINTH_METRICS_LISTEN
  value: 0.0.0.0:9090
{{- range $name, $value := $values.environment }}
- name: {{ $name }}
  {{- /* Helm reads numbers of files as floating point, and would write a million as 1e+06. */}}
  value: {{ if and (kindIs "float64" $value) (eq (floor $value) $value) }}{{ $value | int64 | quote }}{{ else }}{{ $value | quote }}{{ end }}
{{- end }}
{{- end }}

{{/* Without it, a node whose default runtime is NVIDIA's gives every card to every container of this image. */}}
{{- define "plinth.noCards" -}}
- name: NVIDIA_VISIBLE_DEVICES
  value: void
{{- end }}

{{/* Pools must have names of their own, and take every class: renders of an untaken class would wait for ever. */}}
{{- define "plinth.checkPools" -}}
{{- $names := list }}
{{- $taken := list }}
{{- range .Values.workerPools }}
{{- if has .name $names }}{{ fail (printf "two workerPools have the name %s" .name) }}{{ end }}
{{- $names = append $names .name }}
{{- $taken = concat $taken .takes }}
{{- end }}
{{- range list "share" "standard" "4k" "pro" "dataset" "preview" }}
{{- if not (has . $taken) }}{{ fail (printf "no pool of workerPools takes %s" .) }}{{ end }}
{{- end }}
{{- end }}

{{/*
Time that a stopped worker has for its jobs: a render, an outage of the store or the database, and 15 minutes for uploads, after which an
upload that is not answered has failed. Values of an earlier version of the chart (helm upgrade --reuse-values) lack the outage.
*/}}
{{- define "plinth.workerGrace" -}}
{{- add .Values.renderTimeoutSeconds (include "plinth.workerOutage" .) 900 -}}
{{- end }}

{{- define "plinth.workerOutage" -}}
{{- .Values.workerOutageSeconds | default 600 | int -}}
{{- end }}

{{- define "plinth.migrationTimeout" -}}
{{- .Values.migration.timeoutSeconds | default 3600 | int -}}
{{- end }}

{{/*
(dict "root" $ "port" "http"). A process answers only when the database is migrated, so without the job a start takes as long as
the migration.
*/}}
{{- define "plinth.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: {{ .port }} }
  periodSeconds: 5
  failureThreshold: {{ div (add (ternary 120 (include "plinth.migrationTimeout" .root | int) .root.Values.migration.enabled) 4) 5 }}
livenessProbe:
  httpGet: { path: /livez, port: {{ .port }} }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: {{ .port }} }
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
{{- end }}

{{/*
How many slots a pool has work for: queued groups of renders with equal frames that it takes, which are one job each; queued
packagings; and its slots at work. Each part stops counting at the number of slots that the pool may have.
(dict "pool" . "slots" 20)
*/}}
{{- define "plinth.poolQuery" -}}
{{- $taken := without .pool.takes "preview" -}}
{{- $classes := ternary (printf "(work_class IS NULL OR work_class IN ('%s'))" (join "', '" $taken)) "FALSE" (gt (len $taken) 0) -}}
SELECT (SELECT count(*) FROM (SELECT 1 FROM renders WHERE status IN ('pending', 'poster-done') AND deleted_at IS NULL
AND {{ $classes }} GROUP BY model_id, frames_sha256 LIMIT {{ .slots }}) AS queued)
+ (SELECT count(*) FROM (SELECT 1 FROM renders WHERE status = 'done' AND hls_status = 'pending' AND deleted_at IS NULL
AND {{ $classes }} LIMIT {{ .slots }}) AS unpackaged)
+ (SELECT count(*) FROM renders WHERE lease_token IS NOT NULL AND slot_since IS NOT NULL AND worker_pool = '{{ .pool.name }}')
{{- end }}

{{- define "plinth.egress" -}}
# DNS
- ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
# database
- ports:
    - { protocol: TCP, port: {{ .database.port }} }
  {{- with .database.peers }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
# store
- ports:
    - { protocol: TCP, port: {{ .store.port }} }
  {{- with .store.peers }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "plinth.metricsIngress" -}}
- ports:
    - { protocol: TCP, port: 9090 }
  from:
    {{- if .metricsPeers }}
    {{- toYaml .metricsPeers | nindent 4 }}
    {{- else }}
    - namespaceSelector: {}
    {{- end }}
{{- end }}
