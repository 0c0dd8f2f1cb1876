import { describe, expect, test } from 'vitest'
import { chart, kubernetes, NAMESPACE, noKubernetes, RELEASE, valuesFiles, valuesOf } from './chart.ts'
import { render } from './objects.ts'

describe.skipIf(noKubernetes)('what this Kubernetes says of the chart', () => {
  const cluster = kubernetes(0)
  const dryRun = (manifest: string) =>
    cluster().attempt(
      'kubectl',
      ['apply', '--dry-run=server', '--validate=strict', '--warnings-as-errors', `--namespace=${NAMESPACE}`, '-f', '-'],
      manifest,
    )

  test.each(valuesFiles)('%s is accepted, in a namespace for restricted pods, without a warning', async (file) => {
    expect(await cluster().helm('lint', '--strict', '--quiet', chart, ...valuesOf(file))).toBe('')
    const { code, stderr } = await dryRun(await render(cluster(), file))
    expect(stderr).toBe('')
    expect(code).toBe(0)
  })

  test.each([
    ['readinessProbe:', 'readynessProbe:', /unknown field ".*readynessProbe"/],
    ['runAsNonRoot: true', 'runAsNonRoot: false', /violate PodSecurity "restricted/],
    ['maxReplicaCount: 12', 'maxReplicaCount: many', /must be of type integer/],
    ['path: /metrics', 'paht: /metrics', /unknown field/],
  ])('the check finds what is wrong: "%s" as "%s"', async (right, wrong, complaint) => {
    const manifest = await render(cluster(), 'values-production.yaml')
    expect(manifest).toContain(right)
    const { code, stderr } = await dryRun(manifest.replace(right, wrong))
    expect(stderr).toMatch(complaint)
    expect(code).not.toBe(0)
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
  ])('values that are wrong are refused before anything is made: %s', async (value, complaint) => {
    const args = ['template', RELEASE, chart, '--set-string', value]
    const { code, stderr } = await cluster().attempt(
      'helm',
      value.startsWith('pods') || value.includes('enabled') ? args.with(3, '--set') : args,
    )
    expect(stderr).toMatch(complaint)
    expect(code).not.toBe(0)
  })
})
