{{/* Written by "npm run generate" from the manifests of the services. */}}
{{- define "penstock.services" -}}
quote: { script: services/quote/src/main.ts, cluster: true, lightning: true, macaroon: reader, rates: true, senders: [gateway] }
order: { script: services/order/src/main.ts, cluster: true, lightning: true, macaroon: reader, senders: [quote, gateway] }
matching: { script: services/matching/src/main.ts, cluster: true, lightning: true, macaroon: reader, senders: [gateway, order] }
settlement: { script: services/settlement/src/main.ts, cluster: true, lightning: true, macaroon: settlement, keyring: true, senders: [order, gateway] }
channel-watcher: { script: services/channel-watcher/src/main.ts, cluster: true, lightning: true, macaroon: channel-watcher, senders: [order] }
accounts: { script: services/accounts/src/main.ts, cluster: true, senders: [gateway] }
payments: { script: services/payments/src/main.ts, cluster: true, vault: vault.json, internet: true, senders: [gateway] }
gateway: { script: services/gateway/src/main.ts, cluster: true, lightning: true, macaroon: reader, vault: vault.pub.json, audit: true, port: 8080, operator: true }
{{- end }}

{{/* Addresses that are not public, as an exception from 0.0.0.0/0 and from 2000::/3. */}}
{{- define "penstock.specialPurpose" -}}
ipv4: [0.0.0.0/8, 0.0.0.0/32, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24, 192.0.0.0/29, 192.0.0.8/32, 192.0.0.9/32, 192.0.0.10/32, 192.0.0.170/32, 192.0.0.171/32, 192.0.2.0/24, 192.31.196.0/24, 192.52.193.0/24, 192.88.99.0/24, 192.88.99.2/32, 192.168.0.0/16, 192.175.48.0/24, 198.18.0.0/15, 198.51.100.0/24, 203.0.113.0/24, 240.0.0.0/4, 255.255.255.255/32, 224.0.0.0/4, 168.63.129.16/32]
ipv6: ["2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"]
{{- end }}
