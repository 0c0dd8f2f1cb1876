import { contracts } from '../packages/contracts/src/contracts.ts'
import { sendersOf } from '../packages/contracts/src/define.ts'
import type { MacaroonRole } from '../packages/ports/src/macaroon-role.ts'
import { ADDITIONAL_IPV4, IPV4_REGISTRY, IPV6_GLOBAL_UNICAST, IPV6_REGISTRY } from '../packages/outbound/src/special-purpose.ts'
import { needsExternalWorld, type ServiceManifest } from '../packages/runtime/src/manifest.ts'
import { AUDIT_NAME, loginNames, services, streamServices } from '../services/standalone/src/registry.ts'
import { type GeneratedFiles, readText, replaceBlock } from './generated-files.ts'

const manifests: readonly ServiceManifest[] = services
const workers: readonly ServiceManifest[] = streamServices
const names = manifests.map(({ name }) => name)

/** Whether a service calls the public addresses of webhook endpoints, which strangers choose. */
const callsWebhooks = ({ needs }: ServiceManifest): boolean => needs.includes('postWebhook')
const hasKeyring = ({ needs }: ServiceManifest): boolean => needs.includes('keyring')

const MACAROONS: Readonly<Record<MacaroonRole, string>> = {
  reader: 'the read-only macaroon',
  settlement: 'the macaroon that settles and pays out',
  'channel-watcher': '**a macaroon that can spend** (`SendToRouteV2`)',
  'seller-agent': 'the macaroon that opens channels',
}

/** Renders every part of the deployment and of the guides that depends on the list of services. */
export function renderServiceFiles(): GeneratedFiles {
  const files = new Map([['deploy/helm/penstock/templates/_services.tpl', renderChartServices()]])
  for (const [path, lines] of Object.entries(listBlocks()))
    files.set(
      path,
      Object.entries(lines).reduce((text, [name, block]) => replaceBlock(text, name, block), readText(path)),
    )
  return files
}

/** The lines of each generated block, by the file's path and the block's name. */
const listBlocks = (): Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> => ({
  'docker-compose.yml': {
    'role passwords': loginNames.map((name) => `      - role-${name}:/run/secrets/roles/${name}`),
    'readable role passwords': loginNames.map((name) => `      - role-${name}:/run/secrets/roles/${name}:ro`),
    services: workers.flatMap(renderComposeService),
    'services before the gateway': workers.map(({ name }) => `      ${name}: { condition: service_healthy }`),
    'role volumes': loginNames.map((name) => `  role-${name}: {}`),
  },
  'test/deploy/containers/override.yml': { services: workers.map(({ name }) => `  ${name}: *ours`) },
  'deploy/docker/Dockerfile': { roles: loginNames.map((name) => `    /run/secrets/roles/${name} \\`) },
  'deploy/docker/prometheus.yml': { names: [`        names: [${[...loginNames, 'simnet'].join(', ')}]`] },
  'deploy/dashboards/penstock.rules.yml': { 'missing services': [`        expr: ${loginNames.map(renderMissing).join(' or ')}`] },
  'test/observability/rules.test.yml': {
    'running services': loginNames.filter((name) => name !== 'order' && name !== 'settlement').map(renderRunningSeries),
    'missing services': loginNames.toSorted().flatMap(renderMissingAlert),
  },
  'deploy/helm/penstock/values.yaml': { services: workers.flatMap(renderWorkerValues) },
  'deploy/helm/penstock/values-production.yaml': {
    services: workers
      .filter(({ scaling }) => scaling.by === 'lag')
      .map(({ name }) => `  ${name}: { scaling: { by: lag, min: 2, max: 12 } }`),
  },
  'deploy/helm/penstock/values-small.yaml': { services: workers.map(({ name }) => `  ${name}: *one`) },
  'deploy/helm/penstock/values-simulated.yaml': { services: names.map((name) => `  ${name}: { replicas: 1 }`) },
  'docs/guides/install.md': {
    services: ['', ...renderTable(['service', 'may call', 'mounts'], manifests.map(renderInstallRow)), ''],
  },
  'docs/guides/scale.md': { services: ['', ...renderTable(['service', '`scaling.by`', 'why'], renderScaleRows()), ''] },
  'docs/guides/backup.md': { services: [`   docker compose stop ${[...workers.map(({ name }) => name), AUDIT_NAME].join(' ')}`] },
})

function renderComposeService(manifest: ServiceManifest): readonly string[] {
  const { name, needs } = manifest
  const reachesInternet = callsWebhooks(manifest)
  const volumes = [
    `role-${name}:/run/secrets/own:ro`,
    ...(hasKeyring(manifest) ? ['keyring:/var/lib/penstock'] : []),
    ...(needs.includes('opener') ? ['vault:/run/secrets/vault:ro'] : []),
  ]
  return [
    `  ${name}:`,
    '    <<: *penstock',
    `    command: [services/${name}/src/main.ts]`,
    ...(hasKeyring(manifest) ? ['    tmpfs: [/tmp]'] : []),
    `    volumes: [${volumes.join(', ')}]`,
    ...(reachesInternet ? ['    networks: [inside, outside]'] : []),
  ]
}

