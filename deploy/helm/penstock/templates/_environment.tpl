{{/* Where the cluster's servers are. Passwords are files. Takes the root and the component's name. */}}
{{- define "penstock.environment.postgres" -}}
{{- $name := index . 1 }}{{ with index . 0 -}}
- { name: PENSTOCK_POSTGRES_URL, value: {{ .Values.postgres.url | quote }} }
{{- if .Values.postgres.roles.prefix }}
- { name: PENSTOCK_POSTGRES_ROLES, value: {{ .Values.postgres.roles.prefix | quote }} }
{{- if eq $name "migrate" }}
- { name: PENSTOCK_POSTGRES_ROLE_PASSWORDS, value: /run/secrets/postgres-roles }
- { name: PENSTOCK_POSTGRES_PASSWORD_FILE, value: {{ printf "/run/secrets/postgres/%s" .Values.postgres.passwordSecret.key | quote }} }
{{- else }}
- { name: PENSTOCK_POSTGRES_PASSWORD_FILE, value: {{ printf "/run/secrets/postgres/%s" $name | quote }} }
{{- end }}
{{- else }}
- { name: PENSTOCK_POSTGRES_PASSWORD_FILE, value: {{ printf "/run/secrets/postgres/%s" .Values.postgres.passwordSecret.key | quote }} }
{{- end }}
{{- with .Values.eventStore }}
{{- if .url }}
- { name: PENSTOCK_EVENT_STORE, value: {{ .url | quote }} }
{{- if .passwordSecret.name }}
- { name: PENSTOCK_EVENT_STORE_PASSWORD_FILE, value: {{ printf "/run/secrets/event-store/%s" .passwordSecret.key | quote }} }
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Takes the root and the component's name. */}}
{{- define "penstock.environment.kafka" -}}
{{- $name := index . 1 }}{{ with (index . 0).Values.kafka }}
{{- $own := and .users.prefix (ne $name "migrate") }}
- { name: PENSTOCK_KAFKA_BROKERS, value: {{ join "," .brokers | quote }} }
- { name: PENSTOCK_KAFKA_PREFIX, value: {{ .prefix | quote }} }
- { name: PENSTOCK_KAFKA_PARTITIONS, value: {{ .partitions | quote }} }
- { name: PENSTOCK_KAFKA_REPLICAS, value: {{ .replicas | quote }} }
{{- if .tls }}
- { name: PENSTOCK_KAFKA_TLS, value: "1" }
{{- if .tlsSecret }}
- { name: PENSTOCK_KAFKA_CA_FILE, value: /run/secrets/kafka-tls/ca.crt }
{{- end }}
{{- if .ownCertificate }}
- { name: PENSTOCK_KAFKA_CERT_FILE, value: /run/secrets/kafka-tls/tls.crt }
- { name: PENSTOCK_KAFKA_KEY_FILE, value: /run/secrets/kafka-tls/tls.key }
{{- end }}
{{- end }}
{{- if ne .sasl "none" }}
- { name: PENSTOCK_KAFKA_SASL, value: {{ .sasl }} }
{{- with .users.prefix }}
- { name: PENSTOCK_KAFKA_USERS, value: {{ . | quote }} }
{{- end }}
{{- if and .user (not $own) }}
- { name: PENSTOCK_KAFKA_USER, value: {{ .user | quote }} }
{{- end }}
{{- if $own }}
- { name: PENSTOCK_KAFKA_PASSWORD_FILE, value: {{ printf "/run/secrets/kafka/%s" $name | quote }} }
{{- else if .passwordSecret.name }}
- { name: PENSTOCK_KAFKA_PASSWORD_FILE, value: {{ printf "/run/secrets/kafka/%s" .passwordSecret.key | quote }} }
{{- end }}
{{- if .tokenSecret.name }}
- { name: PENSTOCK_KAFKA_TOKEN_FILE, value: {{ printf "/run/secrets/kafka-token/%s" .tokenSecret.key | quote }} }
{{- end }}
{{- end }}
{{- with .tokenUrl }}
- { name: PENSTOCK_KAFKA_TOKEN_URL, value: {{ . | quote }} }
{{- end }}
{{- end }}
{{- end }}

