{{/*
What each process is: the script that it runs, what it talks to, and whether there is one of it with a disk of its own.
Not a value: who may see the keys and whom a process may call is no matter of taste.
*/}}
{{- define "penstock.components" -}}
{{ include "penstock.services" . }}
audit: { script: services/cluster/src/audit-process.ts, cluster: true, port: 8080, single: true }
{{- if eq .Values.lightning.mode "simulated" }}
simnet: { script: services/cluster/src/simnet-process.ts, port: 8080, single: true }
{{- if .Values.lightning.sellers }}
sellers: { script: services/cluster/src/neighbours-process.ts, lightning: true, market: true, operator: true, single: true, silent: true }
{{- end }}
{{- end }}
{{- end }}

{{- define "penstock.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Labels that a selector may use: they never change. Takes the root and the component's name. */}}
{{- define "penstock.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
{{- with index . 1 }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "penstock.labels" -}}
{{ include "penstock.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version }}
{{- end }}

{{- define "penstock.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ printf "%s@%s" .repository .digest }}{{ else }}{{ printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) }}{{ end }}
{{- end }}
{{- end }}

{{- define "penstock.secret" -}}
{{- $root := index . 0 -}}{{- $which := index . 1 -}}
{{- index $root.Values.secrets $which | default (printf "%s-%s" (include "penstock.name" $root) $which) }}
{{- end }}

{{/* The ports of all addresses in a url, or in a host:port, by comma; the standard one for each that names none. */}}
{{- define "penstock.ports" -}}
{{- $standard := index . 1 -}}{{- $ports := list -}}
{{- $hosts := index . 0 | regexFind "^([^/]*//)?[^/?]*" | splitList "/" | last | splitList "@" | last -}}
{{- range splitList "," $hosts }}{{ $ports = append $ports (regexFind ":[0-9]+$" . | trimPrefix ":" | default $standard) }}{{ end -}}
{{- $ports | uniq | join " " }}
{{- end }}

{{- define "penstock.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ .Values.pods.user }}
runAsGroup: {{ .Values.pods.user }}
# Mounted secrets belong to root and this group.
fsGroup: {{ .Values.pods.user }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "penstock.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "penstock.placement" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.pods.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.pods.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .Values.pods.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
# Else a Service named penstock-… becomes variables that look like settings.
enableServiceLinks: false
automountServiceAccountToken: false
{{- end }}
