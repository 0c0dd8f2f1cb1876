{{/*
Secrets are files, and each process mounts its own only. Takes the root, the component's name and what it is; `mounts` and
`volumes` go together.
*/}}
{{- define "penstock.mounts" -}}
{{- $root := index . 0 }}{{ $name := index . 1 }}{{ $it := index . 2 -}}
- { name: data, mountPath: /var/lib/penstock }
- { name: tmp, mountPath: /tmp }
{{- if $it.cluster }}
{{ include "penstock.mounts.cluster" $root | trim }}
{{- end }}
{{- if $it.operator }}
- { name: operator, mountPath: /run/secrets/operator, readOnly: true }
{{- end }}
{{- if eq $name "gateway" }}
- { name: pepper, mountPath: /var/lib/penstock/pepper, subPath: pepper, readOnly: true }
{{- end }}
{{- if and $it.lightning (eq $root.Values.lightning.mode "lnd") }}
- { name: lnd, mountPath: /run/secrets/lnd, readOnly: true }
{{- if $root.Values.lightning.bitcoind.passwordSecret.name }}
- { name: bitcoind, mountPath: /run/secrets/bitcoind, readOnly: true }
{{- end }}
{{- if $root.Values.lightning.bitcoind.certSecret }}
- { name: bitcoind-cert, mountPath: /run/secrets/bitcoind-cert, readOnly: true }
{{- end }}
{{- end }}
{{- if $it.keyring }}
{{- /* As a folder: a file that is mounted by subPath never follows its Secret. */}}
- { name: keyring, mountPath: /run/secrets/keyring, readOnly: true }
{{- end }}
{{- if $it.vault }}
- { name: vault, mountPath: /run/secrets/vault, readOnly: true }
{{- end }}
{{- if eq $name "audit" }}
- { name: audit-key, mountPath: /var/lib/penstock/audit.key, subPath: audit.key, readOnly: true }
{{- end }}
{{- end }}

{{- define "penstock.mounts.postgres" -}}
- { name: postgres, mountPath: /run/secrets/postgres, readOnly: true }
{{- if .Values.postgres.caSecret }}
- { name: postgres-ca, mountPath: /run/secrets/postgres-ca, readOnly: true }
{{- end }}
{{- if .Values.eventStore.passwordSecret.name }}
- { name: event-store, mountPath: /run/secrets/event-store, readOnly: true }
{{- end }}
{{- if .Values.eventStore.caSecret }}
- { name: event-store-ca, mountPath: /run/secrets/event-store-ca, readOnly: true }
{{- end }}
{{- end }}

{{- define "penstock.mounts.cluster" -}}
{{ include "penstock.mounts.postgres" . }}
{{- include "penstock.mounts.kafka" . }}
{{- end }}

{{- define "penstock.mounts.kafka" -}}
{{- if .Values.kafka.tlsSecret }}
- { name: kafka-tls, mountPath: /run/secrets/kafka-tls, readOnly: true }
{{- end }}
{{- if or .Values.kafka.passwordSecret.name .Values.kafka.users.prefix }}
- { name: kafka, mountPath: /run/secrets/kafka, readOnly: true }
{{- end }}
{{- if .Values.kafka.tokenSecret.name }}
- { name: kafka-token, mountPath: /run/secrets/kafka-token, readOnly: true }
{{- end }}
{{- end }}

{{/* Takes the root and the component's name: where services have roles, each mounts the password of its own. */}}
{{- define "penstock.volumes.postgres" -}}
{{- $name := index . 1 }}{{ with index . 0 -}}
{{- $own := and .Values.postgres.roles.prefix (ne $name "migrate") }}
{{- $secret := ternary .Values.postgres.roles.passwordsSecret .Values.postgres.passwordSecret.name (not (empty $own)) }}
{{- $key := ternary $name .Values.postgres.passwordSecret.key (not (empty $own)) -}}
- name: postgres
  secret: { secretName: {{ $secret }}, defaultMode: 0440, items: [{ key: {{ $key }}, path: {{ $key }} }] }
{{- if and .Values.postgres.roles.prefix (eq $name "migrate") }}
- name: postgres-roles
  secret: { secretName: {{ .Values.postgres.roles.passwordsSecret }}, defaultMode: 0440 }
{{- end }}
{{- with .Values.postgres.caSecret }}
- name: postgres-ca
  secret: { secretName: {{ . }}, defaultMode: 0440, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- with .Values.eventStore.passwordSecret }}
{{- if .name }}
- name: event-store
  secret: { secretName: {{ .name }}, defaultMode: 0440, items: [{ key: {{ .key }}, path: {{ .key }} }] }
{{- end }}
{{- end }}
{{- with .Values.eventStore.caSecret }}
- name: event-store-ca
  secret: { secretName: {{ . }}, defaultMode: 0440, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- end }}
{{- end }}

