{{/* Whom a process may call. `peers` of the values: empty is anywhere, on that port alone. */}}
{{- define "penstock.rule" -}}
- ports: [{{ range $i, $port := index . 1 }}{{ if $i }}, {{ end }}{ protocol: TCP, port: {{ $port }} }{{ end }}]
  {{- with index . 0 }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "penstock.egress.dns" -}}
- ports: [{ protocol: UDP, port: 53 }, { protocol: TCP, port: 53 }]
  {{- with .Values.dns.peers }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "penstock.egress.postgres" -}}
{{ include "penstock.egress.dns" . }}
{{ include "penstock.rule" (list .Values.postgres.peers (list (include "penstock.port" (list .Values.postgres.url "5432")))) }}
{{- with .Values.eventStore }}
{{- if .url }}
{{ include "penstock.rule" (list .peers (list (include "penstock.port" (list .url (hasPrefix "postgres" .url | ternary "5432" "2113"))))) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "penstock.egress.cluster" -}}
{{ include "penstock.egress.postgres" . }}
{{- $ports := list }}
{{- range .Values.kafka.brokers }}{{ $ports = append $ports (include "penstock.port" (list . "9092")) }}{{ end }}
{{ include "penstock.rule" (list .Values.kafka.peers ($ports | uniq)) }}
{{- with .Values.kafka.tokenUrl }}
{{ include "penstock.rule" (list list (list (include "penstock.port" (list . "443")))) }}
{{- end }}
{{- with .Values.telemetry }}
{{- if .url }}
{{ include "penstock.rule" (list .peers (list (include "penstock.port" (list .url "4318")))) }}
{{- end }}
{{- end }}
{{- end }}

{{/* To a process of this release. */}}
{{- define "penstock.egress.own" -}}
- ports: [{ protocol: TCP, port: http }]
  to:
    - podSelector:
        matchLabels: {{- include "penstock.selector" . | nindent 10 }}
{{- end }}

{{/* Processes of this release that call one: all whose description has the word. */}}
{{- define "penstock.callers" -}}
{{- $root := index . 0 }}{{ $word := index . 1 }}{{ $found := list }}
{{- range $name, $it := include "penstock.components" $root | fromYaml }}
{{- if index $it $word }}{{ $found = append $found $name }}{{ end }}
{{- end }}
{{- if $found -}}
- ports: [{ protocol: TCP, port: http }]
  from:
    - podSelector:
        matchLabels: {{- include "penstock.selector" (list $root "") | nindent 10 }}
        matchExpressions:
          - { key: app.kubernetes.io/component, operator: In, values: {{ toJson $found }} }
{{- end }}
{{- end }}