{{/* Takes the root, the component's name and what it is. */}}
{{- define "penstock.environment" -}}
{{- $root := index . 0 }}{{ $name := index . 1 }}{{ $it := index . 2 }}{{ $full := include "penstock.name" $root -}}
- { name: PENSTOCK_HOST, value: 0.0.0.0 }
- { name: PENSTOCK_HEALTH_PORT, value: "9090" }
- { name: PENSTOCK_DATA_DIR, value: /var/lib/penstock }
- { name: PENSTOCK_LOG_LEVEL, value: {{ $root.Values.logLevel }} }
- name: PENSTOCK_INSTANCE
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- { name: PENSTOCK_RESTORED, value: {{ ternary "1" "0" $root.Values.restored | quote }} }
- { name: PENSTOCK_LIGHTNING, value: {{ $root.Values.lightning.mode }} }
{{- if and $it.lightning (eq $root.Values.lightning.mode "simulated") }}
- { name: PENSTOCK_SIMNET_URL, value: {{ printf "http://%s-simnet:8080" $full | quote }} }
{{- end }}
{{- if and $it.lightning (eq $root.Values.lightning.mode "lnd") }}
- { name: PENSTOCK_LND_SOCKET, value: {{ $root.Values.lightning.lnd.address | quote }} }
- { name: PENSTOCK_LND_CERT_FILE, value: /run/secrets/lnd/tls.cert }
- { name: PENSTOCK_LND_MACAROON_FILE, value: /run/secrets/lnd/macaroon }
- { name: PENSTOCK_NETWORK, value: {{ $root.Values.lightning.lnd.network }} }
{{- with $root.Values.lightning.bitcoind }}
{{- if .url }}
- { name: PENSTOCK_BITCOIND_URL, value: {{ .url | quote }} }
{{- if .passwordSecret.name }}
- { name: PENSTOCK_BITCOIND_PASSWORD_FILE, value: {{ printf "/run/secrets/bitcoind/%s" .passwordSecret.key | quote }} }
{{- end }}
{{- if .certSecret }}
- { name: PENSTOCK_BITCOIND_CERT_FILE, value: /run/secrets/bitcoind-cert/tls.cert }
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if $it.keyring }}
- { name: PENSTOCK_KEYRING_DIR, value: /run/secrets/keyring }
{{- end }}
{{- if eq (toString $it.vault) "vault.json" }}
- { name: PENSTOCK_VAULT_FILE, value: /run/secrets/vault/vault.json }
{{- else if $it.vault }}
- { name: PENSTOCK_VAULT_PUBLIC_FILE, value: /run/secrets/vault/vault.pub.json }
{{- end }}
{{- if eq $name "simnet" }}
- { name: PENSTOCK_SIM_BLOCK_SECONDS, value: {{ $root.Values.lightning.blockSeconds | quote }} }
{{- end }}
{{- with $it.port }}
- { name: PORT, value: {{ . | quote }} }
{{- end }}
{{- if $it.cluster }}
{{ include "penstock.environment.postgres" (list $root $name) | trim }}
{{ include "penstock.environment.kafka" (list $root $name) | trim }}
{{- with $root.Values.telemetry.url }}
- { name: PENSTOCK_OTLP_URL, value: {{ . | quote }} }
{{- end }}
{{- end }}
{{- if $it.audit }}
- { name: PENSTOCK_AUDIT_URL, value: {{ printf "http://%s-audit:8080" $full | quote }} }
- { name: PENSTOCK_PUBLIC_URL, value: {{ $root.Values.url | default (printf "http://%s-gateway.%s.svc:%v" $full $root.Release.Namespace $root.Values.gateway.service.port) | quote }} }
- { name: PENSTOCK_TRUST_PROXY, value: {{ $root.Values.gateway.trustedProxies | quote }} }
{{- end }}
{{- if $it.market }}
- { name: PENSTOCK_MARKET_URL, value: {{ printf "http://%s-gateway:%v" $full $root.Values.gateway.service.port | quote }} }
{{- end }}
{{- if $it.operator }}
- { name: PENSTOCK_OPERATOR_TOKEN_FILE, value: /run/secrets/operator/operator.token }
{{- end }}
{{- include "penstock.environment.settings" $root }}
{{- end }}

{{/* All processes have the same. */}}
{{- define "penstock.environment.settings" -}}
{{- range $setting, $value := .Values.settings }}
- { name: {{ $setting }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}