{{/* Takes the root and the component's name: where services have users, each mounts the password of its own. */}}
{{- define "penstock.volumes.kafka" -}}
{{- $name := index . 1 }}{{ with index . 0 -}}
{{- $own := and .Values.kafka.users.prefix (ne $name "migrate") -}}
{{- with .Values.kafka.tlsSecret }}
- name: kafka-tls
  secret: { secretName: {{ . }}, defaultMode: 0440 }
{{- end }}
{{- if $own }}
- name: kafka
  secret: { secretName: {{ .Values.kafka.users.passwordsSecret }}, defaultMode: 0440, items: [{ key: {{ $name }}, path: {{ $name }} }] }
{{- else }}
{{- with .Values.kafka.passwordSecret }}
{{- if .name }}
- name: kafka
  secret: { secretName: {{ .name }}, defaultMode: 0440, items: [{ key: {{ .key }}, path: {{ .key }} }] }
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.kafka.tokenSecret }}
{{- if .name }}
- name: kafka-token
  secret: { secretName: {{ .name }}, defaultMode: 0440, items: [{ key: {{ .key }}, path: {{ .key }} }] }
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "penstock.volumes" -}}
{{- $root := index . 0 }}{{ $name := index . 1 }}{{ $it := index . 2 }}{{ $full := include "penstock.name" $root -}}
{{- if $it.single }}
- name: data
  persistentVolumeClaim: { claimName: {{ printf "%s-%s" $full $name }} }
{{- else }}
- name: data
  emptyDir: { sizeLimit: 64Mi }
{{- end }}
- name: tmp
  emptyDir: { sizeLimit: 64Mi }
{{- if $it.cluster }}
{{ include "penstock.volumes.postgres" (list $root $name) | trim }}
{{- with include "penstock.volumes.kafka" (list $root $name) | trim }}
{{ . }}
{{- end }}
{{- end }}
{{- if $it.operator }}
- name: operator
  secret: { secretName: {{ include "penstock.secret" (list $root "gateway") }}, defaultMode: 0440, items: [{ key: operator.token, path: operator.token }] }
{{- end }}
{{- if eq $name "gateway" }}
- name: pepper
  secret: { secretName: {{ include "penstock.secret" (list $root "gateway") }}, defaultMode: 0440, items: [{ key: pepper, path: pepper }] }
{{- end }}
{{- if and $it.lightning (eq $root.Values.lightning.mode "lnd") }}
- name: lnd
  projected:
    defaultMode: 0440
    sources:
      - secret: { name: {{ $root.Values.lightning.lnd.certSecret }}, items: [{ key: tls.cert, path: tls.cert }] }
      - secret: { name: {{ index $root.Values.lightning.lnd.macaroonSecrets $it.macaroon | required (printf "Set lightning.lnd.macaroonSecrets.%s to the Secret with the macaroon of %s." $it.macaroon $name) }}, items: [{ key: macaroon, path: macaroon }] }
{{- with $root.Values.lightning.bitcoind.passwordSecret }}
{{- if .name }}
- name: bitcoind
  secret: { secretName: {{ .name }}, defaultMode: 0440, items: [{ key: {{ .key }}, path: {{ .key }} }] }
{{- end }}
{{- end }}
{{- with $root.Values.lightning.bitcoind.certSecret }}
- name: bitcoind-cert
  secret: { secretName: {{ . }}, defaultMode: 0440, items: [{ key: tls.cert, path: tls.cert }] }
{{- end }}
{{- end }}
{{- if $it.keyring }}
- name: keyring
  secret: { secretName: {{ include "penstock.secret" (list $root "keyring") }}, defaultMode: 0440, items: [{ key: keyring.json, path: keyring.json }] }
{{- end }}
{{- if $it.vault }}
- name: vault
  secret: { secretName: {{ include "penstock.secret" (list $root "vault") }}, defaultMode: 0440, items: [{ key: {{ $it.vault }}, path: {{ $it.vault }} }] }
{{- end }}
{{- if eq $name "audit" }}
- name: audit-key
  secret: { secretName: {{ include "penstock.secret" (list $root "audit") }}, defaultMode: 0440, items: [{ key: audit.key, path: audit.key }] }
{{- end }}
{{- end }}
