{{/* Written by "npm run generate" from the manifests of the services. */}}
{{- define "penstock.services" -}}
quote: { script: services/quote/src/main.ts, cluster: true, lightning: true, macaroon: reader, rates: true, senders: [gateway] }
order: { script: services/order/src/main.ts, cluster: true, lightning: true, macaroon: reader, senders: [quote, gateway] }
matching: { script: services/matching/src/main.ts, cluster: true, lightning: true, macaroon: reader, senders: [gateway, order] }
settlement: { script: services/settlement/src/main.ts, cluster: true, lightning: true, macaroon: settlement, keyring: true, senders: [order, gateway] }
channel-watcher: { script: services/channel-watcher/src/main.ts, cluster: true, lightning: true, macaroon: channel-watcher, senders: [order] }
accounts: { script: services/accounts/src/main.ts, cluster: true, senders: [gateway] }
payments: { script: services/payments/src/main.ts, cluster: true, senders: [gateway] }
gateway: { script: services/gateway/src/main.ts, cluster: true, lightning: true, macaroon: reader, audit: true, port: 8080, operator: true }
{{- end }}
