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
{{ include "penstock.rule" (list .Values.postgres.peers (include "penstock.ports" (list .Values.postgres.url "5432") | splitList " ")) }}
{{- with .Values.eventStore }}
{{- if .url }}
{{ include "penstock.rule" (list .peers (include "penstock.ports" (list .url (hasPrefix "postgres" .url | ternary "5432" "2113")) | splitList " ")) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "penstock.egress.cluster" -}}
{{ include "penstock.egress.postgres" . }}
{{ include "penstock.egress.kafka" . }}
{{- with .Values.telemetry }}
{{- if .url }}
{{ include "penstock.rule" (list .peers (include "penstock.ports" (list .url "4318") | splitList " ")) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "penstock.egress.kafka" -}}
{{ include "penstock.rule" (list .Values.kafka.peers (include "penstock.ports" (list (join "," .Values.kafka.brokers) "9092") | splitList " ")) }}
{{- with .Values.kafka.tokenUrl }}
{{ include "penstock.rule" (list list (include "penstock.ports" (list . (hasPrefix "http:" . | ternary "80" "443")) | splitList " ")) }}
{{- end }}
{{- end }}

{{/* To a process of this release. */}}
{{- define "penstock.egress.own" -}}
- ports: [{ protocol: TCP, port: http }]
  to:
    - podSelector:
        matchLabels: {{- include "penstock.selector" . | nindent 10 }}
{{- end }}

{{/* To public addresses, and so never into the cluster. */}}
{{- define "penstock.egress.internet" -}}
{{- $special := include "penstock.specialPurpose" . | fromYaml }}{{ $ipv4 := $special.ipv4 }}{{ $ipv6 := $special.ipv6 }}
{{- range .Values.webhooks.except }}
{{- if contains ":" . }}{{ $ipv6 = append $ipv6 . }}{{ else }}{{ $ipv4 = append $ipv4 . }}{{ end }}
{{- end -}}
- ports: [{ protocol: TCP, port: 443 }, { protocol: TCP, port: 1024, endPort: 65535 }]
  to:
    - ipBlock: { cidr: 0.0.0.0/0, except: {{ toJson $ipv4 }} }
    - ipBlock: { cidr: "2000::/3", except: {{ toJson $ipv6 }} }
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