/** Renders the expression of a release, or a Prometheus without releases, in which no process reports the component. */
function renderMissing(name: string): string {
  const running = `penstock_component_running{component="${name}"}`
  const up = 'up{job=~".*penstock.*"}'
  const releases = 'count by (namespace, release)'
  return `label_replace(${releases} (${up}) unless ${releases} (${running}), "component", "${name}", "", "") or (absent(${running}) unless on () ${up})`
}

const renderRunningSeries = (name: string): string =>
  `      - { series: 'penstock_component_running{component="${name}"}', values: '1x20' }`

const renderMissingAlert = (name: string): readonly string[] => [
  `          - exp_labels: { severity: critical, component: ${name} }`,
  '            exp_annotations:',
  '              {',
  `                summary: No process reports that it runs ${name}.,`,
  "                description: 'Start the missing service. Start settlement first, because only settlement guards the held payments.',",
  '                runbook_url: docs/guides/alerts.md#penstockservicemissing,',
  '              }',
]

function renderWorkerValues({ name }: ServiceManifest, index: number): readonly string[] {
  if (index > 0) return [`  ${name}: *worker`]
  return [
    `  ${name}: &worker`,
    '    replicas: 2',
    '    resources:',
    '      requests: { cpu: 100m, memory: 192Mi }',
    '      limits: { memory: 512Mi }',
    '    scaling: { by: none, min: 2, max: 6, cpuPercent: 70, lag: 50 }',
  ]
}

const renderChartServices = (): string => `{{/* Written by "npm run generate" from the manifests of the services. */}}
{{- define "penstock.services" -}}
${manifests.map((manifest) => `${manifest.name}: { ${listChartFields(manifest).join(', ')} }`).join('\n')}
{{- end }}

{{/* Addresses that are not public, as an exception from 0.0.0.0/0 and from ${IPV6_GLOBAL_UNICAST}. */}}
{{- define "penstock.specialPurpose" -}}
ipv4: [${[...IPV4_REGISTRY, ...ADDITIONAL_IPV4].map(({ prefix }) => prefix).join(', ')}]
ipv6: [${IPV6_REGISTRY.flatMap(({ prefix }) => (/^[23][0-9a-f]{3}:/.test(prefix) ? `"${prefix}"` : [])).join(', ')}]
{{- end }}
`

function listChartFields(manifest: ServiceManifest): readonly string[] {
  const { name, needs, macaroon = 'reader', isPublic = false } = manifest
  const reachesInternet = callsWebhooks(manifest)
  const owned = contracts.filter(({ owner }) => owner === name)
  const senders = [...new Set(owned.flatMap(sendersOf))]
  return [
    `script: services/${name}/src/main.ts`,
    'cluster: true',
    ...(needsExternalWorld(manifest) ? ['lightning: true', `macaroon: ${macaroon}`] : []),
    ...(needs.includes('rates') ? ['rates: true'] : []),
    ...(needs.includes('keyring') ? ['keyring: true'] : []),
    ...(needs.includes('opener') ? ['vault: vault.json'] : []),
    ...(needs.includes('sealer') ? ['vault: vault.pub.json'] : []),
    ...(reachesInternet ? ['internet: true'] : []),
    ...(senders.length > 0 ? [`senders: [${senders.join(', ')}]`] : []),
    ...(isPublic ? ['audit: true', 'port: 8080', 'operator: true'] : []),
  ]
}

const renderTable = (head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |'))

function renderInstallRow(manifest: ServiceManifest): readonly string[] {
  const { name, needs, macaroon = 'reader', isPublic = false } = manifest
  const reachesInternet = callsWebhooks(manifest)
  const hasLightning = needsExternalWorld(manifest)
  const calls = [
    'servers',
    ...(hasLightning ? ['Lightning network'] : []),
    ...(isPublic ? ['audit'] : []),
    ...(reachesInternet ? ['public addresses, by port 443 and from 1024 up'] : []),
  ].join(', ')
  const rates = needs.includes('rates') ? '; with lnd the sources of the dollar rate, by port 443' : ''
  const mounts = [
    ...(isPublic ? ["operators' token, pepper"] : []),
    ...(needs.includes('keyring') ? ['**keyring**'] : []),
    ...(needs.includes('opener') ? ['**private keys of the vault**'] : []),
    ...(needs.includes('sealer') ? ['public keys of the vault'] : []),
    ...(hasLightning ? [`with lnd ${MACAROONS[macaroon]}`] : []),
  ]
  return [name, calls + rates, mounts.join('; ')]
}

/** Renders one row for all services that scale by the same metric for the same reason. */
function renderScaleRows(): readonly (readonly string[])[] {
  const byScaling = Map.groupBy(manifests, ({ scaling: { by, reason } }) => `${by} ${reason}`)
  return [...byScaling.values()].map((group) => {
    const { by, reason } = group[0]!.scaling // a group has a member
    return [group.map(({ name }) => name).join(', '), by === 'lag' ? '`lag` (KEDA) or `cpu`' : `\`${by}\``, reason]
  })
}
