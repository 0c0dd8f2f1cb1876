import { beforeAll, describe, expect, test } from 'vitest'
import { until } from '@penstock/testkit/until.ts'
import { chart, kubernetes, NAMESPACE, noKubernetes, RELEASE, valuesOf } from './chart.ts'

type List<T> = { readonly items: readonly T[] }
type Running = {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
  readonly spec: {
    readonly volumes: readonly { readonly projected?: object }[]
    readonly containers: readonly [
      { readonly image: string; readonly env: readonly { readonly name: string; readonly value?: string }[] },
    ]
  }
  readonly status: { readonly phase: string }
}
type Scaled = { readonly metadata: { readonly name: string }; readonly status: { readonly availableReplicas?: number } }
type Budget = { readonly metadata: { readonly name: string }; readonly status: { readonly disruptionsAllowed: number } }
type Secret = { readonly metadata: { readonly name: string }; readonly data: Readonly<Record<string, string>> }

const FIRST = 'registry.example/penstock:1'

// One story: each test goes on where the one before it has left the release.
describe.skipIf(noKubernetes)('a release', () => {
  const cluster = kubernetes(2)
  const values = [
    ...valuesOf('values-simulated.yaml'),
    '--set',
    'image.repository=registry.example/penstock,services.order.replicas=2',
    '--set',
    'migration.retries=0',
  ]
  const inNamespace = ['--namespace', NAMESPACE, '--timeout', '60s'] as const
  const upgrade = (...args: readonly string[]) => ['upgrade', RELEASE, chart, ...inNamespace, ...values, ...args]
  const list = async <T>(path: string): Promise<readonly T[]> => (await cluster().get<List<T>>(path)).items
  const pods = async () =>
    (await list<Running>(`/api/v1/namespaces/${NAMESPACE}/pods`)).filter(
      ({ metadata }) => metadata.labels['app.kubernetes.io/component'] !== 'migrate',
    )
  const image = async (): Promise<string> => [...new Set((await pods()).map(({ spec }) => spec.containers[0].image))].join()
  /** A pod that has to go is in the list for a moment. */
  const runs = (wanted: string) => until(`all pods have the image ${wanted}`, async () => (await image()) === wanted, 60_000)
  const secrets = async () => {
    const found = await list<Secret>(`/api/v1/namespaces/${NAMESPACE}/secrets`)
    return Object.fromEntries(
      found.filter(({ metadata }) => metadata.name.startsWith('penstock-')).map(({ metadata, data }) => [metadata.name, data]),
    )
  }

  beforeAll(async () => {
    if (noKubernetes) return
    // Nobody makes disks here.
    const disks = ['audit', 'simnet', 'sellers'].map((name) => ({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: { capacity: { storage: '2Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/nowhere' } },
    }))
    await cluster().kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: disks }))
  })

  test('is installed: all pods ready, secrets made, and its notes say how to reach it', async () => {
    const said = await cluster().helm(
      'install',
      RELEASE,
      chart,
      ...inNamespace,
      ...values,
      '--set-string',
      'image.tag=1',
      '--wait',
      '--wait-for-jobs',
    )
    expect(said).toContain('port-forward service/penstock-gateway')
    expect(said).toContain('Back it up now')
    const running = await pods()
    expect(running.map(({ status }) => status.phase).filter((phase) => phase !== 'Running')).toEqual([])
    expect(running).toHaveLength(11)
    await runs(FIRST)
    expect(
      Object.keys(await secrets())
        .filter((name) => !name.includes('helm'))
        .toSorted(),
    ).toEqual(['penstock-audit', 'penstock-gateway', 'penstock-keyring'])
    const keyring = JSON.parse(
      Buffer.from((await secrets())['penstock-keyring']?.['keyring.json'] ?? '', 'base64').toString(),
    ) as { keys: { a: string } } // made by the chart
    expect(keyring.keys.a).toMatch(/^[0-9a-f]{64}$/)
    for (const { spec } of running) expect(spec.volumes.filter(({ projected }) => projected)).toEqual([])
  })

  test.each(['settlement', 'gateway', 'migrate'])('the account of %s has no rights', async (name) => {
    const as = `--as=system:serviceaccount:${NAMESPACE}:penstock-${name}`
    for (const wish of [
      ['get', 'secrets'],
      ['list', 'pods'],
      ['create', 'pods'],
      ['update', 'deployments'],
    ]) {
      const { stdout } = await cluster().attempt('kubectl', ['auth', 'can-i', ...wish, as, `--namespace=${NAMESPACE}`])
      expect(`${wish.join(' ')}: ${stdout.trim()}`).toBe(`${wish.join(' ')}: no`)
    }
  })

  test('one replica at a time may be taken away, and none while one is missing', async () => {
    type Budgets = readonly Budget[]
    const allowed = (which: RegExp, times: number): Promise<Budgets> =>
      until(
        `${times} of ${which} may go`,
        async () => {
          const found = await list<Budget>(`/apis/policy/v1/namespaces/${NAMESPACE}/poddisruptionbudgets`)
          const meant = found.filter(({ metadata }) => which.test(metadata.name))
          return meant.every(({ status }) => status.disruptionsAllowed === times) ? meant : undefined
        },
        60_000,
      )
    expect(await allowed(/./, 1)).toHaveLength(7)
    const [first = '', second = ''] = (await pods())
      .map(({ metadata }) => metadata.name)
      .filter((name) => name.startsWith('penstock-order'))
    const evict = (name: string) =>
      cluster().attempt(
        'kubectl',
        ['create', '--raw', `/api/v1/namespaces/${NAMESPACE}/pods/${name}/eviction`, '-f', '-'],
        JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: NAMESPACE } }),
      )
    const isReady = (name: string, status: 'True' | 'False') => {
      const patch = JSON.stringify({ status: { conditions: [{ type: 'Ready', status }] } })
      return cluster().kubectl(['patch', 'pod', name, `--namespace=${NAMESPACE}`, '--subresource=status', '--patch', patch])
    }
    await isReady(first, 'False')
    await allowed(/order/, 0)
    expect((await evict(second)).stderr).toContain("would violate the pod's disruption budget")
    await isReady(first, 'True')
    await allowed(/order/, 1)
    expect(await evict(second)).toMatchObject({ code: 0 })
    await until(
      'another one is in its place, for all who count',
      async () => {
        const orders = (await pods()).filter(({ metadata }) => metadata.name.startsWith('penstock-order'))
        const sets = await list<Scaled>(`/apis/apps/v1/namespaces/${NAMESPACE}/replicasets`)
        const set = sets.find(({ metadata }) => metadata.name.startsWith('penstock-order'))
        const counted = [set?.status.availableReplicas, (await deployment('order')).status.availableReplicas]
        const isOther = orders.every(({ metadata, status }) => metadata.name !== second && status.phase === 'Running')
        return isOther && orders.length === 2 && counted.join() === '2,2'
      },
      60_000,
    )
  })

  test('is upgraded with never fewer replicas than were wished, and keeps its secrets', async () => {
    const before = await secrets()
    const isWhole = async (): Promise<boolean> => (await deployment('order')).status.availableReplicas === 2
    await until('both replicas are there again', isWhole, 60_000)
    const upgrading = cluster().helm(...upgrade('--set-string', 'image.tag=2', '--wait', '--wait-for-jobs'))
    let over = false
    void upgrading.finally(() => (over = true)).catch(() => undefined) // awaited below
    let least = 2
    await until(
      'the upgrade is over',
      async () => {
        least = Math.min(least, (await deployment('order')).status.availableReplicas ?? 0)
        return over
      },
      90_000,
    )
    await upgrading
    expect(least).toBe(2)
    await runs('registry.example/penstock:2')
    const after = await secrets()
    for (const name of ['penstock-keyring', 'penstock-gateway', 'penstock-audit']) expect(after[name]).toEqual(before[name])
  })
  const deployment = (name: string) => cluster().get<Scaled>(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments/penstock-${name}`)

  test('is stopped for a restore as the guide says, and started again, read-only', async () => {
    const ours = `app.kubernetes.io/instance=${RELEASE}`
    for (const which of [`${ours},app.kubernetes.io/component=gateway`, ours])
      await cluster().kubectl(['scale', 'deployment', '--replicas=0', `--selector=${which}`, `--namespace=${NAMESPACE}`])
    await until('no pod is left', async () => (await pods()).length === 0, 60_000)
    const again = ['--set-string', 'image.tag=2', '--wait', '--force-conflicts'] as const
    await cluster().helm(...upgrade(...again, '--set', 'restored=true'))
    const running = await pods()
    expect(running.map(({ spec }) => settingOf(spec.containers[0], 'PENSTOCK_RESTORED')).filter((told) => told !== '1')).toEqual(
      [],
    )
    expect(running).toHaveLength(11)
    await cluster().helm(...upgrade(...again))
    const isOver = async (): Promise<boolean> =>
      (await pods()).every(({ spec }) => settingOf(spec.containers[0], 'PENSTOCK_RESTORED') !== '1')
    await until('none is read-only any more', isOver, 60_000)
  })
  const settingOf = ({ env }: Running['spec']['containers'][0], wanted: string) => env.find(({ name }) => name === wanted)?.value

  test('an upgrade whose migration fails is taken back by itself, and nothing was touched', async () => {
    const { code, stderr } = await cluster().attempt('helm', upgrade('--set-string', 'image.tag=broken', '--rollback-on-failure'))
    expect(code).not.toBe(0)
    expect(stderr).toMatch(/pre-upgrade/)
    await runs('registry.example/penstock:2')
    expect((await pods()).filter(({ status }) => status.phase !== 'Running')).toEqual([])
    const history = await cluster().helm('history', RELEASE, '--namespace', NAMESPACE, '--output', 'json')
    const releases = JSON.parse(history) as readonly { readonly status: string; readonly description: string }[] // helm's own
    expect(releases.at(-1)).toMatchObject({ status: 'deployed', description: 'Rollback to 4' })
  })

  test('an installation whose migration fails makes no pods', async () => {
    const args = ['install', 'other', chart, ...inNamespace, ...values, '--set-string', 'image.tag=broken']
    const { code, stderr } = await cluster().attempt('helm', args)
    expect(code).not.toBe(0)
    expect(stderr).toMatch(/pre-install/)
    const deployments = await list<Scaled>(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments`)
    expect(deployments.filter(({ metadata }) => metadata.name.startsWith('other-'))).toEqual([])
  })

  test('is rolled back, and uninstalled but for keys and disks', async () => {
    await cluster().helm('rollback', RELEASE, '1', ...inNamespace, '--wait')
    await runs(FIRST)
    await cluster().helm('uninstall', RELEASE, ...inNamespace, '--wait')
    await until('no pod is left', async () => (await pods()).length === 0, 60_000)
    expect(Object.keys(await secrets())).toContain('penstock-keyring')
    const disks = await list<Scaled>(`/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`)
    expect(disks.map(({ metadata }) => metadata.name)).toContain('penstock-audit')
  })
})
