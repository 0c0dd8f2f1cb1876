import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Api, type Place, ready, startApi, startControllers, type Started } from './processes.ts'

export type Output = { readonly code: number; readonly stdout: string; readonly stderr: string }

/** A real Kubernetes API on this machine. Its programs end with this process; all data lie in one temporary folder. */
export type Kubernetes = {
  readonly get: Api['get']
  /** Runs a program of the kit against it; does not throw when that fails. */
  readonly attempt: (program: 'kubectl' | 'helm', args: readonly string[], input?: string) => Promise<Output>
  /** @returns what it printed; @throws Error with what it complained about */
  readonly kubectl: (args: readonly string[], input?: string) => Promise<string>
  readonly helm: (...args: readonly string[]) => Promise<string>
  stop(): Promise<void>
}

/** @param nodes fake ones; 0 leaves out all controllers, which is enough for dry runs and validation */
export async function startKubernetes(programs: string, nodes: number): Promise<Kubernetes> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-kubernetes-'))
  const place: Place = { programs, folder, token: randomBytes(16).toString('hex') }
  const started: Started[] = []
  const stop = async (): Promise<void> => {
    await Promise.all(started.map(end))
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  try {
    const api = await startApi(place, nodes === 0, started)
    const kubernetes = { get: api.get, ...commands(place, api), stop }
    await installCrds(kubernetes, join(programs, 'crds'))
    if (nodes > 0) await startNodes(place, api, kubernetes, nodes, started)
    return kubernetes
  } catch (error) {
    await stop()
    throw error
  }
}

function commands({ programs, folder }: Place, { kubeconfig }: Api): Omit<Kubernetes, 'get' | 'stop'> {
  const home = join(folder, 'helm')
  const env = {
    PATH: `${programs}:${process.env['PATH']}`,
    HOME: folder,
    KUBECONFIG: kubeconfig,
    HELM_CACHE_HOME: home,
    HELM_CONFIG_HOME: home,
    HELM_DATA_HOME: home,
    // At its default rate helm lags seconds behind a rollout of eight services.
    HELM_QPS: '200',
    HELM_BURST_LIMIT: '400',
  }
  const attempt = (program: string, args: readonly string[], input = ''): Promise<Output> =>
    new Promise((resolve) => {
      const child = execFile(join(programs, program), args, { env, maxBuffer: 64 << 20 }, (error, stdout, stderr) =>
        resolve({ code: error ? (typeof error.code === 'number' ? error.code : 1) : 0, stdout, stderr }),
      )
      child.stdin?.on('error', () => {}) // it ended without reading all of it
      child.stdin?.end(input)
    })
  const run = async (program: string, args: readonly string[], input?: string): Promise<string> => {
    const { code, stdout, stderr } = await attempt(program, args, input)
    if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr || stdout}`)
    return stdout
  }
  return { attempt, kubectl: (args, input) => run('kubectl', args, input), helm: (...args) => run('helm', args) }
}

/** Without their operators: objects are validated and stored, and nothing acts on them. */
async function installCrds({ kubectl }: Pick<Kubernetes, 'kubectl'>, folder: string): Promise<void> {
  await kubectl(['apply', '--server-side', '-f', folder])
  await kubectl(['wait', '--for=condition=Established', '--all', 'crd'])
}

type Node = {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
  readonly spec: { readonly taints?: readonly unknown[] }
}

async function startNodes(
  place: Place,
  { get, ...api }: Api,
  { kubectl }: Pick<Kubernetes, 'kubectl'>,
  count: number,
  started: Started[],
) {
  const { kwok, controllers } = startControllers(place, { get, ...api }, started)
  const items = Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: `node-${index + 1}`,
      labels: { 'kubernetes.io/hostname': `node-${index + 1}`, 'topology.kubernetes.io/zone': `zone-${index + 1}` },
    },
  }))
  await kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  const isReady = ({ spec, status }: Node): boolean =>
    !spec.taints?.length && status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true
  await ready(kwok, async () => (await get<{ items: readonly Node[] }>('/api/v1/nodes')).items.every(isReady))
  await ready(controllers, async () => Boolean(await get('/api/v1/namespaces/default/serviceaccounts/default')))
}

async function end({ child }: Started): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
