import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileOpener, fileSealer } from '@penstock/adapters/system/vault.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { CHART_FOLDER, useKubernetes, CHART_NAMESPACE, isKubernetesMissing, CHART_RELEASE, getValuesArgs } from './chart.ts'

type List<T> = { readonly items: readonly T[] }
type Pod = {
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

/** Seals a secret with the public keys of the chart's vault, and opens it with the private keys. */
async function sealAndOpen(secret: Secret['data']): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'vault-'))
  try {
    const path = (name: string): string => {
      writeFileSync(join(folder, name), Buffer.from(secret[name] ?? '', 'base64'), { mode: 0o600 })
      return join(folder, name)
    }
    const sealed = await fileSealer(path('vault.pub.json')).seal('record', 'webhook-secret', 'whsec_secret')
    return await fileOpener(path('vault.json')).open('record', 'webhook-secret', sealed)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const FIRST = 'registry.example/penstock:1'

// The tests run in this order on one release: each test continues from the state of the previous test.
describe.skipIf(isKubernetesMissing)('a release', () => {
  const cluster = useKubernetes(2)
  const values = [
    ...getValuesArgs('values-simulated.yaml'),
    '--set',
    'image.repository=registry.example/penstock,services.order.replicas=2',
    '--set',
    'migration.retries=0',
  ]
  const inNamespace = ['--namespace', CHART_NAMESPACE, '--timeout', '60s'] as const
  const upgrade = (...args: readonly string[]) => ['upgrade', CHART_RELEASE, CHART_FOLDER, ...inNamespace, ...values, ...args]
  const list = async <T>(path: string): Promise<readonly T[]> => (await cluster().get<List<T>>(path)).items
  const pods = async () =>
    (await list<Pod>(`/api/v1/namespaces/${CHART_NAMESPACE}/pods`)).filter(
      ({ metadata }) => metadata.labels['app.kubernetes.io/component'] !== 'migrate',
    )
  const image = async (): Promise<string> => [...new Set((await pods()).map(({ spec }) => spec.containers[0].image))].join()
  /** Waits, because the list of pods briefly contains a pod that is being removed. */
  const waitForImage = (imageTag: string) =>
    waitUntil(`all pods have the image ${imageTag}`, async () => (await image()) === imageTag, 60_000)
  const secrets = async () => {
    const items = await list<Secret>(`/api/v1/namespaces/${CHART_NAMESPACE}/secrets`)
    return Object.fromEntries(
      items.filter(({ metadata }) => metadata.name.startsWith('penstock-')).map(({ metadata, data }) => [metadata.name, data]),
    )
  }

  beforeAll(async () => {
    if (isKubernetesMissing) return
    // This cluster has no volume provisioner.
    const disks = ['audit', 'simnet', 'sellers'].map((name) => ({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: { capacity: { storage: '2Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/nowhere' } },
    }))
    await cluster().kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: disks }))
  })

  test("is installed with ready pods and secrets, and helm's notes say how to reach the gateway", async () => {
    const installOutput = await cluster().helm(
      'install',
      CHART_RELEASE,
      CHART_FOLDER,
      ...inNamespace,
      ...values,
      '--set-string',
      'image.tag=1',
      '--wait',
      '--wait-for-jobs',
    )
    expect(installOutput).toContain('port-forward service/penstock-gateway')
    expect(installOutput).toContain('Back it up now')
    const running = await pods()
    expect(running.map(({ status }) => status.phase).filter((phase) => phase !== 'Running')).toEqual([])
    expect(running).toHaveLength(12)
    await waitForImage(FIRST)
    expect(
      Object.keys(await secrets())
        .filter((name) => !name.includes('helm'))
        .toSorted(),
    ).toEqual(['penstock-audit', 'penstock-gateway', 'penstock-keyring', 'penstock-vault'])
    const keyring = JSON.parse(
      Buffer.from((await secrets())['penstock-keyring']?.['keyring.json'] ?? '', 'base64').toString(),
    ) as { keys: { a: string } } // the chart created it
    expect(keyring.keys.a).toMatch(/^[0-9a-f]{64}$/)
    expect(await sealAndOpen((await secrets())['penstock-vault'] ?? {})).toBe('whsec_secret')
    for (const { spec } of running) expect(spec.volumes.filter(({ projected }) => projected)).toEqual([])
  })

  test.each(['settlement', 'gateway', 'migrate'])('gives the service account of %s no permissions', async (name) => {
    const as = `--as=system:serviceaccount:${CHART_NAMESPACE}:penstock-${name}`
    for (const settings of [
      ['get', 'secrets'],
      ['list', 'pods'],
      ['create', 'pods'],
      ['update', 'deployments'],
    ]) {
      const { stdout } = await cluster().attempt('kubectl', ['auth', 'can-i', ...settings, as, `--namespace=${CHART_NAMESPACE}`])
      expect(`${settings.join(' ')}: ${stdout.trim()}`).toBe(`${settings.join(' ')}: no`)
    }
  })

  test('allows the eviction of one replica per service, and of none while a replica is unready', async () => {
    type Budgets = readonly Budget[]
    const waitForBudgets = (which: RegExp, times: number): Promise<Budgets> =>
      waitUntil(
        `the budgets ${which} allow ${times} disruptions`,
        async () => {
          const items = await list<Budget>(`/apis/policy/v1/namespaces/${CHART_NAMESPACE}/poddisruptionbudgets`)
          const matching = items.filter(({ metadata }) => which.test(metadata.name))
          return matching.every(({ status }) => status.disruptionsAllowed === times) ? matching : undefined
        },
        60_000,
      )
    expect(await waitForBudgets(/./, 1)).toHaveLength(8)
    const [first = '', second = ''] = (await pods())
      .map(({ metadata }) => metadata.name)
      .filter((name) => name.startsWith('penstock-order'))
    const evict = (name: string) =>
      cluster().attempt(
        'kubectl',
        ['create', '--raw', `/api/v1/namespaces/${CHART_NAMESPACE}/pods/${name}/eviction`, '-f', '-'],
        JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: CHART_NAMESPACE } }),
      )
    const setReady = (name: string, status: 'True' | 'False') => {
      const patch = JSON.stringify({ status: { conditions: [{ type: 'Ready', status }] } })
      return cluster().kubectl(['patch', 'pod', name, `--namespace=${CHART_NAMESPACE}`, '--subresource=status', '--patch', patch])
    }
    await setReady(first, 'False')
    await waitForBudgets(/order/, 0)
    expect((await evict(second)).stderr).toContain("would violate the pod's disruption budget")
    await setReady(first, 'True')
    await waitForBudgets(/order/, 1)
    expect(await evict(second)).toMatchObject({ code: 0 })
    await waitUntil(
      'a new pod replaces the evicted pod, and all counts include it',
      async () => {
        const orders = (await pods()).filter(({ metadata }) => metadata.name.startsWith('penstock-order'))
        const sets = await list<Scaled>(`/apis/apps/v1/namespaces/${CHART_NAMESPACE}/replicasets`)
        const set = sets.find(({ metadata }) => metadata.name.startsWith('penstock-order'))
        const counted = [set?.status.availableReplicas, (await deployment('order')).status.availableReplicas]
        const isOther = orders.every(({ metadata, status }) => metadata.name !== second && status.phase === 'Running')
        return isOther && orders.length === 2 && counted.join() === '2,2'
      },
      60_000,
    )
  })

  test('always has the configured number of replicas during an upgrade, and keeps its secrets', async () => {
    const before = await secrets()
    const isWhole = async (): Promise<boolean> => (await deployment('order')).status.availableReplicas === 2
    await waitUntil('both replicas are available again', isWhole, 60_000)
    const upgrading = cluster().helm(...upgrade('--set-string', 'image.tag=2', '--wait', '--wait-for-jobs'))
    let isStopped = false
    void upgrading.finally(() => (isStopped = true)).catch(() => undefined) // awaited below
    let minAvailable = 2
    await waitUntil(
      'the upgrade is over',
      async () => {
        minAvailable = Math.min(minAvailable, (await deployment('order')).status.availableReplicas ?? 0)
        return isStopped
      },
      90_000,
    )
    await upgrading
    expect(minAvailable).toBe(2)
    await waitForImage('registry.example/penstock:2')
    const after = await secrets()
    for (const name of ['penstock-keyring', 'penstock-gateway', 'penstock-audit', 'penstock-vault'])
      expect(after[name]).toEqual(before[name])
  })
  const deployment = (name: string) =>
    cluster().get<Scaled>(`/apis/apps/v1/namespaces/${CHART_NAMESPACE}/deployments/penstock-${name}`)

  test('is stopped for a restore as the guide describes, and starts again read-only', async () => {
    const ours = `app.kubernetes.io/instance=${CHART_RELEASE}`
    for (const which of [`${ours},app.kubernetes.io/component=gateway`, ours])
      await cluster().kubectl(['scale', 'deployment', '--replicas=0', `--selector=${which}`, `--namespace=${CHART_NAMESPACE}`])
    await waitUntil('no pod exists', async () => (await pods()).length === 0, 60_000)
    const upgradeArgs = ['--set-string', 'image.tag=2', '--wait', '--force-conflicts'] as const
    await cluster().helm(...upgrade(...upgradeArgs, '--set', 'restored=true'))
    const running = await pods()
    const restored = running.map(({ spec }) => settingOf(spec.containers[0], 'PENSTOCK_RESTORED'))
    expect(restored.filter((value) => value !== '1')).toEqual([])
    expect(running).toHaveLength(12)
    await cluster().helm(...upgrade(...upgradeArgs))
    const isOver = async (): Promise<boolean> =>
      (await pods()).every(({ spec }) => settingOf(spec.containers[0], 'PENSTOCK_RESTORED') !== '1')
    await waitUntil('no pod is read-only', isOver, 60_000)
  })
  const settingOf = ({ env }: Pod['spec']['containers'][0], setting: string) => env.find(({ name }) => name === setting)?.value

  test('rolls an upgrade back if its migration fails, and leaves the pods unchanged', async () => {
    const { code, stderr } = await cluster().attempt('helm', upgrade('--set-string', 'image.tag=broken', '--rollback-on-failure'))
    expect(code).not.toBe(0)
    expect(stderr).toMatch(/pre-upgrade/)
    await waitForImage('registry.example/penstock:2')
    expect((await pods()).filter(({ status }) => status.phase !== 'Running')).toEqual([])
    const history = await cluster().helm('history', CHART_RELEASE, '--namespace', CHART_NAMESPACE, '--output', 'json')
    const releases = JSON.parse(history) as readonly { readonly status: string; readonly description: string }[] // helm's format
    expect(releases.at(-1)).toMatchObject({ status: 'deployed', description: 'Rollback to 4' })
  })

  test('creates no deployments if the migration of an installation fails', async () => {
    const args = ['install', 'other', CHART_FOLDER, ...inNamespace, ...values, '--set-string', 'image.tag=broken']
    const { code, stderr } = await cluster().attempt('helm', args)
    expect(code).not.toBe(0)
    expect(stderr).toMatch(/pre-install/)
    const deployments = await list<Scaled>(`/apis/apps/v1/namespaces/${CHART_NAMESPACE}/deployments`)
    expect(deployments.filter(({ metadata }) => metadata.name.startsWith('other-'))).toEqual([])
  })

  test('can be rolled back and uninstalled, and its keys and disks remain', async () => {
    await cluster().helm('rollback', CHART_RELEASE, '1', ...inNamespace, '--wait')
    await waitForImage(FIRST)
    await cluster().helm('uninstall', CHART_RELEASE, ...inNamespace, '--wait')
    await waitUntil('no pod exists', async () => (await pods()).length === 0, 60_000)
    expect(Object.keys(await secrets())).toContain('penstock-keyring')
    const disks = await list<Scaled>(`/api/v1/namespaces/${CHART_NAMESPACE}/persistentvolumeclaims`)
    expect(disks.map(({ metadata }) => metadata.name)).toContain('penstock-audit')
  })
})
