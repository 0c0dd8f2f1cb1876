import { describe, expect, test } from 'vitest'
import {
  CHART_FOLDER,
  useKubernetes,
  CHART_NAMESPACE,
  isKubernetesMissing,
  CHART_RELEASE,
  valuesFiles,
  getValuesArgs,
} from './chart.ts'
import { renderChart } from './objects.ts'

describe.skipIf(isKubernetesMissing)('the chart in a dry run at a Kubernetes API server', () => {
  const cluster = useKubernetes(0)
  const dryRun = (manifest: string) =>
    cluster().attempt(
      'kubectl',
      ['apply', '--dry-run=server', '--validate=strict', '--warnings-as-errors', `--namespace=${CHART_NAMESPACE}`, '-f', '-'],
      manifest,
    )

  test.each(valuesFiles)('%s is accepted without a warning in a namespace for restricted pods', async (file) => {
    expect(await cluster().helm('lint', '--strict', '--quiet', CHART_FOLDER, ...getValuesArgs(file))).toBe('')
    const { code, stderr } = await dryRun(await renderChart(cluster(), file))
    expect(stderr).toBe('')
    expect(code).toBe(0)
  })

  test.each([
    ['readinessProbe:', 'readynessProbe:', /unknown field ".*readynessProbe"/],
    ['runAsNonRoot: true', 'runAsNonRoot: false', /violate PodSecurity "restricted/],
    ['maxReplicaCount: 12', 'maxReplicaCount: many', /must be of type integer/],
    ['path: /metrics', 'paht: /metrics', /unknown field/],
  ])('the dry run rejects a manifest in which "%s" is replaced by "%s"', async (original, replacement, complaint) => {
    const manifest = await renderChart(cluster(), 'values-production.yaml')
    expect(manifest).toContain(original)
    const { code, stderr } = await dryRun(manifest.replace(original, replacement))
    expect(stderr).toMatch(complaint)
    expect(code).not.toBe(0)
  })

  test('a run that does not see the cluster makes no Secret, and names the values that it needs', async () => {
    const render = (names: string) => cluster().attempt('helm', ['template', CHART_RELEASE, CHART_FOLDER, '--set', names])
    const allNames = 'secrets.gateway=a,secrets.keyring=b,secrets.audit=c,secrets.vault=d'
    const refused = await render('logLevel=info')
    expect(refused.code).not.toBe(0)
    expect(refused.stdout).toBe('')
    expect(refused.stderr).toMatch(/name them in secrets.gateway, secrets.keyring, secrets.audit, secrets.vault, or use helm/)
    expect((await render(allNames.replace('=b', '='))).stderr).toMatch(/name them in secrets.keyring, or/)
    const rendered = await render(allNames)
    expect(rendered.code).toBe(0)
    expect(rendered.stdout).toContain('kind: Deployment')
    expect(rendered.stdout).not.toContain('kind: Secret')
  })

  test('a run that sees the cluster makes the Secrets, also in a namespace that does not exist yet', async () => {
    const render = (namespace: string) =>
      cluster().helm('template', CHART_RELEASE, CHART_FOLDER, '--dry-run=server', '--namespace', namespace)
    for (const namespace of [CHART_NAMESPACE, 'new']) expect((await render(namespace)).match(/kind: Secret$/gm)).toHaveLength(4)
  })

  test.each([
    ['settings.PENSTOCK_MAX_ATEMPTS=3', /PENSTOCK_MAX_ATEMPTS/],
    ['settings.PENSTOCK_OPERATOR_TOKEN=x', /PENSTOCK_OPERATOR_TOKEN/],
    ['services.order.replica=3', /replica/],
    ['postgres.url=postgres://penstock:secret@postgres/penstock', /postgres\/url|postgres\.url/],
    ['eventStore.url=kurrentdb://admin:changeit@kurrentdb:2113', /eventStore\/url|eventStore\.url/],
    ['services.gateway.scaling.by=lag', /scaling/],
    ['pods.user=0', /user/],
    ['gateway.ingress.enabled=true', /host/],
    ['keyring=mine', /keyring/],
    ['kafka.sasl=scram-sha-512', /kafka/],
    ['kafka.sasl=scram-sha-512,kafka.user=penstock', /passwordSecret/],
    ['kafka.users.prefix=penstock_', /passwordsSecret/],
    ['kafka.users.prefix=penstock_,kafka.users.passwordsSecret=x', /kafka/],
    ['kafka.sasl=oauthbearer', /kafka/],
    ['kafka.sasl=oauthbearer,kafka.tokenUrl=https://log.in', /kafka/],
    [
      'kafka.sasl=oauthbearer,kafka.tokenUrl=https://log.in,kafka.tokenSecret.name=x,kafka.user=u,kafka.passwordSecret.name=y',
      /kafka/,
    ],
  ])('helm rejects wrong values before it renders any object: %s', async (value, complaint) => {
    const args = ['template', CHART_RELEASE, CHART_FOLDER, '--set-string', value]
    const { code, stderr } = await cluster().attempt(
      'helm',
      value.startsWith('pods') || value.includes('enabled') ? args.with(3, '--set') : args,
    )
    expect(stderr).toMatch(complaint)
    expect(code).not.toBe(0)
  })
})
