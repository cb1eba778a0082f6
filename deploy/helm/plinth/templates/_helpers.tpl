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

{{/*
OpenShift's restricted-v2 assigns users and groups from the range of the namespace, and rejects pods that set others. Values of an
earlier version of the chart (helm upgrade --reuse-values) have no podSecurityContext.
*/}}
{{- define "plinth.podSecurity" -}}
{{- $default := dict "runAsUser" 10001 "runAsGroup" 10001 "fsGroup" 10001 -}}
{{- $given := ternary .Values.podSecurityContext $default (hasKey .Values "podSecurityContext") -}}
{{- $adapt := .Values.adaptSecurityContext | default "auto" -}}
{{- $onOpenShift := .Capabilities.APIVersions.Has "security.openshift.io/v1" -}}
{{- if or (eq $adapt "force") (and (eq $adapt "auto") $onOpenShift) }}{{ $given = dict }}{{ end -}}
runAsNonRoot: true
{{- range list "runAsUser" "runAsGroup" "fsGroup" }}
{{- if not (kindIs "invalid" (index $given .)) }}
{{ . }}: {{ index $given . | int64 }}
{{- if eq . "fsGroup" }}
fsGroupChangePolicy: OnRootMismatch
{{- end }}
{{- end }}
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "plinth.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Address of a listener: (dict "root" $ "port" 8080) */}}
{{- define "plinth.listen" -}}
{{- $address := .root.Values.listenAddress | default "::" -}}
{{- if contains ":" $address }}[{{ $address }}]{{ else }}{{ $address }}{{ end }}:{{ .port }}
{{- end }}

{{/*
Variables, mount and volume of certificateAuthorities. SSL_CERT_FILE alone would replace the authorities of the image, which
SSL_CERT_DIR names.
*/}}
{{- define "plinth.authoritiesSource" -}}
{{- $given := .Values.certificateAuthorities | default dict -}}
{{- if and $given.existingConfigMap $given.existingSecret }}
{{- fail "certificateAuthorities has both existingConfigMap and existingSecret" }}
{{- end -}}
{{- if or $given.existingConfigMap $given.existingSecret }}
{{- range list "SSL_CERT_FILE" "SSL_CERT_DIR" }}
{{- if hasKey ($.Values.environment | default dict) . }}
{{- fail (printf "environment contains %s, which certificateAuthorities sets" .) }}
{{- end }}
{{- end }}
{{- end -}}
{{- with $given.existingConfigMap }}configMap: { name: {{ . }} }{{ end -}}
{{- with $given.existingSecret }}secret: { secretName: {{ . }} }{{ end -}}
{{- end }}

{{- define "plinth.authoritiesVariables" -}}
{{- if include "plinth.authoritiesSource" . -}}
- name: SSL_CERT_FILE
  value: /etc/ssl/plinth/{{ .Values.certificateAuthorities.key }}
- name: SSL_CERT_DIR
  value: /etc/ssl/certs
{{- end }}
{{- end }}

{{- define "plinth.authoritiesMount" -}}
{{- if include "plinth.authoritiesSource" . -}}
- { name: authorities, mountPath: /etc/ssl/plinth, readOnly: true }
{{- end }}
{{- end }}

{{- define "plinth.authoritiesVolume" -}}
{{- with include "plinth.authoritiesSource" . -}}
- name: authorities
  {{ . }}
{{- end }}
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
  value: {{ include "plinth.listen" (dict "root" .root "port" 9090) | quote }}
{{- with include "plinth.authoritiesVariables" .root }}
{{ . }}
{{- end }}
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
(dict "root" $ "live" "metrics" "ready" "http"): the ports that serve /livez and /readyz. For /livez, it is one that clients do not
connect to, so that a flood of clients does not get a pod killed. A process answers only when the database is migrated, so without
the job a start takes as long as the migration.
*/}}
{{- define "plinth.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: {{ .live }} }
  periodSeconds: 5
  failureThreshold: {{ div (add (ternary 120 (include "plinth.migrationTimeout" .root | int) .root.Values.migration.enabled) 4) 5 }}
livenessProbe:
  httpGet: { path: /livez, port: {{ .live }} }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: {{ .ready }} }
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
# DNS. Network plugins compare the ports of pods, and OpenShift's DNS pods listen at 5353.
- ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
    - { protocol: UDP, port: 5353 }
    - { protocol: TCP, port: 5353 }
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

{{/*
Labels that select the series of this release in queries. Without the chart's ServiceMonitor, they are known only if metrics.alerts.selector
names them; without both, there are none.
*/}}
{{- define "plinth.series" -}}
{{- $monitored := printf "job=\"%s-metrics\",namespace=%q" (include "plinth.name" .) .Release.Namespace -}}
{{- .Values.metrics.alerts.selector | default (ternary $monitored "" .Values.metrics.serviceMonitor.enabled) -}}
{{- end }}

{{/* A query each of whose metrics selects these labels: (dict "query" "max(plinth_workers)" "series" "job=\"demo-metrics\"") */}}
{{- define "plinth.query" -}}
{{- $query := .query -}}
{{- if .series -}}
{{- /* The labels are inserted last, because they may contain names of metrics themselves. */ -}}
{{- $query = regexReplaceAll "(plinth_[a-z_]+)[{]" $query "${1}{<series>," -}}
{{- $query = regexReplaceAll "(plinth_[a-z_]+)([^a-z_{]|$)" $query "${1}{<series>}${2}" -}}
{{- $query = $query | replace "<series>" .series -}}
{{- end -}}
{{- $query -}}
{{- end }}

{{/*
files/dashboard.json for the series of this release. Grafana takes dashboards with equal uids for one.
*/}}
{{- define "plinth.dashboard" -}}
{{- $series := include "plinth.series" . -}}
{{- $dashboard := .Files.Get "files/dashboard.json" | fromJson -}}
{{- range $panel := $dashboard.panels }}
{{- range $target := $panel.targets }}
{{- $_ := set $target "expr" (include "plinth.query" (dict "query" $target.expr "series" $series)) }}
{{- end }}
{{- end }}
{{- $release := printf "%s/%s" .Release.Namespace .Release.Name -}}
{{- $_ := set $dashboard "uid" (printf "plinth-%s" ($release | sha256sum | trunc 16)) -}}
{{- $_ := set $dashboard "title" (printf "Plinth: %s in %s" .Release.Name .Release.Namespace) -}}
{{- toPrettyJson $dashboard }}
{{- end }}

{{/*
files/alerts.yaml for the series of this release. Alerts have the labels namespace and release, because Alertmanager takes alerts with
equal labels for one.
*/}}
{{- define "plinth.alerts" -}}
{{- $series := include "plinth.series" . -}}
{{- $rules := .Files.Get "files/alerts.yaml" | fromYaml -}}
{{- range $group := $rules.groups }}
{{- range $rule := $group.rules }}
{{- $_ := set $rule "expr" (include "plinth.query" (dict "query" $rule.expr "series" $series)) }}
{{- $_ := set $rule.labels "namespace" $.Release.Namespace }}
{{- $_ := set $rule.labels "release" $.Release.Name }}
{{- end }}
{{- end }}
{{- toYaml $rules }}
{{- end }}
